"""`dpcov.release_pairs`: which pairs of columns move together most, and how much.

Owns what a caller may state about it. The steps are `mechanisms.pairs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.columns.design import Design
from dpcov.columns.missing import Missing
from dpcov.errors import InputError, ParameterError
from dpcov.ledger import Ledger
from dpcov.mechanisms.differences import check_differences, draw_pairing
from dpcov.mechanisms.door import Facts, Progress, Request, refused_for_free
from dpcov.mechanisms.options import public_vector
from dpcov.mechanisms.outlook import check_pairs_shown, choose_center
from dpcov.mechanisms.pairs import release_co_movement
from dpcov.mechanisms.pairs_calibration import CENTERS, PairsCalibration, calibrate_pairs
from dpcov.mechanisms.pairs_centers import learn_centers, passes
from dpcov.parameters import check_choice, check_count
from dpcov.privacy import Neighbors
from dpcov.releases import PairsRelease
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.signs import SignKernel
from dpcov.sensitive.tables import MAX_STREAM_ROWS, Rows, RowSource
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.tables.working import Reading, WorkingSource

__all__ = ["release_pairs"]

Center = str | float | npt.ArrayLike | None
Scales = str | npt.ArrayLike | None
Vector = npt.NDArray[np.float64]


def release_pairs(
    table: Any,
    *,
    epsilon: float,
    delta: float,
    max_pairs: int,
    columns: Facts | None = None,
    center: Center = None,
    scales: Scales = None,
    row_norm: float | None = None,
    cell_bound: float | None = None,
    neighbors: str = "replace",
    shares: Mapping[str, float] | None = None,
    missing: str = "refuse",
    privacy_unit: str | None = None,
    rows_per_unit: int | None = None,
    header: bool | None = None,
    missing_codes: Sequence[float | str] | None = None,
    csv: Mapping[str, str] | None = None,
    engine: Any = None,
    progress: Progress | None = None,
    seed: int | None = None,
    ledger: Ledger | None = None,
    request_id: str | None = None,
    allow: Collection[str] = (),
) -> PairsRelease:
    """Publish the strongest pairs of columns of a sensitive table. Spends the privacy budget.

    For hundreds or thousands of columns of which few are related: the noise grows with the
    pairs that are released, and not with the columns.

    Parameters
    ----------
    table, epsilon, delta, columns, neighbors, privacy_unit, rows_per_unit, header, \
missing_codes, csv, engine, progress, seed, ledger, request_id, allow
        As for `dpcov.release`. A stream waits in a temporary file only where centers are learned,
        or with `privacy_unit`.
    max_pairs : int
        How many pairs to release. Twice as many as are related cost little.
    center : {"differences", "learned", "stated"}, float or array, optional
        Signs of differences of rows, which have mean zero: half as many terms, replace-one
        neighbors, and one row for each person; rows are paired at random within blocks of some
        thousand. Or signs about medians that are learned and paid for, which takes
        one or two passes more. Or signs about the centers of `columns`, or zero (``"stated"``), or
        about the numbers stated here; one that is off makes unrelated columns look related. By
        default centers are learned where differences cannot be had or would show strong
        correlations alone (`dpcov.plan` says which).
    scales : {"none"} or array, optional
        Public standard deviations of the columns; or ``"none"`` to release correlations only. By
        default variances are released if `row_norm` is given.
    row_norm : float, optional
        A public bound on the Euclidean norm of a row in working units, to release variances; for
        differences of rows, of (x − y)/√2. Longer rows are clipped to it. About a center, learned
        or stated, the means are released with them, out of the same share.
    cell_bound : float, optional
        With `row_norm`: a public bound on the size of a cell, at most `row_norm`.
    shares : mapping, optional
        Relative shares of the budget of ``"selection"``, ``"values"`` and ``"variances"``: by
        default 0.5, 0.5 and 0.1; ``"centers"`` and ``"signs"`` that are learned have up to 0.15
        and 0.05 of what values have otherwise. `dpcov.Forecast.best_shares` finds better ones.
    missing : {"refuse", "center"}
        What to do with missing and infinite cells: raise, or let them have no sign, which pulls
        correlations toward zero.

    Returns
    -------
    PairsRelease
        Which pairs were selected, and their noisy co-movements.

    Raises
    ------
    ParameterError, InputError, EngineError
        As for `dpcov.release`.

    Warns
    -----
    LargeEpsilonWarning
        When epsilon is above 3.
    WeakPromiseWarning
        When delta is above 1 / n_rows: publishing one row at random would keep that promise.

    See Also
    --------
    release : All covariances.
    plan : What either will show.

    Notes
    -----
    Formal guarantee: as for `dpcov.release`.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 50))
    >>> rows[:, 7] += rows[:, 3]
    >>> release = dpcov.release_pairs(rows, epsilon=1.0, delta=1e-6, max_pairs=5)
    >>> [(edge.first, edge.second) for edge in release.estimate().edges(fdr=1e-6)]
    [('x3', 'x7')]
    """
    with refused_for_free():
        request = Request.of(
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors,
            columns=columns,
            missing=Missing.parse_for_rows(missing),
            privacy_unit=privacy_unit,
            rows_per_unit=rows_per_unit,
            header=header,
            missing_codes=missing_codes,
            csv=csv,
            engine=engine,
            progress=progress,
            seed=seed,
            ledger=ledger,
            request_id=request_id,
            stated={
                "what": "release_pairs",
                "max_pairs": max_pairs,
                "center": _listed(center),
                "scales": _listed(scales),
                "row_norm": row_norm,
                "cell_bound": cell_bound,
                "shares": shares,
            },
            allow=allow,
        )
        stated = _Stated(max_pairs, center, scales, row_norm, cell_bound, shares)
        stated.check(request)
        request = request.for_table(table)
        finished = request.find_finished(PairsRelease)
    if finished is not None:
        return finished
    opened = request.reading(table, passes=stated.passes(request))
    with request.spending.settled():
        with opened as (source, adder):
            made = _release(source, request.knowing(source), stated, adder)
            made = request.record(made, source)
        # Warnings may be errors, which then end the release.
        request.warn_of_weak_promise(made.n_rows)
        return made


@dataclass(frozen=True, eq=False)
class _Stated:
    """What a caller states about pairs alone, as it came."""

    max_pairs: int
    center: Center
    scales: Scales
    row_norm: float | None
    cell_bound: float | None
    shares: Mapping[str, float] | None

    def about(self, request: Request, *, n_rows: int | None, n_columns: int) -> str:
        """Return what signs are about; if nothing is stated, what will show more."""
        if self.center is None:
            return choose_center(
                request.promise,
                n_rows=n_rows,
                n_columns=n_columns,
                max_pairs=self.max_pairs,
                rows_per_unit=request.rows_per_unit,
            )
        return self.center if isinstance(self.center, str) else "stated"

    def passes(self, request: Request) -> int:
        """Return how often the rows of a stream are read, before their number is known."""
        n_columns = self._least_columns(request)
        if self.about(request, n_rows=None, n_columns=n_columns) == "learned":
            return passes(n_columns) + 1
        return 1

    def check(self, request: Request) -> None:
        """Refuse what does not belong together, and what no table could have."""
        if isinstance(self.center, str):
            check_choice("center", self.center, CENTERS)
        if isinstance(self.scales, str) and self.scales != "none":
            raise ParameterError(
                "scales must be public standard deviations of the columns, or 'none'."
            )
        if self.scales is not None and self.cell_bound is not None:
            raise ParameterError(
                "cell_bound is for released variances; with scales there are none."
            )
        numbers = [v for v in (self.center, self.scales) if not (v is None or isinstance(v, str))]
        if request.facts is not None and numbers:
            raise ParameterError(
                "Centers and scales are among the facts of columns=; do not state them twice."
            )
        if request.facts is not None and self._says("stated"):
            request.facts.check_known("center")
        check_count("max_pairs", self.max_pairs, low=1)
        for name, value in (("center", self.center), ("scales", self.scales)):
            self._vector(name, value, request.n_columns or _size(value))
        self._check_signs(request)

    def _check_signs(self, request: Request) -> None:
        """Refuse promises with which signs cannot be had, and noise without room.

        Before the number of rows is known the rule takes differences wherever they can be had.
        Where it will learn centers after all, rows are so many that their noise has room.
        """
        if self._says("differences"):
            check_differences(request.promise.neighbors, rows_per_unit=request.rows_per_unit)
        n_columns = self._least_columns(request)
        about = self.about(request, n_rows=None, n_columns=n_columns)
        removes = request.promise.neighbors is Neighbors.ADD_REMOVE
        if about == "learned" and removes and request.missing is Missing.REFUSE:
            # About learned centers every cell has a sign: only a row without cells adds nothing.
            raise ParameterError(
                "With neighbors='add-remove' centers are learned only with missing='center', "
                "where a row may have no cells. State a center=, or use neighbors='replace'."
            )
        self.calibrate(request, about, n_rows=MAX_STREAM_ROWS, n_columns=n_columns)

    def calibrate(
        self, request: Request, about: str, *, n_rows: int, n_columns: int
    ) -> PairsCalibration:
        """Return all noise, from public facts."""
        paid = self.scales is None
        return calibrate_pairs(
            promise=request.promise,
            n_rows=n_rows,
            n_columns=n_columns,
            max_pairs=self.max_pairs,
            center=about,
            row_norm=self.row_norm if paid else None,
            cell_bound=self.cell_bound if paid else None,
            shares=self.shares,
            rows_per_unit=request.rows_per_unit,
        )

    def stated_center(self, n_columns: int) -> Vector:
        """Return the center of each column in working units, if signs are about a stated one."""
        numbers = self._vector("center", self.center, n_columns)
        return np.zeros(n_columns) if numbers is None else numbers

    def deviations(self, n_columns: int) -> Vector | None:
        """Return public standard deviations, if they are stated."""
        return self._vector("scales", self.scales, n_columns)

    def _says(self, word: str) -> bool:
        return isinstance(self.center, str) and self.center == word

    def _least_columns(self, request: Request) -> int:
        """Return the number of columns: if it is not stated, one more than the pairs need."""
        return request.n_columns or isqrt(2 * self.max_pairs) + 2

    def _vector(self, name: str, value: Any, n_columns: int) -> Vector | None:
        if value is None or isinstance(value, str):
            return None
        return public_vector(name, value, n_columns, positive=name == "scales")


def _release(source: RowSource, request: Request, stated: _Stated, engine: Engine) -> PairsRelease:
    n_columns = len(source.columns)
    design = Design.of(source.fields, gaps=False)
    if len(design.categories):
        raise InputError(
            "A category has no sign, and dpcov.release_pairs works with signs. State numbers for "
            "its levels if they have an order, leave it out, or use dpcov.release."
        )
    facts = () if request.facts is None else request.facts.facts
    reading = Reading.of(design, facts)
    rows: Rows = WorkingSource(source, reading)
    deviations = stated.deviations(n_columns)
    about = stated.about(request, n_rows=source.n_rows, n_columns=n_columns)
    n_rows = MAX_STREAM_ROWS if source.n_rows is None else source.n_rows
    calibration = stated.calibrate(request, about, n_rows=n_rows, n_columns=n_columns)
    if source.n_rows is not None:
        _check_size(request, stated, about, source.n_rows, n_columns)
    request.spending.reserve(calibration.events)
    center: Vector | None = None
    if about == "learned":
        center = learn_centers(
            rows,
            calibration.center_scale,
            missing=request.missing,
            engine=engine,
            stream=request.stream,
        )
    elif about == "stated":
        center = stated.stated_center(n_columns)
    else:
        neighbors, per_unit = request.promise.neighbors, request.rows_per_unit
        rows = DifferenceSource(rows, draw_pairing(request.stream, neighbors, per_unit))
    kernel = SignKernel(n_columns, center, calibration.squares, request.missing)
    sums = engine.run("co-movements", rows, kernel)
    if n_rows != _known_rows(source):
        _check_size(request, stated, about, _known_rows(source), n_columns)
    units = reading.units
    return release_co_movement(
        sums,
        calibration.for_rows(_known_rows(source)),
        columns=source.columns,
        stream=request.stream,
        public_variances=None if deviations is None else deviations**2,
        units=units if center is None else Units(units.center + units.scale * center, units.scale),
        missing=request.missing,
    )


def _check_size(request: Request, stated: _Stated, about: str, n_rows: int, n_columns: int) -> None:
    """Refuse so few rows that no pair could be seen, unless that is allowed."""
    if "small" not in request.allow:
        check_pairs_shown(
            request.promise,
            n_rows=n_rows,
            n_columns=n_columns,
            max_pairs=stated.max_pairs,
            center=about,
            shares=stated.shares,
        )


def _listed(value: Any) -> Any:
    """Return what was stated with all of its digits: numpy shortens long arrays."""
    if value is None or isinstance(value, str):
        return value
    try:
        return np.asarray(value).tolist()
    except ValueError:  # sequences of no common shape, which are refused next
        return None


def _size(value: Any) -> int:
    try:
        return np.size(value)
    except ValueError:  # sequences of no common shape, which are refused next
        return 1


def _known_rows(source: RowSource) -> int:
    if source.n_rows is None:
        raise AssertionError("unreachable: a source that was read knows its length")
    return source.n_rows
