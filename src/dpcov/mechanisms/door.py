"""`dpcov.release`: the one road from a table to a release.

Owns the order of the steps: check what the caller stated, open the table, and hand both to
the mechanism. Nothing is spent when a step before the noise fails.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from dpcov.columns import Columns, Units
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError, WeakPromiseWarning
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.dense import DenseOptions, release_dense
from dpcov.mechanisms.differences import check_differences, draw_pairing
from dpcov.mechanisms.options import Stated, public_vector, read_facts
from dpcov.mechanisms.outlook import choose_mechanism
from dpcov.mechanisms.pairs import release_co_movement
from dpcov.mechanisms.pairs_calibration import calibrate_pairs
from dpcov.mechanisms.pairs_centers import learn_centers
from dpcov.mechanisms.radius import PrivateRadius
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.progress import show_progress
from dpcov.releases import PairsRelease, Release
from dpcov.releases.saturation import warn_of_saturation
from dpcov.sensitive.engines.serial import Engine, choose_engine
from dpcov.sensitive.sums.signs import SignKernel
from dpcov.sensitive.tables import (
    MAX_STREAM_ROWS,
    Rows,
    RowSource,
    needs_scheduler,
    open_table,
)
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.tables.units import limit_rows
from dpcov.sensitive.tables.working import Reading, WorkingSource
from dpcov.sensitive.workers.schedulers import Scheduler, choose_scheduler

__all__ = ["release"]

_LONG_CORNER = 2.0

Facts = Columns | Mapping[str, Mapping[str, float]] | str | os.PathLike[str] | Sequence[str]
Progress = bool | Callable[[str, int, "int | None"], None]


@overload
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | PrivateRadius | None = ...,
    neighbors: str = ...,
    mechanism: Literal["dense"] = ...,
    center: str | float | npt.ArrayLike | None = ...,
    scales: str | npt.ArrayLike | None = ...,
    shares: Mapping[str, float] | None = ...,
    target: str | None = ...,
    heavy_tails: bool = ...,
    columns: Facts | None = ...,
    missing: str = ...,
    unit: str | None = ...,
    rows_per_unit: int | None = ...,
    header: bool | None = ...,
    engine: Any = ...,
    progress: Progress | None = ...,
    seed: int | None = ...,
) -> Release: ...
@overload
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | None = ...,
    neighbors: str = ...,
    mechanism: Literal["pairs"],
    max_pairs: int,
    center: str | float | npt.ArrayLike | None = ...,
    scales: str | npt.ArrayLike | None = ...,
    cell_bound: float | None = ...,
    shares: Mapping[str, float] | None = ...,
    columns: Facts | None = ...,
    missing: str = ...,
    unit: str | None = ...,
    rows_per_unit: int | None = ...,
    header: bool | None = ...,
    engine: Any = ...,
    progress: Progress | None = ...,
    seed: int | None = ...,
) -> PairsRelease: ...
@overload
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | PrivateRadius | None = ...,
    neighbors: str = ...,
    mechanism: str = ...,
    max_pairs: int | None = ...,
    center: str | float | npt.ArrayLike | None = ...,
    scales: str | npt.ArrayLike | None = ...,
    cell_bound: float | None = ...,
    shares: Mapping[str, float] | None = ...,
    target: str | None = ...,
    heavy_tails: bool = ...,
    columns: Facts | None = ...,
    missing: str = ...,
    unit: str | None = ...,
    rows_per_unit: int | None = ...,
    header: bool | None = ...,
    engine: Any = ...,
    progress: Progress | None = ...,
    seed: int | None = ...,
) -> Release | PairsRelease: ...
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | PrivateRadius | None = None,
    neighbors: str = "replace",
    mechanism: str = "dense",
    max_pairs: int | None = None,
    center: str | float | npt.ArrayLike | None = None,
    scales: str | npt.ArrayLike | None = None,
    cell_bound: float | None = None,
    shares: Mapping[str, float] | None = None,
    target: str | None = None,
    heavy_tails: bool = False,
    columns: Facts | None = None,
    missing: str = "refuse",
    unit: str | None = None,
    rows_per_unit: int | None = None,
    header: bool | None = None,
    engine: Any = None,
    progress: Progress | None = None,
    seed: int | None = None,
) -> Release | PairsRelease:
    """Publish the second moments of a sensitive table. Spends the privacy budget.

    Parameters
    ----------
    X : array, data frame, stream or path, shape (n_rows, n_columns)
        One row for each person, or several with `unit`; any real, integer or boolean type.
        numpy, scipy.sparse, pandas, polars (also lazy), pyarrow tables and data sets, Dask
        arrays and data frames, Spark, AnnData, anything with ``__arrow_c_stream__`` such as a
        DuckDB relation, or the path of a ``.csv``, ``.parquet``, ``.npy`` or ``.h5ad`` file or
        of a folder of Parquet files. Files and streams are read in pieces. A CSV file needs a
        header, or `header=False`, and numbers in all columns that are used. An ``.h5ad`` file
        must be one that you trust: HDF5 can hang on a damaged one. A stream that can be read
        only once may have 4 million rows. Not modified, not kept.
    epsilon : float
        Positive. There is no default.
    delta : float
        In (0, 1), well below 1 / n_rows. There is no default.
    row_norm : float or PrivateRadius
        A public bound on the Euclidean norm of a row in working units: the data's own, unless
        `columns`, `center` or `scales` say otherwise; for differences of rows, of (x − y)/√2.
        Longer rows are clipped to it. Choose it from knowledge: a bound that is read from the
        data breaks the promise; or let `dpcov.PrivateRadius` choose it and pay. Not needed
        when `columns` bounds all columns. For pairs it is needed only to release variances.
    neighbors : {"replace", "add-remove"}
        Which tables are hard to tell apart: two that differ in one person's row, or two
        of which one has a row that adds nothing in its place. Both take the number of rows
        as public.
    mechanism : {"dense", "pairs", "auto"}
        All second moments; the strongest pairs of columns, for hundreds or thousands of
        columns with few relations; or the one that will show more, chosen from public
        facts alone (`dpcov.plan` says which).
    max_pairs : int
        For pairs: how many to release. Twice as many as are related cost little.
    center : {"public", "private", "learned", "differences"}, float or array, optional
        What the moments are about: the centers of `columns`, or zero, or the numbers stated
        here (``"public"``, the default for dense); a mean that is released with them and paid
        for (``"private"``, not for pairs); medians that are learned and paid for
        (``"learned"``, for pairs alone); or none, since differences of rows have mean zero:
        half as many terms, and replace-one neighbors only. For pairs the default is to learn
        centers unless rows are too few for so many columns, and to take differences then. Rows
        are paired at random within blocks of some thousand. For pairs, a public center that is
        off makes unrelated columns look related.
    scales : {"public", "private", "none"} or array, optional
        What counts as one in each column: as in `columns`, or the numbers stated here; or
        learned and paid for (dense only; needs a `PrivateRadius`). For pairs: public standard
        deviations; or ``"none"`` to release correlations only; by default variances are
        released if `row_norm` is given.
    cell_bound : float, optional
        For pairs with variances: a public bound on the size of a cell, at most `row_norm`.
    shares : mapping, optional
        Relative shares of the budget. For pairs, of ``"selection"``, ``"values"`` and
        ``"variances"``: by default 0.5, 0.5 and 0.1; ``"centers"`` and ``"signs"`` that are
        learned have up to 0.15 and 0.05 of what values have otherwise. For dense, of the noisy
        steps ``"moments"``, ``"scales"`` and ``"trace"``: 0.8, 0.15 and 0.05.
    target : {"covariance", "correlation"}, optional
        For which error private scales are best; by default that of the covariance.
    heavy_tails : bool, default False
        Bring every row to one length and release their mean squared length separately: for
        many columns with outliers, at the cost of some bias when few directions dominate.
    columns : Columns, mapping, path of a .toml or .json file, or sequence of str, optional
        Public facts of the columns to be used: see `dpcov.Columns`. Or column names; by
        default the table's own, or ``x0, x1, …``.
    missing : {"refuse", "center"}
        What to do with missing and infinite cells: raise, or read them as the stated center,
        which should then be close to the mean; for pairs, let them have no sign, which pulls
        correlations toward zero. With ``"refuse"`` the promise holds among complete tables
        only: that there is a release tells that nobody's cell is missing.
    unit : str, optional
        The column that says whose row it is, when one person has several. The promise is then
        about all rows of one unit together. The column is not released.
    rows_per_unit : int, optional
        With `unit`: how many rows of each are used, the first in the table's order. The
        noise grows with it.
    header : bool, optional
        True says that the table's own names are names, also if some look like values. Without it
        such a table is refused, because they may be somebody's row: the first of a CSV file
        without a header. False says that a CSV file has none; `columns` then names all columns
        in the file's order.
    engine : {"dask"} or distributed.Client, optional
        Read and add up the rows on the workers of this client; ``"dask"`` takes the cluster
        that this process is connected to, or else Dask's threads in it. The noise is drawn
        here, once, and the same seed gives the same bytes. A Dask collection uses Dask anyway.
        Not for differences of rows. See docs/dask.md.
    progress : bool or callable, optional
        By default a bar is shown in a terminal after two seconds. A function is called with
        the name of the pass, the rows read so far, and the rows in all, or None.
    seed : int, optional
        Makes a repeatable *simulation*, which promises nothing. Never for real data.

    Returns
    -------
    Release
        The noisy average (1/n) Σ x xᵀ with its noise scale and its promise.
    PairsRelease
        For pairs: which were selected, and their noisy co-movements.

    Raises
    ------
    ParameterError, InputError
        Before any budget is spent, with no data in the message.

    Warns
    -----
    WeakPromiseWarning
        When delta is above 1 / n_rows: publishing one row at random would keep that promise.
    SaturationWarning
        When the release shows that nearly all rows were clipped, or that nearly all cells of
        a column lie at its bounds.

    Notes
    -----
    Formal guarantee: (epsilon, delta)-differential privacy of everything returned, for
    the stated neighboring relation, among complete tables if others are refused (claims in
    docs/privacy.md). Everything that is learned on the way is paid for from the same promise,
    and listed in ``release.events``.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
    >>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0)
    >>> print(release.promise)
    (1, 1e-06)-differential privacy, replace-one neighbors
    """
    facts = read_facts(columns)
    stated = Stated(
        mechanism=mechanism,
        row_norm=row_norm,
        max_pairs=max_pairs,
        center=center,
        scales=scales,
        cell_bound=cell_bound,
        shares=shares,
        target=target,
        heavy_tails=heavy_tails,
        rows_per_unit=_rows_per_unit(unit, rows_per_unit),
    )
    promise = ApproxDP(epsilon, delta, _central(neighbors), unit)
    rule = Missing.parse(missing)
    stated.check(facts=facts)
    scheduler = choose_scheduler(engine, needed=needs_scheduler(X))
    on_workers = scheduler is not None
    if stated.takes_differences:
        check_differences(
            promise.neighbors, rows_per_unit=stated.rows_per_unit, on_workers=on_workers
        )
    source = _open(X, columns, facts, unit, header, stated.rows_per_unit, scheduler)
    reading = _reading(source, facts, stated)
    kind = _choose(stated, source, promise, on_workers=on_workers)
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    with show_progress(progress) as tell:
        adder = choose_engine(scheduler, tell)
        made: Release | PairsRelease
        if kind == "pairs":
            made = _release_pairs(
                source, reading, promise, stated, rule, adder, stream, on_workers=on_workers
            )
        else:
            options = _dense_options(stated, facts, rule)
            made = release_dense(source, reading, promise, options, engine=adder, stream=stream)
    _warn_of_weak_promise(promise, made.n_rows)
    if isinstance(made, Release) and row_norm is not None:
        warn_of_saturation(made)
    return made


def _rows_per_unit(unit: str | None, rows_per_unit: int | None) -> int:
    if unit is None and rows_per_unit is not None:
        raise ParameterError("rows_per_unit needs unit=, the column that says whose row it is.")
    if unit is not None and rows_per_unit is None:
        raise ParameterError(
            "unit needs rows_per_unit: how many rows of each to use at most. The noise grows "
            "with it."
        )
    return 1 if rows_per_unit is None else rows_per_unit


def _open(
    X: Any,
    columns: Any,
    facts: Columns | None,
    unit: str | None,
    header: bool | None,
    rows_per_unit: int,
    scheduler: Scheduler | None,
) -> RowSource:
    names = None if facts is None else facts.names
    own = columns if facts is None else None
    source = open_table(X, own, select=names, unit=unit, header=header, scheduler=scheduler)
    return source if unit is None else limit_rows(source, rows_per_unit)


def _reading(source: RowSource, facts: Columns | None, stated: Stated) -> Reading:
    """Return how cells are read; for pairs, numbers about centers stay as they are."""
    n_columns = len(source.columns)
    reading = Reading.of(n_columns, facts)
    if stated.mechanism == "pairs":
        return reading
    center, scale = (
        None if isinstance(value, str) else public_vector(name, value, n_columns, positive=sign)
        for name, value, sign in (("center", stated.center, False), ("scales", stated.scales, True))
    )
    if center is None and scale is None:
        return reading
    units = Units(
        np.zeros(n_columns) if center is None else center,
        np.ones(n_columns) if scale is None else scale,
    )
    return replace(reading, units=units)


def _choose(stated: Stated, source: RowSource, promise: ApproxDP, *, on_workers: bool) -> str:
    if stated.mechanism != "auto":
        return stated.mechanism
    if source.n_rows is None:
        raise ParameterError("mechanism='auto' needs the number of rows; X is a stream.")
    n_columns = len(source.columns)
    return choose_mechanism(
        promise,
        n_rows=source.n_rows,
        n_columns=n_columns,
        max_pairs=stated.max_pairs,  # type: ignore[arg-type]  # checked before
        center=stated.pairs_center(
            promise, n_rows=source.n_rows, n_columns=n_columns, on_workers=on_workers
        ),
    )


def _dense_options(stated: Stated, facts: Columns | None, missing: Missing) -> DenseOptions:
    row_norm = stated.row_norm
    if row_norm is None and facts is not None:
        row_norm = _corner(facts)
    if row_norm is None:
        raise ParameterError(
            "row_norm is needed: a public bound on the Euclidean norm of a row, from knowledge and "
            "not from the data; or dpcov.PrivateRadius() to pay for one; or columns= with lower "
            "and upper for every column."
        )
    return DenseOptions(
        row_norm=row_norm,
        center=stated.center if isinstance(stated.center, str) else "public",
        private_scales=isinstance(stated.scales, str) and stated.scales == "private",
        target=stated.target or "covariance",
        heavy_tails=stated.heavy_tails,
        shares=stated.shares,
        rows_per_unit=stated.rows_per_unit,
        missing=missing,
    )


def _corner(facts: Columns) -> float | None:
    """Return the largest norm within the bounds, unless it is far beyond a typical row's."""
    norm, typical = facts.largest_norm, math.sqrt(len(facts))
    if norm is not None and norm > _LONG_CORNER * typical:
        raise ParameterError(
            f"The bounds allow rows of norm {norm:.3g} in the units of the stated scales, where a "
            f"typical row has about {typical:.3g}: noise would be {(norm / typical) ** 2:.0f} "
            "times what it need be. Pass row_norm=dpcov.PrivateRadius(), or a row_norm= from "
            "knowledge."
        )
    return norm


def _release_pairs(
    source: RowSource,
    reading: Reading,
    promise: ApproxDP,
    stated: Stated,
    missing: Missing,
    engine: Engine,
    stream: RandomStream,
    *,
    on_workers: bool,
) -> PairsRelease:
    n_columns = len(source.columns)
    about = stated.pairs_center(
        promise, n_rows=source.n_rows, n_columns=n_columns, on_workers=on_workers
    )
    public = None if isinstance(stated.scales, str) else stated.scales
    deviations = public_vector("scales", public, n_columns, positive=True)
    paid = stated.scales is None
    plan = calibrate_pairs(
        promise=promise,
        n_rows=MAX_STREAM_ROWS if source.n_rows is None else source.n_rows,
        n_columns=n_columns,
        max_pairs=stated.max_pairs,  # type: ignore[arg-type]  # checked before
        center=about,
        row_norm=stated.row_norm if paid else None,  # type: ignore[arg-type]
        cell_bound=stated.cell_bound if paid else None,
        shares=stated.shares,
        rows_per_unit=stated.rows_per_unit,
    )
    rows: Rows = WorkingSource(source, reading)
    center: npt.NDArray[np.float64] | None = None
    if about == "learned":
        center = learn_centers(
            rows, plan.center_scale, missing=missing, engine=engine, stream=stream
        )
    elif about == "public":
        numbers = 0.0 if isinstance(stated.center, str) else stated.center
        center = public_vector("center", numbers, n_columns)
    else:
        rows = DifferenceSource(rows, draw_pairing(stream, promise.neighbors, stated.rows_per_unit))
    kernel = SignKernel(n_columns, center, plan.squares, missing)
    sums = engine.run("co-movements", rows, kernel)
    units = reading.working_units
    return release_co_movement(
        sums,
        plan.for_rows(_known_rows(source)),
        columns=source.columns,
        stream=stream,
        public_variances=None if deviations is None else deviations**2,
        units=units if center is None else Units(units.center + units.scale * center, units.scale),
        missing=missing,
    )


def _central(neighbors: str) -> Neighbors:
    relation = Neighbors.parse(neighbors)
    if relation is Neighbors.LOCAL:
        raise ParameterError(
            "neighbors must be 'replace' or 'add-remove'; got 'local'. A table that one program "
            "can read is not in the local model; see dpcov.local for reports from devices."
        )
    return relation


def _known_rows(source: RowSource) -> int:
    if source.n_rows is None:
        raise AssertionError("unreachable: a source that was read knows its length")
    return source.n_rows


def _warn_of_weak_promise(promise: ApproxDP, n_rows: int) -> None:
    if promise.delta > 1 / n_rows:
        warnings.warn(
            f"delta = {promise.delta:g} is above 1 / n_rows = {1 / n_rows:.2g}: to publish "
            "the row of one person in the clear would keep such a promise. Choose it well below.",
            WeakPromiseWarning,
            stacklevel=3,
        )
