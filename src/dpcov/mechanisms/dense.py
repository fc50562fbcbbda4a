"""The dense mechanism: all second moments, after what must be learned to read the rows.

Owns the order of the steps: facts of columns, a row norm, the moments. Where the row norm is
stated, so are the units in which it is meant, and the moments are all that is released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpcov.columns import Columns
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.budget import (
    MOMENTS,
    LearningBudget,
    split_budget,
)
from dpcov.mechanisms.learning.learn import learn
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.second_moment import MomentsCalibration, calibrate_moments, release_gram
from dpcov.privacy import ApproxDP, Gaussian, gaussian_scale
from dpcov.releases import Release
from dpcov.releases.learned import tails_are_blurred
from dpcov.releases.lengthening import lengthen
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.tables import MAX_STREAM_ROWS, Rows
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

    def __post_init__(self) -> None:
        if self.row_norm is not None and self.shares is not None:
            raise ParameterError(
                "shares are for what is learned, and with row_norm= nothing is: the moments have "
                "the whole budget."
            )

    @property
    def passes(self) -> int:
        """How often the rows are read."""
        return 3 if self.row_norm is None else 1

    def stated(self, n_columns: int, n_rows: int) -> Stated:
        """Return what is stated, where something is learned from so many rows."""
        stated = Stated.of(self.facts, n_columns)
        blurred = tails_are_blurred(
            self.promise, n_rows=n_rows, n_columns=n_columns, rows_per_unit=self.rows_per_unit
        )
        return stated.trusting_narrow() if blurred else stated

    def budget(self, stated: Stated, n_rows: int | None) -> LearningBudget:
        """Return what each step may cost, where something is learned."""
        return split_budget(
            self.promise,
            stated,
            n_rows=n_rows,
            rows_per_unit=self.rows_per_unit,
            shares=self.shares,
        )

    def calibrate(self, *, n_rows: int, row_norm: float, multiplier: float) -> MomentsCalibration:
        """Return grid and noise of the moments."""
        return calibrate_moments(
            promise=self.promise,
            n_rows=n_rows,
            row_norm=row_norm,
            multiplier=multiplier,
            with_mean=True,
            rows_per_unit=self.rows_per_unit,
        )

    def check(self, n_columns: int | None) -> None:
        """Refuse what no table could have, before one is opened: calibrate for a long one."""
        multiplier = gaussian_scale(epsilon=self.promise.epsilon, delta=self.promise.delta)
        if self.row_norm is None:
            stated = Stated.of(self.facts, n_columns or 1)
            multiplier = self.budget(stated, None).multipliers[MOMENTS]
        norm = 1.0 if self.row_norm is None else self.row_norm
        self.calibrate(n_rows=MAX_STREAM_ROWS, row_norm=norm, multiplier=multiplier)


def release_dense(
    source: Rows, options: DenseOptions, *, engine: Engine, stream: RandomStream
) -> Release:
    """Read the rows as often as it takes, and release their second moments about their mean."""
    if options.row_norm is None:
        return _release_learned(source, options, engine, stream)
    multiplier = gaussian_scale(epsilon=options.promise.epsilon, delta=options.promise.delta)
    reading = Reading.of(len(source.columns), options.facts)
    return _release_moments(
        source, reading, options, options.row_norm, Gaussian(MOMENTS, multiplier), engine, stream
    )


def _release_learned(
    source: Rows, options: DenseOptions, engine: Engine, stream: RandomStream
) -> Release:
    """Learn how rows are read, and to which norm they are clipped; release what that gives.

    Notes
    -----
    Claim P18. What was learned is paid for, so it is to the moments what public facts are; all
    steps together keep the promise (P23). Making up for clipping is post-processing.
    """
    if source.n_rows is None:
        raise AssertionError("unreachable: a stream that is read several times is spooled")
    stated = options.stated(len(source.columns), source.n_rows)
    budget = options.budget(stated, source.n_rows)
    lesson = learn(source, stated, budget, missing=options.missing, engine=engine, stream=stream)
    made = _release_moments(
        source,
        lesson.reading,
        options,
        lesson.row_norm,
        budget.event(MOMENTS),
        engine,
        stream,
    )
    events = (*lesson.events, *made.events)
    made = replace(made, provenance=replace(made.provenance, events=events))
    return lengthen(made, lesson.learned)


def _release_moments(
    source: Rows,
    reading: Reading,
    options: DenseOptions,
    row_norm: float,
    event: Gaussian,
    engine: Engine,
    stream: RandomStream,
) -> Release:
    rows = WorkingSource(source, reading)
    n_rows = MAX_STREAM_ROWS if rows.n_rows is None else rows.n_rows
    calibration = options.calibrate(n_rows=n_rows, row_norm=row_norm, multiplier=event.multiplier)
    kernel = GramKernel(len(rows.columns), calibration.grid, options.missing)
    gram = engine.run(MOMENTS, rows, kernel)
    return release_gram(
        gram,
        calibration.for_rows(gram.n_rows),
        columns=rows.columns,
        stream=stream,
        events=(event,),
        units=reading.units,
        missing=options.missing,
    )
