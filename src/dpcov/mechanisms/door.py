"""`dpcov.release`: the one road from a table to a release.

Owns the order of the steps: check what the caller stated, plan from public facts, read
the rows once, add noise once. Nothing is spent when a step before the noise fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError, WeakPromiseWarning
from dpcov.mechanisms.options import PairOptions, check_mechanism, public_vector
from dpcov.mechanisms.outlook import choose_mechanism
from dpcov.mechanisms.pairs import release_pairs
from dpcov.mechanisms.pairs_plan import plan_pairs
from dpcov.mechanisms.randomness import RandomStream
from dpcov.mechanisms.second_moment import plan_second_moment, release_gram
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.releases import PairsRelease, Release
from dpcov.sensitive.gram import Gram, max_block_rows
from dpcov.sensitive.rows import check_missing
from dpcov.sensitive.signs import CoMovement, block_rows
from dpcov.sensitive.sources import MAX_STREAM_ROWS, RowSource, open_source

__all__ = ["release"]


@overload
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float,
    neighbors: str = ...,
    mechanism: Literal["dense"] = ...,
    columns: Sequence[str] | None = ...,
    missing: str = ...,
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
    center: float | npt.ArrayLike | None = ...,
    scales: str | npt.ArrayLike | None = ...,
    cell_bound: float | None = ...,
    shares: Mapping[str, float] | None = ...,
    columns: Sequence[str] | None = ...,
    missing: str = ...,
    seed: int | None = ...,
) -> PairsRelease: ...
@overload
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | None = ...,
    neighbors: str = ...,
    mechanism: str = ...,
    max_pairs: int | None = ...,
    center: float | npt.ArrayLike | None = ...,
    scales: str | npt.ArrayLike | None = ...,
    cell_bound: float | None = ...,
    shares: Mapping[str, float] | None = ...,
    columns: Sequence[str] | None = ...,
    missing: str = ...,
    seed: int | None = ...,
) -> Release | PairsRelease: ...
def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | None = None,
    neighbors: str = "replace",
    mechanism: str = "dense",
    max_pairs: int | None = None,
    center: float | npt.ArrayLike | None = None,
    scales: str | npt.ArrayLike | None = None,
    cell_bound: float | None = None,
    shares: Mapping[str, float] | None = None,
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
    seed: int | None = None,
) -> Release | PairsRelease:
    """Publish the second moments of a sensitive table. Spends the privacy budget.

    Parameters
    ----------
    X : array, data frame, stream or path, shape (n_rows, n_columns)
        One row for each person; any real, integer or boolean type. numpy, scipy.sparse,
        pandas, polars (also lazy), pyarrow tables and data sets, anything with
        ``__arrow_c_stream__`` such as a DuckDB relation, or the path of a ``.csv``,
        ``.parquet`` or ``.npy`` file or of a folder of Parquet files. Files and streams are
        read in pieces. A CSV file needs a header, and numbers in all columns. A stream that
        can be read only once may have 4 million rows. Not modified, not kept.
    epsilon : float
        Positive. There is no default.
    delta : float
        In (0, 1), well below 1 / n_rows. There is no default.
    row_norm : float
        A public bound on the Euclidean norm of a row, in the data's units. Longer rows
        are clipped to it. Choose it from knowledge: a bound that is read from the data
        breaks the promise. For pairs it is needed only to release variances, and bounds a
        row minus the center, or the difference of two rows divided by √2.
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
    center : float or array, shape (n_columns,), optional
        For pairs: a public center, about which signs are taken. By default there is none,
        and the signs are those of differences of rows, paired at random within blocks of
        some thousand rows. A center that is off makes unrelated columns look related.
    scales : array, shape (n_columns,), or "none", optional
        For pairs: public standard deviations of the columns; or release correlations only.
        By default variances are released if `row_norm` is given.
    cell_bound : float, optional
        For pairs with variances: a public bound on the size of a cell, at most `row_norm`.
    shares : mapping, optional
        For pairs: relative shares of the budget of ``"selection"``, ``"values"`` and
        ``"variances"``. By default 0.5, 0.5 and 0.1.
    columns : sequence of str, optional
        Column names; by default the frame's own, or ``x0, x1, …``.
    missing : {"refuse", "center"}
        What to do with missing and infinite cells: raise, or read them as 0; for pairs, let
        them have no sign, which pulls correlations toward zero.
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

    Notes
    -----
    Formal guarantee: (epsilon, delta)-differential privacy of everything returned, for
    the stated neighboring relation (claims P1 to P12 in docs/privacy.md). The dense
    mechanism does not remove means: center the columns by public values first, or read
    the result as second moments about zero.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
    >>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0)
    >>> print(release.promise)
    (1, 1e-06)-differential privacy, replace-one neighbors
    """
    promise = ApproxDP(epsilon, delta, _central(neighbors))
    rule = check_missing(missing)
    options = PairOptions(max_pairs, center, scales, cell_bound, shares)
    kind = check_mechanism(mechanism, options, row_norm)
    source = open_source(X, columns)
    if kind == "auto":
        if source.n_rows is None:
            raise ParameterError("mechanism='auto' needs the number of rows; X is a stream.")
        kind = choose_mechanism(
            promise,
            n_rows=source.n_rows,
            n_columns=len(source.columns),
            max_pairs=max_pairs,  # type: ignore[arg-type]  # checked above
            differences=center is None,
        )
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    if kind == "pairs":
        return _release_pairs(source, promise, options, row_norm, rule, stream)
    return _release_moments(source, promise, row_norm, rule, stream)


def _release_moments(
    source: RowSource,
    promise: ApproxDP,
    row_norm: float | None,
    missing: str,
    stream: RandomStream,
) -> Release:
    plan = plan_second_moment(
        promise=promise,
        n_rows=_most_rows(source),
        row_norm=row_norm,  # type: ignore[arg-type]  # refused by the grid if it is None
    )
    n_columns = len(source.columns)
    gram = Gram.from_blocks(
        source.blocks(max_block_rows(n_columns, plan.grid)),
        n_columns=n_columns,
        grid=plan.grid,
        missing=missing,
    )
    plan = plan.for_rows(_count_rows(source, promise))
    return release_gram(gram, plan, columns=source.columns, stream=stream)


def _release_pairs(
    source: RowSource,
    promise: ApproxDP,
    options: PairOptions,
    row_norm: float | None,
    missing: str,
    stream: RandomStream,
) -> PairsRelease:
    n_columns = len(source.columns)
    center = public_vector("center", options.center, n_columns)
    public = None if options.scales is None or isinstance(options.scales, str) else options.scales
    deviations = public_vector("scales", public, n_columns, positive=True)
    paid = options.scales is None
    plan = plan_pairs(
        promise=promise,
        n_rows=_most_rows(source),
        n_columns=n_columns,
        max_pairs=options.max_pairs,  # type: ignore[arg-type]  # checked above
        differences=center is None,
        row_norm=row_norm if paid else None,
        cell_bound=options.cell_bound if paid else None,
        shares=options.shares,
    )
    sums = CoMovement.from_blocks(
        source.blocks(block_rows(n_columns)),
        n_columns=n_columns,
        center=center,
        squares=plan.squares,
        missing=missing,
        shuffle=np.random.default_rng(stream.words(4)),
    )
    return release_pairs(
        sums,
        plan.for_rows(_count_rows(source, promise)),
        columns=source.columns,
        stream=stream,
        public_variances=None if deviations is None else deviations**2,
    )


def _central(neighbors: str) -> Neighbors:
    relation = Neighbors.parse(neighbors)
    if relation is Neighbors.LOCAL:
        raise ParameterError(
            "neighbors must be 'replace' or 'add-remove'; got 'local'. A table that one program "
            "can read is not in the local model; see dpcov.local for reports from devices."
        )
    return relation


def _most_rows(source: RowSource) -> int:
    """Return the number of rows, or the most that a stream may turn out to have."""
    return MAX_STREAM_ROWS if source.n_rows is None else source.n_rows


def _count_rows(source: RowSource, promise: ApproxDP) -> int:
    """Return the number of rows of a source that was read, which a stream knows only now."""
    if source.n_rows is None:
        raise AssertionError("unreachable: a source that was read knows its length")
    if promise.delta > 1 / source.n_rows:
        warnings.warn(
            f"delta = {promise.delta:g} is above 1 / n_rows = {1 / source.n_rows:.2g}: to publish "
            "the row of one person in the clear would keep such a promise. Choose it well below.",
            WeakPromiseWarning,
            stacklevel=4,
        )
    return source.n_rows
