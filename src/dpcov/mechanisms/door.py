"""`dpcov.release`: the one road from a table to a Release.

Owns the order of the steps: check what the caller stated, plan from public facts, read
the rows once, add noise once. Nothing is spent when a step before the noise fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from dpcov.errors import ParameterError, WeakPromiseWarning
from dpcov.mechanisms.randomness import RandomStream
from dpcov.mechanisms.second_moment import plan_second_moment, release_gram
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.releases import Release
from dpcov.sensitive.gram import Gram, max_block_rows
from dpcov.sensitive.rows import check_missing
from dpcov.sensitive.sources import open_source

__all__ = ["release"]


def release(
    X: Any,
    *,
    epsilon: float,
    delta: float,
    row_norm: float,
    neighbors: str = "replace",
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
    seed: int | None = None,
) -> Release:
    """Publish the second moments of a sensitive table. Spends the privacy budget.

    Parameters
    ----------
    X : array or data frame, shape (n_rows, n_columns)
        One row for each person. numpy, pandas, polars or pyarrow; any real, integer or
        boolean type. Not modified, not kept.
    epsilon : float
        Positive. There is no default.
    delta : float
        In (0, 1), well below 1 / n_rows. There is no default.
    row_norm : float
        A public bound on the Euclidean norm of a row, in the data's units. Longer rows
        are clipped to it. Choose it from knowledge: a bound that is read from the data
        breaks the promise.
    neighbors : {"replace", "add-remove"}
        Which tables are hard to tell apart: two that differ in one person's row, or two
        of which one has zeros in its place. Both take the number of rows as public.
    columns : sequence of str, optional
        Column names; by default the frame's own, or ``x0, x1, …``.
    missing : {"refuse", "center"}
        What to do with missing and infinite cells: raise, or read them as 0.
    seed : int, optional
        Makes a repeatable *simulation*, which promises nothing. Never for real data.

    Returns
    -------
    Release
        The noisy average (1/n) Σ x xᵀ with its noise scale and its promise.

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
    the stated neighboring relation (claims P1 to P7 in docs/privacy.md). The means are
    not removed: center the columns by public values first, or read the result as second
    moments about zero.

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
    source = open_source(X, columns)
    _warn_of_large_delta(promise, source.n_rows)
    plan = plan_second_moment(promise=promise, n_rows=source.n_rows, row_norm=row_norm)
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    n_columns = len(source.columns)
    gram = Gram.from_blocks(
        source.blocks(max_block_rows(n_columns, plan.grid)),
        n_columns=n_columns,
        grid=plan.grid,
        missing=rule,
    )
    return release_gram(gram, plan, columns=source.columns, stream=stream)


def _central(neighbors: str) -> Neighbors:
    relation = Neighbors.parse(neighbors)
    if relation is Neighbors.LOCAL:
        raise ParameterError(
            "neighbors must be 'replace' or 'add-remove'; got 'local'. A table that one program "
            "can read is not in the local model; see dpcov.local for reports from devices."
        )
    return relation


def _warn_of_large_delta(promise: ApproxDP, n_rows: int) -> None:
    if promise.delta > 1 / n_rows:
        warnings.warn(
            f"delta = {promise.delta:g} is above 1 / n_rows = {1 / n_rows:.2g}: to publish the row "
            "of one person in the clear would keep such a promise. Choose it well below.",
            WeakPromiseWarning,
            stacklevel=3,
        )
