"""The dense mechanism: all second moments, and what must be learned before them.

Owns the order of the steps: a radius, scales, a radius in these scales, a trace, the
moments. Each step is planned from facts that are public or that an earlier step paid for,
and reads the rows once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpcov.columns.missing import Missing
from dpcov.errors import InputError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.budget import Budget, split_budget
from dpcov.mechanisms.differences import draw_pairing
from dpcov.mechanisms.radius import PrivateRadius, choose_radius
from dpcov.mechanisms.second_moment import calibrate_moments, release_gram
from dpcov.mechanisms.squares import (
    SquaresPlan,
    plan_squares,
    release_mean_squares,
    release_trace,
    scales_for,
)
from dpcov.privacy import ApproxDP, Event
from dpcov.releases import Release
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.sums.norm_counts import NormKernel
from dpcov.sensitive.sums.square_sums import SquareKernel, SquareSums
from dpcov.sensitive.tables import MAX_STREAM_ROWS, Rows
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.tables.working import Reading, WorkingSource

__all__ = ["DenseOptions", "release_dense"]


@dataclass(frozen=True)
class DenseOptions:
    """What a caller asks of the dense mechanism, checked.

    Parameters
    ----------
    row_norm : float or PrivateRadius
        Known, or to be paid for.
    center : {"public", "private", "differences"}
        What the moments are about.
    private_scales : bool
        Whether to learn what counts as one in each column.
    target : {"covariance", "correlation"}
        For which error the learned scales are best.
    heavy_tails : bool
        Whether rows are brought to a sphere, and their trace learned.
    shares : mapping or None
        Relative shares of the Gaussian steps.
    rows_per_unit : int
        How many rows one person has at most.
    missing : Missing
        The rule for missing cells.
    """

    row_norm: float | PrivateRadius
    center: str
    private_scales: bool
    target: str
    heavy_tails: bool
    shares: Mapping[str, float] | None
    rows_per_unit: int
    missing: Missing

    @property
    def passes(self) -> int:
        """How often the rows are read."""
        return self.selections + len(self.gaussians)

    @property
    def selections(self) -> int:
        """How many radii are chosen."""
        return (1 + self.private_scales) * isinstance(self.row_norm, PrivateRadius)

    @property
    def gaussians(self) -> list[str]:
        """The Gaussian steps, in order."""
        scales = ["scales"] if self.private_scales else []
        return [*scales, *(["trace"] if self.heavy_tails else []), "moments"]


def release_dense(
    source: Rows,
    reading: Reading,
    promise: ApproxDP,
    options: DenseOptions,
    *,
    engine: Engine,
    stream: RandomStream,
) -> Release:
    """Read the rows as often as it takes, and release their second moments.

    Parameters
    ----------
    source : Rows
        Raw rows.
    reading : Reading
        How cells are read.
    promise : ApproxDP
        What all steps together pay for.
    options : DenseOptions
        Which steps there are.
    engine : Engine
        Who adds up the rows.
    stream : RandomStream
        Where all randomness comes from.
    """
    return _Steps(source, reading, promise, options, engine, stream).run()


class _Steps:
    """The steps of one release, and what they have learned so far."""

    def __init__(
        self,
        source: Rows,
        reading: Reading,
        promise: ApproxDP,
        options: DenseOptions,
        engine: Engine,
        stream: RandomStream,
    ) -> None:
        self._source, self._reading, self._options = source, reading, options
        self._promise, self._engine, self._stream = promise, engine, stream
        self._budget = _budget(promise, options)
        self._pairing: int | None = None
        if options.center == "differences":
            self._pairing = draw_pairing(stream, promise.neighbors, options.rows_per_unit)
        self._events: list[Event] = []
        if source.n_rows is None and options.passes > 1:
            raise InputError(
                f"This release reads the rows {options.passes} times, and X is a stream that can "
                "be read only once. Write it to Parquet files and pass their folder; or state "
                "row_norm= and public scales."
            )

    def run(self) -> Release:
        options = self._options
        first = options.row_norm
        again = first.in_learned_scales() if isinstance(first, PrivateRadius) else first
        for wish in (first, again) if options.private_scales else (first,):
            if isinstance(wish, PrivateRadius):
                wish.check_rows(self._n_terms, self._budget.selection_range, options.rows_per_unit)
        row_norm = self._radius("radius", first)
        if options.private_scales:
            self._learn_scales(row_norm)
            row_norm = self._radius("radius in these scales", again)
        trace = self._learn_trace(row_norm) if options.heavy_tails else None
        return self._release(row_norm, trace)

    @property
    def _rows(self) -> Rows:
        """The rows in working units, or their differences."""
        rows: Rows = WorkingSource(self._source, self._reading)
        return rows if self._pairing is None else DifferenceSource(rows, self._pairing)

    @property
    def _n_terms(self) -> int:
        """The number of rows or differences, or the most that a stream may turn out to have."""
        found = self._rows.n_rows
        return MAX_STREAM_ROWS if found is None else found

    def _radius(self, name: str, option: float | PrivateRadius) -> float:
        if not isinstance(option, PrivateRadius):
            return option
        rows = self._rows
        kernel = NormKernel(option.candidates(), len(rows.columns), self._options.missing)
        counts = self._engine.run(name, rows, kernel)
        self._events.append(self._budget.selection(name))
        return choose_radius(
            counts,
            option,
            selection_range=self._budget.selection_range,
            stream=self._stream,
            rows_per_unit=self._options.rows_per_unit,
        )

    def _learn_scales(self, row_norm: float) -> None:
        sums, plan = self._sum_squares("scales", row_norm)
        mean_squares, noise = release_mean_squares(sums, plan, self._stream)
        factor = scales_for(mean_squares, noise, self._options.target)
        self._reading = self._reading.rescaled(factor)

    def _learn_trace(self, row_norm: float) -> float:
        sums, plan = self._sum_squares("trace", row_norm, total=True)
        return release_trace(sums, plan, self._stream)

    def _sum_squares(
        self, name: str, row_norm: float, *, total: bool = False
    ) -> tuple[SquareSums, SquaresPlan]:
        plan = plan_squares(
            multiplier=self._budget.multipliers[name],
            neighbors=self._promise.neighbors,
            n_rows=self._n_terms,
            row_norm=row_norm,
            total=total,
            rows_per_unit=self._options.rows_per_unit,
        )
        rows = self._rows
        kernel = SquareKernel(len(rows.columns), plan.grid, self._options.missing)
        self._events.append(self._budget.gaussian(name))
        return self._engine.run(name, rows, kernel), plan

    def _release(self, row_norm: float, trace: float | None) -> Release:
        rows, options = self._rows, self._options
        plan = calibrate_moments(
            promise=self._promise,
            n_rows=self._n_terms,
            row_norm=row_norm,
            multiplier=self._budget.multipliers["moments"],
            with_mean=options.center == "private",
            trace=trace,
            rows_per_unit=options.rows_per_unit,
        )
        kernel = GramKernel(len(rows.columns), plan.grid, options.missing)
        gram = self._engine.run("moments", rows, kernel)
        self._events.append(self._budget.gaussian("moments"))
        return release_gram(
            gram,
            plan.for_rows(gram.n_rows),
            columns=rows.columns,
            stream=self._stream,
            events=tuple(self._events),
            units=self._reading.working_units,
            n_rows=None if self._pairing is None else self._source.n_rows,
            missing=options.missing,
        )


def _budget(promise: ApproxDP, options: DenseOptions) -> Budget:
    radius = options.row_norm
    return split_budget(
        promise,
        selections=options.selections,
        selection_share=radius.share if isinstance(radius, PrivateRadius) else 0.0,
        gaussians=options.gaussians,
        shares=options.shares,
    )
