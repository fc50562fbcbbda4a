"""What every release has, whatever it holds: rows, names, a promise and a file.

Owns the public facts around the noisy numbers, how they are checked, and the questions that
every release answers about itself.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.columns.missing import Missing
from dpcov.columns.spelling import has_hidden_characters
from dpcov.errors import ParameterError
from dpcov.multiplicity import count_pairs
from dpcov.parameters import check_count
from dpcov.privacy import ApproxDP, Cap, Event, NoPromise, Promise, PureDP
from dpcov.privacy.accounting import event_shares
from dpcov.releases.sizes import MOST_ROWS

__all__ = [
    "ROUNDED_GAUSSIAN",
    "NoiseFact",
    "Particulars",
    "Published",
    "check_events",
    "check_left_out",
    "check_person_column",
    "state_domain",
]

ROUNDED_GAUSSIAN = "rounded Gaussian"


class Made(Protocol):
    """What every provenance says."""

    @property
    def version(self) -> str: ...

    @property
    def mechanism(self) -> str: ...

    @property
    def calibrated_for(self) -> ApproxDP | PureDP: ...

    @property
    def center(self) -> str: ...

    @property
    def row_norm(self) -> float | None: ...

    @property
    def missing(self) -> Missing: ...

    @property
    def rows_per_unit(self) -> int: ...

    @property
    def person_column(self) -> str | None: ...

    @property
    def events(self) -> tuple[Event, ...]: ...


def check_events(events: object) -> None:
    """Refuse what is no tuple of events."""
    if not isinstance(events, tuple) or any(not isinstance(event, Event) for event in events):
        raise ParameterError("events must be a tuple of events of dpcov.privacy.")


def check_left_out(names: object) -> None:
    """Refuse what is no tuple of names of columns, each of them once."""
    if (
        not isinstance(names, tuple)
        or any(not isinstance(name, str) or has_hidden_characters(name) for name in names)
        or len(set(names)) < len(names)
    ):
        raise ParameterError("left_out must be a tuple of names of columns, each of them once.")


def check_person_column(name: object, promise: ApproxDP | PureDP) -> None:
    """Refuse what is no name of a column, or stands beside a unit that is stated."""
    if name is None:
        return
    if not isinstance(name, str) or has_hidden_characters(name):
        raise ParameterError("person_column must be the name of a column, or None.")
    if isinstance(promise, ApproxDP) and promise.privacy_unit is not None:
        raise ParameterError("person_column is for a release without a privacy unit.")


def state_domain(made: Made) -> None:
    """Let the promise of a provenance say among which tables it holds.

    A table with a missing cell that is refused has no release, and its neighbors have one: no
    promise compares the two. The rule for missing cells decides, and is stated once.
    """
    complete = made.missing == "refuse"
    object.__setattr__(made, "calibrated_for", replace(made.calibrated_for, complete=complete))


@dataclass(frozen=True, kw_only=True)
class NoiseFact:
    """The noise of one kind of released numbers: of what, its law, and how large it is.

    `units` says in which it is measured: the columns' own, working ones, or counts.
    """

    of: str
    law: str
    measure: str
    value: float
    units: str


@dataclass(frozen=True, kw_only=True)
class Particulars:
    """What one kind of release was made with and another was not: None where it was not.

    Parameters
    ----------
    signs_only : bool
        Whether correlations come from signs of cells.
    grid_bits : int, optional
        Rows are multiples of row_norm / 2^grid_bits.
    cell_bound : float, optional
        The clipping of cells behind released variances.
    mean_constant : int, optional
        The constant that each row has on the grid, through which a mean was released.
    max_pairs : int, optional
        How many pairs were asked for.
    cap : Cap, optional
        The constants of a report that is a seed.
    """

    signs_only: bool = False
    grid_bits: int | None = None
    cell_bound: float | None = None
    mean_constant: int | None = None
    max_pairs: int | None = None
    cap: Cap | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Published(ABC):
    """The common part of releases: what is public about all of them.

    Parameters
    ----------
    n_rows : int
        The number of rows, which is public.
    columns : tuple of str
        Column names.
    provenance : Provenance or PairsProvenance
        How it was made.
    simulated : bool
        Whether the noise came from a seed. Then nothing is promised.
    units : Units
        What working units are: z = (x − center) / scale.
    """

    n_rows: int
    columns: tuple[str, ...]
    provenance: Made
    simulated: bool
    units: Units

    def __post_init__(self) -> None:
        check_count("n_rows", self.n_rows, low=1, high=MOST_ROWS)
        if not isinstance(self.simulated, bool):
            raise ParameterError("simulated must be True or False.")
        names = {name for name in self.columns if isinstance(name, str)}
        if len(names) != len(self.columns):
            raise ParameterError("columns must be names (strings) that differ.")
        if not isinstance(self.units, Units) or len(self.units.scale) != len(self.columns):
            raise ParameterError("units must have one center and scale for each column.")

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def n_pairs(self) -> int:
        """The number of pairs of columns, released or not."""
        return count_pairs(self.n_columns)

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
        >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=1)
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
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6)
        >>> {name: round(release.shares[name], 2) for name in ('range', 'radius', 'moments')}
        {'range': 0.04, 'radius': 0.04, 'moments': 0.69}
        """
        events = self.events
        names = [event.name for event in events]
        return dict(zip(names, event_shares(events), strict=True))

    @property
    @abstractmethod
    def location(self) -> npt.NDArray[np.float64]:
        """The center of each column, in its own units."""

    @property
    @abstractmethod
    def has_mean(self) -> bool:
        """Whether a mean was released."""

    @property
    @abstractmethod
    def variances_are(self) -> str:
        """Where variances come from: ``"released"``, ``"stated"`` or ``"not released"``."""

    @property
    @abstractmethod
    def n_released(self) -> int:
        """How many moments, or pairs, were released."""

    @property
    @abstractmethod
    def noise_facts(self) -> tuple[NoiseFact, ...]:
        """The noise of everything that was released."""

    @property
    @abstractmethod
    def particulars(self) -> Particulars:
        """What this kind of release was made with."""

    @abstractmethod
    def estimate(self, *args: Any, **options: Any) -> Any:
        """Return a sparse, positive semi-definite covariance. Costs no privacy."""

    @property
    def estimate_options(self) -> tuple[str, ...]:
        """The names of the options that `estimate` has.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(4000, 3))
        >>> release = dpcov.release_pairs(rows, epsilon=1, delta=1e-6, max_pairs=1)
        >>> release.estimate_options
        ('fdr', 'psd')
        """
        return tuple(inspect.signature(self.estimate).parameters)

    @property
    def _noise_units(self) -> str:
        return "own" if self.units.is_plain else "working"

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
        >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.save(pathlib.Path(folder, "survey.npz"))
        ...     same = dpcov.Release.load(pathlib.Path(folder, "survey.npz"))
        >>> same == release
        True
        """
        self._write(path)

    @abstractmethod
    def _write(self, path: str | PathLike[str]) -> None: ...

    def _repr_html_(self) -> str:
        from dpcov.releases.notebook_view import release_view

        return release_view(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]
        return all(_is_same(getattr(self, name), getattr(other, name)) for name in names)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    # An array is never equal to None, which numpy would compare with each of its entries.
    return not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray) and one == other
