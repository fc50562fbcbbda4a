"""What every release has, whatever it holds: rows, names, a promise and a file.

Owns the public facts around the noisy numbers and how they are checked.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from dpcov.columns import Units
from dpcov.errors import ParameterError
from dpcov.parameters import check_count
from dpcov.privacy import ApproxDP, Event, NoPromise, Promise, PureDP
from dpcov.privacy.accounting import event_shares

if TYPE_CHECKING:
    from typing import Protocol

    class _Made(Protocol):
        @property
        def calibrated_for(self) -> ApproxDP | PureDP: ...

        @property
        def missing(self) -> str: ...

        @property
        def events(self) -> tuple[Event, ...]: ...


__all__ = ["Published", "check_events", "state_domain"]


def check_events(events: object) -> None:
    """Refuse what is no tuple of events."""
    if not isinstance(events, tuple) or any(not isinstance(event, Event) for event in events):
        raise ParameterError("events must be a tuple of events of dpcov.privacy.")


def state_domain(made: _Made) -> None:
    """Let the promise of a provenance say among which tables it holds.

    A table with a missing cell that is refused has no release, and its neighbors have one: no
    promise compares the two. The rule for missing cells decides, and is stated once.
    """
    complete = made.missing == "refuse"
    object.__setattr__(made, "calibrated_for", replace(made.calibrated_for, complete=complete))


class Published:
    """The common part of releases. Subclasses are frozen dataclasses."""

    if TYPE_CHECKING:
        n_rows: int
        columns: tuple[str, ...]
        simulated: bool
        units: Units

        @property
        def provenance(self) -> _Made:
            """How it was made."""

        def __post_init__(self) -> None: ...

    def _check_public_facts(self) -> None:
        check_count("n_rows", self.n_rows, low=1)
        if not isinstance(self.simulated, bool):
            raise ParameterError("simulated must be True or False.")
        names = {name for name in self.columns if isinstance(name, str)}
        if len(names) != len(self.columns):
            raise ParameterError("columns must be names (strings) that differ.")

    def _check_units(self) -> None:
        if getattr(self, "units", None) is None:
            object.__setattr__(self, "units", Units.plain(len(self.columns)))
        if len(self.units.scale) != len(self.columns):
            raise ParameterError("units must have one center and scale for each column.")

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def promise(self) -> Promise:
        """What is promised to each person: nothing, when the noise came from a seed."""
        if self.simulated:
            return NoPromise("simulated with a seed")
        return self.provenance.calibrated_for

    @property
    def events(self) -> tuple[Event, ...]:
        """What was done that costs privacy, in order: for `dpcov.privacy.compose`, or a ledger.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> release = dpcov.release(np.eye(5), epsilon=1, delta=1e-6, row_norm=1)
        >>> [(event.name, round(event.multiplier, 3)) for event in release.events]
        [('moments', 4.225)]
        """
        return self.provenance.events

    @property
    def shares(self) -> dict[str, float]:
        """What each event costs in zCDP, as a share of the whole: they add up to 1.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
        >>> radius = dpcov.PrivateRadius()
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=radius)
        >>> {name: round(share, 2) for name, share in release.shares.items()}
        {'radius': 0.05, 'moments': 0.95}
        """
        events = self.events
        names = [event.name for event in events]
        return dict(zip(names, event_shares(events), strict=True))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the release to an ``.npz`` file that holds no pickled object.

        Parameters
        ----------
        path : path
            Used as it is. An existing file is replaced at the end, in one step. `Release.load`
            reads releases of every kind.

        Examples
        --------
        >>> import numpy as np, dpcov, tempfile, pathlib
        >>> release = dpcov.release(np.eye(5), epsilon=1, delta=1e-6, row_norm=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.save(pathlib.Path(folder, "survey.npz"))
        ...     same = dpcov.Release.load(pathlib.Path(folder, "survey.npz"))
        >>> same == release
        True
        """
        from dpcov.releases.formats import write_release

        write_release(self, path)  # type: ignore[arg-type]
