"""The dense mechanism: all second moments, and a row norm before them if none is known.

Owns the order of the steps. Each is calibrated from facts that are public or that an earlier
step paid for, and reads the rows once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpcov.columns.missing import Missing
from dpcov.errors import InputError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.budget import Budget, split_budget
from dpcov.mechanisms.radius import RADIUS_SHARE, candidates, check_rows, choose_radius
from dpcov.mechanisms.second_moment import MomentsCalibration, calibrate_moments, release_gram
from dpcov.privacy import ApproxDP, Event
from dpcov.releases import Release
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.sums.norm_counts import NormKernel
from dpcov.sensitive.tables import MAX_STREAM_ROWS, Rows
from dpcov.sensitive.tables.working import Reading, WorkingSource

__all__ = ["DenseOptions", "release_dense"]


@dataclass(frozen=True)
class DenseOptions:
    """What a caller asks of the dense mechanism. All of it is public."""

    promise: ApproxDP
    row_norm: float | None
    shares: Mapping[str, float] | None
    rows_per_unit: int
    missing: Missing

    @property
    def learns_radius(self) -> bool:
        """Whether the row norm is to be learned, and paid for."""
        return self.row_norm is None

    @property
    def passes(self) -> int:
        """How often the rows are read."""
        return 1 + self.learns_radius

    def budget(self) -> Budget:
        """Return what each step may cost."""
        return split_budget(
            self.promise,
            selections=int(self.learns_radius),
            selection_share=RADIUS_SHARE,
            gaussians=["moments"],
            shares=self.shares,
        )

    def calibrate(self, *, n_rows: int, row_norm: float) -> MomentsCalibration:
        """Return grid and noise of the moments."""
        return calibrate_moments(
            promise=self.promise,
            n_rows=n_rows,
            row_norm=row_norm,
            multiplier=self.budget().multipliers["moments"],
            with_mean=True,
            rows_per_unit=self.rows_per_unit,
        )

    def check(self) -> None:
        """Refuse what no table could have, before one is opened: calibrate for a long one."""
        norm = 1.0 if self.row_norm is None else self.row_norm
        self.calibrate(n_rows=MAX_STREAM_ROWS, row_norm=norm)


def release_dense(
    source: Rows,
    reading: Reading,
    options: DenseOptions,
    *,
    engine: Engine,
    stream: RandomStream,
) -> Release:
    """Read the rows as often as it takes, and release their second moments about their mean."""
    return _Steps(source, reading, options, engine, stream).run()


class _Steps:
    """The steps of one release, and what they have learned so far."""

    def __init__(
        self,
        source: Rows,
        reading: Reading,
        options: DenseOptions,
        engine: Engine,
        stream: RandomStream,
    ) -> None:
        self._rows, self._units = WorkingSource(source, reading), reading.units
        self._options, self._engine, self._stream = options, engine, stream
        self._budget = options.budget()
        self._events: list[Event] = []
        if source.n_rows is None and options.passes > 1:
            raise InputError(
                f"This release reads the rows {options.passes} times, and the table is a stream "
                "that can be read only once. Write it to Parquet files and pass their folder; or "
                "state row_norm=."
            )

    def run(self) -> Release:
        stated = self._options.row_norm
        return self._release(self._learn_radius() if stated is None else stated)

    @property
    def _n_rows(self) -> int:
        """The number of rows, or the most that a stream may turn out to have."""
        found = self._rows.n_rows
        return MAX_STREAM_ROWS if found is None else found

    def _learn_radius(self) -> float:
        width, per_unit = self._budget.selection_range, self._options.rows_per_unit
        check_rows(self._n_rows, width, per_unit)
        kernel = NormKernel(candidates(), len(self._rows.columns), self._options.missing)
        counts = self._engine.run("radius", self._rows, kernel)
        self._events.append(self._budget.selection("radius"))
        return choose_radius(
            counts, selection_range=width, stream=self._stream, rows_per_unit=per_unit
        )

    def _release(self, row_norm: float) -> Release:
        rows, options = self._rows, self._options
        calibration = options.calibrate(n_rows=self._n_rows, row_norm=row_norm)
        kernel = GramKernel(len(rows.columns), calibration.grid, options.missing)
        gram = self._engine.run("moments", rows, kernel)
        self._events.append(self._budget.gaussian("moments"))
        return release_gram(
            gram,
            calibration.for_rows(gram.n_rows),
            columns=rows.columns,
            stream=self._stream,
            events=tuple(self._events),
            units=self._units,
            missing=options.missing,
        )
