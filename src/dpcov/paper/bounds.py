"""The paper's error bound, up to its constant.

Owns the rate of Theorem 2, Corollary 1 and Theorem 3, to be drawn beside measured errors.
"""

from __future__ import annotations

import math

from dpcov.parameters import check_count, check_number

__all__ = ["error_bound"]


def error_bound(
    *, sparsity: int, n_columns: int, n_rows: float, epsilon: float, delta: float
) -> float:
    """Return s √(log p · log(1/δ) / (n ε²)): Theorem 2 and Corollary 1 without the constant.

    Parameters
    ----------
    sparsity : int
        s, the largest number of non-zero entries off the diagonal in a column.
    n_columns : int
        p, at least 2.
    n_rows : float
        n, positive.
    epsilon, delta : float
        As in the promise.

    Notes
    -----
    The paper bounds the squared error E‖Σ̂ − Σ‖²; this is its root. Theorem 2 states it for
    w = 2, Corollary 1 for every ℓ_w norm, both for Σ̂, before eigenvalues are clipped; for
    Σ⁺ the constant doubles when w = 2. Theorem 3 gives the same rate in the local model.
    Its ℓ_w part is printed with s instead of s², which cannot hold: see docs/paper.md.

    Examples
    --------
    >>> near, far = (
    ...     error_bound(sparsity=5, n_columns=100, n_rows=n, epsilon=1.0, delta=1e-5)
    ...     for n in (1_000, 4_000)
    ... )
    >>> round(near / far, 6)
    2.0
    """
    s = check_count("sparsity", sparsity, low=0)
    p = check_count("p", n_columns, low=2)
    n = check_number("n", n_rows, low=0.0, high=math.inf)
    epsilon = check_number("epsilon", epsilon, low=0.0, high=math.inf)
    delta = check_number("delta", delta, low=0.0, high=1.0)
    return s * math.sqrt(math.log(p) * math.log(1 / delta) / n) / epsilon
