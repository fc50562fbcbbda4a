"""What `dpcov.release` and `dpcov.release_pairs` share: the way from a table to a mechanism.

Owns the order. Whatever can be refused without a row is refused before the table is opened, and
a refusal says what it cost: nothing, as long as no noise was drawn.
"""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dpcov.columns import Column, Columns
from dpcov.columns.codes import Code, check_codes
from dpcov.columns.csv_form import CsvForm
from dpcov.columns.missing import Missing
from dpcov.errors import (
    DpcovError,
    LargeEpsilonWarning,
    LedgerError,
    ParameterError,
    UnfinishedRequestError,
    WeakPromiseWarning,
)
from dpcov.exact.randomness import RandomStream
from dpcov.ledger.account import up
from dpcov.ledger.charge import Charge
from dpcov.ledger.ledger import Ledger
from dpcov.mechanisms.options import check_allowed, read_columns
from dpcov.parameters import check_count
from dpcov.privacy import ApproxDP, Event, Neighbors
from dpcov.privacy.accounting import events_epsilon
from dpcov.privacy.promise import WEAK_EPSILON
from dpcov.progress import check_progress, show_progress
from dpcov.releases import AnyRelease, Release
from dpcov.sensitive.engines.serial import Engine, choose_engine
from dpcov.sensitive.tables import RowSource, home_of, open_table
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.privacy_units import limit_rows
from dpcov.sensitive.tables.spool import readable
from dpcov.sensitive.workers.executors import Executors
from dpcov.sensitive.workers.schedulers import Workers, choose_workers

__all__ = [
    "NOISE_DRAWN",
    "NOTHING_SPENT",
    "Facts",
    "Progress",
    "Request",
    "Spending",
    "cost_in_words",
    "refused_for_free",
]

NOTHING_SPENT = "Nothing was spent."
"""What every refusal says, as long as no noise was drawn."""

NOISE_DRAWN = (
    "Noise had been drawn, and what came of it was thrown away unseen: count the budget as spent, "
    "unless the reason has nothing to do with the rows."
)
"""What it says afterwards. Nobody saw a number, but that it failed may tell about the rows."""

STILL_RESERVED = (
    "The ledger could not be told what was spent, and may count more: dpcov ledger show says "
    "whether there is a line that its owner can give back."
)
"""What it says when a reservation may stand for which nothing was drawn."""

Made = TypeVar("Made", bound=AnyRelease)

Facts = (
    Columns
    | Mapping[str, Mapping[str, Any] | Sequence[Any]]
    | str
    | os.PathLike[str]
    | Sequence[str]
)
Progress = bool | Callable[[str, int, "int | None"], None]


def cost_in_words(spent: str) -> str:
    """Return the sentence about what an error says was spent.

    Examples
    --------
    >>> cost_in_words("nothing")
    'Nothing was spent.'
    """
    whole = {"nothing": NOTHING_SPENT, "all": NOISE_DRAWN}
    return whole.get(spent, f"Spent: {spent}. The rest of the budget was not used.")


@contextmanager
def refused_for_free(is_spent: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Let a refusal say that nothing was spent, as long as that is so."""
    try:
        yield
    except BaseException as error:
        if "budget_spent" not in vars(error) and not is_spent():
            _say_cost(error, "nothing")
        raise


def _say_cost(error: BaseException, spent: str, more: str = "") -> None:
    """Write what was spent into an error, as an attribute and in words."""
    error.budget_spent = spent  # type: ignore[attr-defined]
    said = f"{cost_in_words(spent)} {more}".rstrip()
    if isinstance(error, DpcovError):
        error.args = (f"{error} {said}",)
        if isinstance(error, ImportError):
            error.msg = error.args[0]
    elif hasattr(error, "add_note"):  # from Python 3.11 on
        error.add_note(said)


class Spending:
    """What a release reserves, and what of it was drawn so far."""

    def __init__(self, promise: ApproxDP, stream: RandomStream, charge: Charge | None) -> None:
        self._promise, self._stream, self._charge = promise, stream, charge
        self._events: tuple[Event, ...] = ()

    def reserve(self, events: Sequence[Event]) -> None:
        """Charge all that will be drawn to the ledger, if there is one, before any is drawn."""
        self._events = tuple(events)
        if self._charge is not None:
            self._charge.reserve(events)

    @property
    def _drawn(self) -> list[Event]:
        begun = self._stream.begun if self._stream.is_drawn else ()
        return [event for event in self._events if event.name in begun]

    @property
    def in_words(self) -> str:
        """What was spent: "nothing", "all", or the steps and their epsilon."""
        drawn = self._drawn
        if not drawn:
            return "all" if self._stream.is_drawn else "nothing"
        if len(drawn) == len(self._events):
            return "all"
        names = ", ".join(event.name for event in drawn)
        delta, whole = self._promise.delta, self._promise.epsilon
        # Rounded up: what is spent is never said to be less.
        epsilon = up(events_epsilon(drawn, delta=delta))
        return f"{names} (epsilon = {epsilon} of {whole:g}, delta = {delta:g})"

    @contextmanager
    def settled(self) -> Iterator[None]:
        """If this fails, let the error say what was spent, and give back what was not.

        An error that says something already was raised before, by another release.
        """
        try:
            yield
        except BaseException as error:
            if not isinstance(error, UnfinishedRequestError) or self._stream.is_drawn:
                self._settle(error)
            raise

    def _settle(self, error: BaseException) -> None:
        spent = "all" if self._stream.is_drawn else "nothing"
        try:
            spent = self.in_words
            is_settled = self._is_settled()
        except BaseException as another:  # Ctrl-C once more, while a ledger was waited for
            _say_cost(another, spent, STILL_RESERVED)
            raise
        _say_cost(error, spent, "" if is_settled else STILL_RESERVED)

    def _is_settled(self) -> bool:
        """Give back what the ledger counts beyond what was drawn; return whether it knows."""
        charge = self._charge
        if charge is None or not charge.may_be_reserved:
            return True
        try:
            return charge.end_early(self._drawn)
        except LedgerError:
            return False


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a caller states whatever is released: checked, without a look at the table."""

    promise: ApproxDP
    facts: Columns | None
    names: tuple[str, ...] | None
    missing: Missing
    weight: str | None
    rows_per_unit: int
    header: bool | None
    missing_codes: tuple[Code, ...]
    csv: CsvForm
    engine: Any
    workers: Workers | None
    progress: Progress | None
    stream: RandomStream
    spending: Spending
    charge: Charge | None = None
    allow: frozenset[str] = frozenset()

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
        missing_codes: Iterable[Code] | None,
        csv: Mapping[str, str] | None,
        engine: Any,
        progress: Progress | None,
        seed: int | None,
        weight: str | None = None,
        ledger: Ledger | None = None,
        request_id: str | None = None,
        stated: Mapping[str, Any] | None = None,
        allow: Collection[str] = (),
    ) -> Request:
        """Return the request, or refuse what no table could be released with.

        `stated` is all that a caller says of one mechanism alone: a request id stands for it, too.
        """
        facts, names = read_columns(columns)
        Wanted(names, None, privacy_unit, header, weight, facts)
        check_progress(progress)
        promise = ApproxDP(epsilon, delta, _central(neighbors), privacy_unit)
        per_unit = _rows_per_unit(privacy_unit, rows_per_unit)
        codes = check_codes("missing_codes", missing_codes)
        allowed = check_allowed(allow)
        public = {
            "columns": facts or names,
            "missing": missing,
            "missing_codes": codes,
            "weight": weight,
            "rows_per_unit": per_unit,
            "allow": sorted(allowed),
        }
        charge = _charge(
            ledger,
            request_id,
            promise,
            complete=missing == "refuse",
            seed=seed,
            stated={**public, **(stated or {})},
        )
        stream = RandomStream.from_os(before=None if charge is None else charge.begin)
        if seed is not None:
            stream = RandomStream.from_seed(seed)
        return cls(
            promise=promise,
            facts=facts,
            names=names,
            missing=Missing.parse(missing),
            weight=weight,
            rows_per_unit=per_unit,
            header=header,
            missing_codes=codes,
            csv=CsvForm.parse(csv),
            engine=engine,
            workers=choose_workers(engine),
            progress=progress,
            stream=stream,
            spending=Spending(promise, stream, charge),
            charge=charge,
            allow=allowed,
        )

    @property
    def n_columns(self) -> int | None:
        """How many columns are released, if the caller states it."""
        if self.facts is not None:
            return None if self.facts.patterns else len(self.facts)
        if self.names is None:
            return None
        return len(set(self.names) - {self.promise.privacy_unit, self.weight})

    def for_table(self, table: Any) -> Request:
        """Return the request with who reads this table: where it is at home, if nobody is asked."""
        workers = choose_workers(self.engine, home_of(table))
        if isinstance(workers, Executors):
            workers.check_units(self.promise.privacy_unit)
        return replace(self, workers=workers)

    def find_finished(self, kind: type[Made]) -> Made | None:
        """Return the release of a request that was finished before, which costs nothing more."""
        file = None if self.charge is None else self.charge.find_finished()
        if file is None:
            return None
        found = _from_bytes(file)
        if not isinstance(found, kind):
            raise LedgerError("The ledger keeps a release of another kind for this request.")
        return found

    def record(self, made: Made, source: RowSource) -> Made:
        """Note what names of columns say, and tell the ledger before anybody else sees it."""
        noted: Any = replace(
            made.provenance, left_out=source.left_out, person_column=source.person_column
        )
        made = replace(made, provenance=noted)
        if self.charge is not None:
            file = _to_bytes(made)
            self.charge.record(file, made.events, n_rows=made.n_rows, n_columns=made.n_columns)
        return made

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
                privacy_unit=unit,
                weight=self.weight,
                header=self.header,
                facts=self.facts,
                missing_codes=self.missing_codes,
                csv=self.csv,
                scheduler=self.workers,
            )
            with readable(opened, times, tell) as rows:
                source = rows
                if unit is not None:
                    # Once: all passes use the same rows.
                    source = limit_rows(rows, self.rows_per_unit, self.stream.spare_key())
                yield source, choose_engine(self.workers, tell)

    def knowing(self, source: RowSource) -> Request:
        """Return the request with what is stated of each column of a table, by its name."""
        if self.facts is None:
            return self
        stated = [field.facts or Column(field.name) for field in source.fields]
        return replace(self, facts=Columns(stated))

    def warn_of_weak_promise(self, n_rows: int) -> None:
        """Warn of a delta that protects nobody in particular, and of a large epsilon.

        A simulation promises nothing, so that its epsilon is nobody's.
        """
        delta, epsilon = self.promise.delta, self.promise.epsilon
        if epsilon > WEAK_EPSILON and not self.stream.simulated:
            percent = min(100.0, math.ceil(10 * math.exp(min(epsilon, 5.0))) / 10)
            warnings.warn(
                f"epsilon = {epsilon:g} is a weak promise: what had a chance of 1 % may have one "
                f"of {percent:g} % after the release. Choose the smallest that shows what is "
                "needed; dpcov.plan says what each will show.",
                LargeEpsilonWarning,
                stacklevel=3,
            )
        if delta > 1 / n_rows:
            warnings.warn(
                f"delta = {delta:g} is above 1 / n_rows = {1 / n_rows:.2g}: to publish the row of "
                "one person in the clear would keep such a promise. Choose it well below.",
                WeakPromiseWarning,
                stacklevel=3,
            )


def _charge(
    ledger: Ledger | None,
    request_id: str | None,
    promise: ApproxDP,
    *,
    complete: bool,
    seed: int | None,
    stated: Mapping[str, Any],
) -> Charge | None:
    """Return what a release is charged to, if it is to anything."""
    if ledger is None:
        if request_id is not None:
            raise ParameterError(
                "request_id= is for a ledger, which knows requests: state ledger=."
            )
        return None
    if not isinstance(ledger, Ledger):
        raise ParameterError(
            "ledger must be a dpcov.Ledger, as in ledger=dpcov.Ledger('budget.db')."
        )
    if seed is not None:
        raise ParameterError(
            "A simulation with a seed promises nothing and is not charged: leave out ledger=, or "
            "seed=."
        )
    return Charge(
        ledger,
        what=str(stated.get("what", "release")),
        promise=promise,
        complete=complete,
        request_id=request_id,
        stated=stated,
    )


def _to_bytes(made: AnyRelease) -> bytes:
    """Return the file of a release: the same bytes wherever it is saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "release.npz")
        made.save(path)
        return path.read_bytes()


def _from_bytes(file: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "release.npz")
        path.write_bytes(file)
        return Release.load(path)


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
