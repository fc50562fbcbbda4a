"""Many tests at once: what stands out among all pairs of columns.

Owns both corrections, Bonferroni's and Benjamini and Hochberg's, for entries measured in
their own standard deviations, and the count of the tests. Pure arithmetic: no data.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "FAMILY_ERROR",
    "bonferroni_cutoff",
    "count_pairs",
    "q_values",
    "q_values_of_two",
    "two_sided_cutoff",
]

FAMILY_ERROR = 0.05
"""The chance of any false pair, where one is said to stand out."""

Array = npt.NDArray[np.float64]


def count_pairs(n_columns: int) -> int:
    """Return how many pairs of columns there are.

    Examples
    --------
    >>> count_pairs(5)
    10
    """
    return n_columns * (n_columns - 1) // 2


def two_sided_cutoff(error: float) -> float:
    """Return how many sd a normal entry exceeds, in size, with a given chance.

    Examples
    --------
    >>> round(two_sided_cutoff(0.05), 2)
    1.96
    """
    from scipy.special import ndtri

    return -float(ndtri(error / 2))


def bonferroni_cutoff(n_columns: int, *, error: float = FAMILY_ERROR) -> float:
    """Return how many sd a pair must stand out so that any false one has a given chance.

    Examples
    --------
    >>> round(bonferroni_cutoff(100), 2)
    4.41
    """
    return two_sided_cutoff(error / max(1, count_pairs(n_columns)))


def q_values(sizes: Array, *, n_tests: int) -> Array:
    """Return the smallest false discovery rate at which each entry is on the list.

    Notes
    -----
    Benjamini and Hochberg (1995), with two-sided normal p-values.

    Examples
    --------
    >>> q_values(np.array([5.0, 0.5, 3.0]), n_tests=100).round(4).tolist()
    [0.0001, 1.0, 0.135]
    """
    from scipy.special import ndtr

    # By size and not by p-value, which is 0 beyond 38 sd.
    order = np.argsort(-sizes, kind="stable")
    ranked = 2.0 * ndtr(-sizes[order]) * n_tests / np.arange(1, len(order) + 1)
    result: Array = np.empty_like(ranked)
    result[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return result


def q_values_of_two(
    sizes: Array, is_second: npt.NDArray[np.bool_], *, n_first: int, n_second: int
) -> Array:
    """Return the q-values of entries that are on two lists, each with a rate of its own.

    `n_first` and `n_second` are how many were tested for each.

    Examples
    --------
    >>> sizes, second = np.array([3.0, 3.0]), np.array([False, True])
    >>> q_values_of_two(sizes, second, n_first=1, n_second=100).round(4).tolist()
    [0.0027, 0.27]
    """
    result = np.empty_like(sizes)
    for chosen, n_tests in ((~is_second, n_first), (is_second, n_second)):
        result[chosen] = q_values(sizes[chosen], n_tests=n_tests)
    return result
