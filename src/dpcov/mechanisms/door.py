"""What `dpcov.release` and `dpcov.release_pairs` share: the way from a table to a mechanism.

Owns the order. Whatever can be refused without a row is refused before the table is opened, and
a refusal says what it cost: nothing, as long as no noise was drawn.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dpcov.columns import Columns
from dpcov.columns.missing import Missing
from dpcov.errors import DpcovError, ParameterError, WeakPromiseWarning
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.options import read_columns
from dpcov.parameters import check_count
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.progress import check_progress, show_progress
from dpcov.sensitive.engines.serial import Engine, choose_engine
from dpcov.sensitive.tables import RowSource, needs_scheduler, open_table
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.privacy_units import limit_rows
from dpcov.sensitive.tables.spool import readable
from dpcov.sensitive.workers.schedulers import Scheduler, choose_scheduler

__all__ = [
    "NOISE_DRAWN",
    "NOTHING_SPENT",
    "Facts",
    "Progress",
    "Request",
    "refused_for_free",
    "telling_the_cost",
]

NOTHING_SPENT = "Nothing was spent."
"""What every refusal says, as long as no noise was drawn."""

NOISE_DRAWN = (
    "Noise had been drawn, and what came of it was thrown away unseen: count the budget as spent, "
    "unless the reason has nothing to do with the rows."
)
"""What it says afterwards. Nobody saw a number, but that it failed may tell about the rows."""

Facts = (
    Columns
    | Mapping[str, Mapping[str, float] | Sequence[float | None]]
    | str
    | os.PathLike[str]
    | Sequence[str]
)
Progress = bool | Callable[[str, int, "int | None"], None]


@contextmanager
def refused_for_free(is_spent: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Let a refusal say that nothing was spent, as long as that is so."""
    with _adding(lambda: "" if is_spent() else NOTHING_SPENT):
        yield


@contextmanager
def telling_the_cost(is_spent: Callable[[], bool]) -> Iterator[None]:
    """Let a failure say that nothing was spent, or else that noise had been drawn."""
    with _adding(lambda: NOISE_DRAWN if is_spent() else NOTHING_SPENT):
        yield


@contextmanager
def _adding(cost: Callable[[], str]) -> Iterator[None]:
    """Add to an error what it cost, once."""
    try:
        yield
    except DpcovError as error:
        text, said = str(error), cost()
        if said and NOTHING_SPENT not in text and NOISE_DRAWN not in text:
            error.args = (f"{text} {said}",)
            if isinstance(error, ImportError):
                error.msg = error.args[0]
        raise


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a caller states whatever is released: checked, without a look at the table."""

    promise: ApproxDP
    facts: Columns | None
    names: tuple[str, ...] | None
    missing: Missing
    rows_per_unit: int
    header: bool | None
    scheduler: Scheduler | None
    progress: Progress | None
    stream: RandomStream

    @classmethod
    def of(
        cls,
        *,
        epsilon: float,
        delta: float,
        neighbors: str,
        columns: Facts | None,
        missing: str,
        privacy_unit: str | None,
        rows_per_unit: int | None,
        header: bool | None,
        engine: Any,
        progress: Progress | None,
        seed: int | None,
    ) -> Request:
        """Return the request, or refuse what no table could be released with."""
        facts, names = read_columns(columns)
        Wanted(names, None if facts is None else facts.names, privacy_unit, header)
        check_progress(progress)
        return cls(
            promise=ApproxDP(epsilon, delta, _central(neighbors), privacy_unit),
            facts=facts,
            names=names,
            missing=Missing.parse(missing),
            rows_per_unit=_rows_per_unit(privacy_unit, rows_per_unit),
            header=header,
            scheduler=choose_scheduler(engine, needed=False),
            progress=progress,
            stream=RandomStream.from_os() if seed is None else RandomStream.from_seed(seed),
        )

    @property
    def n_columns(self) -> int | None:
        """How many columns are released, if the caller states it."""
        if self.facts is not None:
            return len(self.facts)
        if self.names is None:
            return None
        return len(self.names) - (self.promise.privacy_unit in self.names)

    def for_table(self, table: Any) -> Request:
        """Return the request with who reads this table: a Dask collection needs Dask."""
        if self.scheduler is not None:
            return self
        return replace(self, scheduler=choose_scheduler(None, needed=needs_scheduler(table)))

    def is_spent(self) -> bool:
        """Whether noise was drawn, so that a failure may have cost something."""
        return self.stream.is_drawn

    @contextmanager
    def reading(self, table: Any, *, passes: int) -> Iterator[tuple[RowSource, Engine]]:
        """Give the rows that count, and who adds them up and shows how far it has come.

        From here on the table is read, as often as is stated. A stream that can be read only
        once waits in a temporary file, if that is not enough, which is gone at the end.
        """
        unit = self.promise.privacy_unit
        # Whose rows they are is read before them.
        times = passes if unit is None else passes + 1
        with show_progress(self.progress) as tell:
            opened = open_table(
                table,
                self.names,
                select=None if self.facts is None else self.facts.names,
                privacy_unit=unit,
                header=self.header,
                scheduler=self.scheduler,
            )
            with readable(opened, times, tell) as rows:
                source = rows if unit is None else limit_rows(rows, self.rows_per_unit)
                yield source, choose_engine(self.scheduler, tell)

    def warn_of_weak_promise(self, n_rows: int) -> None:
        """Warn of a delta that protects nobody in particular."""
        delta = self.promise.delta
        if delta > 1 / n_rows:
            warnings.warn(
                f"delta = {delta:g} is above 1 / n_rows = {1 / n_rows:.2g}: to publish the row of "
                "one person in the clear would keep such a promise. Choose it well below.",
                WeakPromiseWarning,
                stacklevel=3,
            )


def _rows_per_unit(privacy_unit: str | None, rows_per_unit: int | None) -> int:
    if privacy_unit is None and rows_per_unit is not None:
        raise ParameterError(
            "rows_per_unit needs privacy_unit=, the column that says whose row it is."
        )
    if privacy_unit is not None and rows_per_unit is None:
        raise ParameterError(
            "privacy_unit needs rows_per_unit: how many rows of each to use at most. The noise "
            "grows with it."
        )
    return (
        1
        if rows_per_unit is None
        else check_count("rows_per_unit", rows_per_unit, low=1, high=10**6)
    )


def _central(neighbors: str) -> Neighbors:
    relation = Neighbors.parse(neighbors)
    if relation is Neighbors.LOCAL:
        raise ParameterError(
            "neighbors must be 'replace' or 'add-remove'; got 'local'. A table that one program "
            "can read is not in the local model; see dpcov.local for reports from devices."
        )
    return relation
