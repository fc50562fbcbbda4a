"""The dense mechanism: all second moments, after what must be learned to read the rows.

Owns the order of the steps: facts of columns, a row norm, the moments. Where the row norm is
stated, so are the units in which it is meant, and the moments are all that is released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dpcov.columns import Column, Columns
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.budget import (
    MOMENTS,
    LearningBudget,
    split_budget,
)
from dpcov.mechanisms.learning.learn import check_cells, learn
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.second_moment import MomentsCalibration, calibrate_moments, release_gram
from dpcov.privacy import ApproxDP, Event, Gaussian
from dpcov.releases import Release
from dpcov.releases.learned import tails_are_blurred
from dpcov.releases.lengthening import lengthen
from dpcov.releases.weights import Weights
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.tables import MAX_STREAM_ROWS, Rows
from dpcov.sensitive.tables.complete import CompleteSource
from dpcov.sensitive.tables.working import Reading, WorkingSource

__all__ = ["DenseOptions", "release_dense"]


@dataclass(frozen=True)
class DenseOptions:
    """What a caller asks of the dense mechanism. All of it is public."""

    promise: ApproxDP
    facts: Columns | None
    row_norm: float | None
    shares: Mapping[str, float] | None
    rows_per_unit: int
    missing: Missing
    weight_bound: float | None = None
    allow: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.missing is Missing.COMPLETE and self.row_norm is not None:
            raise ParameterError(
                "With missing='complete' the row norm is learned, and how many rows are "
                "complete: leave row_norm out, or use missing='pairwise'."
            )
        if self.weight_bound is not None and self.row_norm is not None:
            raise ParameterError(
                "With weights the row norm is learned, and how much rows weigh: leave row_norm out."
            )
        if self.row_norm is not None and self.shares is not None:
            raise ParameterError(
                "shares are for what is learned, and with row_norm= nothing is: the moments have "
                "the whole budget."
            )

    @property
    def passes(self) -> int:
        """How often the rows are read."""
        return 3 if self.row_norm is None else 1 + self.counts_first

    @property
    def counts_first(self) -> bool:
        """Whether missing cells are counted before anything else."""
        return self.missing is not Missing.REFUSE and "mismatch" not in self.allow

    @property
    def counts_gaps(self) -> bool:
        """Whether missing cells are counted, pair by pair."""
        return self.missing is Missing.PAIRWISE

    def rows(self, source: Rows) -> Rows:
        """Return the rows that count: all, or the complete ones, with their weights."""
        if self.missing is Missing.COMPLETE:
            return CompleteSource(source, self.weight_bound)
        return source

    @property
    def bound(self) -> float | None:
        """The bound of the weights of rows, if they have any: that a row is complete is one."""
        return self.weight_bound or (1.0 if self.missing is Missing.COMPLETE else None)

    def fields(self, n_columns: int) -> tuple[Field, ...]:
        """Return the columns that are stated, or numbers that may have gaps, without a table."""
        weight = () if self.bound is None else (Field("weight"),)
        if self.facts is not None:
            return (*(Field(each.name, _levels(each), facts=each) for each in self.facts), *weight)
        return (*(Field(f"x{place}") for place in range(n_columns)), *weight)

    def stated(self, fields: Sequence[Field], n_rows: int | None) -> Stated:
        """Return what is stated of columns, where something is learned from so many rows."""
        if self.bound is not None:
            fields = fields[:-1]  # the weight stands last
        design = Design.of(fields, gaps=self.counts_gaps)
        stated = Stated.of([field.facts for field in fields], design, self.bound)
        if self.missing is Missing.COMPLETE:
            stated = replace(stated, counted=(0,), complete_rows=True)
        elif self.missing is Missing.CENTER or self.row_norm is not None:
            open_ = [place for place, field in enumerate(fields) if field.may_be_missing]
            stated = replace(
                stated,
                counted=tuple(open_) if self.counts_first else (),
                moments_only=self.row_norm is not None,
            )
        blurred = n_rows is not None and tails_are_blurred(
            self.promise,
            n_rows=n_rows,
            n_columns=max(1, stated.n_columns),
            rows_per_unit=self.rows_per_unit,
        )
        return stated.trusting_narrow() if blurred else stated

    def reading(self, fields: Sequence[Field]) -> Reading:
        """Return how cells are read where nothing is learned."""
        design = Design.of(fields, gaps=self.counts_gaps)
        # A stated norm is meant in stated units; bounds that follow from a type are no units.
        facts = () if self.facts is None else [field.facts for field in fields]
        return Reading.of(design, facts, fills=self.counts_gaps)

    def budget(self, stated: Stated, n_rows: int | None) -> LearningBudget:
        """Return what each step may cost, where something is learned."""
        return split_budget(
            self.promise,
            stated,
            n_rows=n_rows,
            rows_per_unit=self.rows_per_unit,
            shares=self.shares,
        )

    def calibrate(
        self, *, n_rows: int, row_norm: float, multiplier: float, has_gaps: bool | None = None
    ) -> MomentsCalibration:
        """Return grid and noise of the moments; for gaps, unless there are known to be none."""
        gaps = self.counts_gaps if has_gaps is None else has_gaps
        return calibrate_moments(
            promise=self.promise,
            n_rows=n_rows,
            row_norm=row_norm,
            multiplier=multiplier,
            with_mean=self.bound is None,
            rows_per_unit=self.rows_per_unit,
            leaves_traces=gaps or self.bound is not None,
        )

    def check(self, n_columns: int | None) -> None:
        """Refuse what no table could have, before one is opened: calibrate for a long one."""
        budget = self.budget(self.stated(self.fields(n_columns or 1), None), None)
        multiplier = budget.multipliers[MOMENTS]
        norm = 1.0 if self.row_norm is None else self.row_norm
        self.calibrate(n_rows=MAX_STREAM_ROWS, row_norm=norm, multiplier=multiplier)


def release_dense(
    source: Rows,
    options: DenseOptions,
    *,
    engine: Engine,
    stream: RandomStream,
    reserve: Callable[[Sequence[Event]], None] = lambda events: None,
    accept: Callable[[int], None] = lambda n_rows: None,
) -> Release:
    """Read the rows as often as it takes, and release their second moments about their mean.

    `reserve` is told all events, as soon as they are fixed and before a row is read. `accept` may
    refuse the number of rows, as soon as it is known and before noise is drawn.
    """
    if source.n_rows is not None:
        accept(source.n_rows)
    stated = options.stated(source.fields, source.n_rows)
    budget = options.budget(stated, source.n_rows)
    reserve((*budget.events, budget.event(MOMENTS)))
    if options.row_norm is None:
        return _release_learned(source, options, stated, budget, engine, stream, accept)
    if budget.events:
        check_cells(source, stated, budget, missing=options.missing, engine=engine, stream=stream)
    made = _release_moments(
        source,
        options.reading(source.fields),
        options,
        options.row_norm,
        budget.event(MOMENTS),
        engine,
        stream,
        accept=accept if source.n_rows is None else lambda n_rows: None,
    )
    return _with_events(made, budget.events)


def _release_learned(
    source: Rows,
    options: DenseOptions,
    stated: Stated,
    budget: LearningBudget,
    engine: Engine,
    stream: RandomStream,
    accept: Callable[[int], None],
) -> Release:
    """Learn how rows are read, and to which norm they are clipped; release what that gives.

    Notes
    -----
    Claim P18. What was learned is paid for, so it is to the moments what public facts are; all
    steps together keep the promise (P23). Making up for clipping is post-processing.
    """
    if source.n_rows is None:
        raise AssertionError("unreachable: a stream that is read several times is spooled")
    lesson = learn(
        source,
        stated,
        budget,
        missing=options.missing,
        engine=engine,
        stream=stream,
        stops="mismatch" not in options.allow,
        accept=accept,
    )
    made = _release_moments(
        source,
        lesson.reading,
        options,
        lesson.row_norm,
        budget.event(MOMENTS),
        engine,
        stream,
        lesson.weights,
    )
    return lengthen(_with_events(made, lesson.events), lesson.learned)


def _with_events(made: Release, before: Sequence[Event]) -> Release:
    """Return a release with what was done before its moments."""
    events = (*before, *made.events)
    return replace(made, provenance=replace(made.provenance, events=events))


def _levels(column: Column) -> tuple[str, ...] | None:
    return column.level_names if column.is_category else None


def _release_moments(
    source: Rows,
    reading: Reading,
    options: DenseOptions,
    row_norm: float,
    event: Gaussian,
    engine: Engine,
    stream: RandomStream,
    weights: Weights | None = None,
    accept: Callable[[int], None] = lambda n_rows: None,
) -> Release:
    rows = WorkingSource(source, reading)
    n_rows = MAX_STREAM_ROWS if rows.n_rows is None else rows.n_rows
    calibration = options.calibrate(
        n_rows=n_rows,
        row_norm=row_norm,
        multiplier=event.multiplier,
        has_gaps=reading.design.n_gaps > 0,
    )
    design = reading.design
    quiet = slice(design.n_values, design.n_working)
    kernel = GramKernel(len(rows.columns), calibration.grid, options.missing, quiet)
    gram = engine.run(MOMENTS, rows, kernel)
    accept(gram.n_rows)
    return release_gram(
        gram,
        calibration.for_rows(gram.n_rows),
        design=reading.design,
        observed=reading.observed,
        weights=weights,
        stream=stream,
        events=(event,),
        units=reading.units,
        missing=options.missing,
    )
