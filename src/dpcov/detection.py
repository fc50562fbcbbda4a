"""What a release can show: the smallest correlation that will stand out.

Owns the power of both mechanisms as a function of public facts. To stand out means to pass
a test of all pairs with a chance of 5 % of any false edge (Bonferroni). Columns have equal
variances and are about Gaussian; the sought pair is alone. Pure arithmetic: no data.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcov.bisection import bracket
from dpcov.multiplicity import bonferroni_cutoff, count_pairs

__all__ = ["dense_detectable", "pairs_detectable"]

_NODES = 401

Array = npt.NDArray[np.float64]


def dense_detectable(
    *, n_columns: int, n_rows: float, noise_scale: float, power: float = 0.5
) -> float:
    """Return the correlation that a release of all second moments shows with some power.

    Examples
    --------
    >>> round(dense_detectable(n_columns=100, n_rows=10_000, noise_scale=0.01), 3)
    0.062
    """
    from scipy.special import ndtri

    sd = math.sqrt(1 / n_rows + noise_scale**2)
    return (bonferroni_cutoff(n_columns) + float(ndtri(power))) * sd


@np.errstate(all="ignore")  # chances that vanish are zero, whatever a caller does about underflow
def pairs_detectable(
    *,
    n_columns: int,
    n_terms: int,
    max_pairs: int,
    selection_scale: float,
    noise_scale: float,
    power: float = 0.5,
) -> float:
    """Return the correlation that a release of pairs selects and shows with some power.

    Examples
    --------
    >>> facts = {"n_columns": 1000, "n_terms": 10_000, "max_pairs": 200}
    >>> round(pairs_detectable(**facts, selection_scale=162.0, noise_scale=0.0162), 2)
    0.2
    """
    bar = _selection_bar(n_columns, n_terms, max_pairs, selection_scale)
    cutoff = bonferroni_cutoff(n_columns) * math.sqrt(1 / n_terms + noise_scale**2)

    def chance(correlation: float) -> float:
        mean = 2 / math.pi * math.asin(correlation)
        spread = math.sqrt(max(0.0, 1 - mean**2) / n_terms)
        values, weights = _normal_nodes()
        co_movement = np.abs(mean + spread * values)
        selected = _exceeds(n_terms * co_movement, bar, selection_scale)
        shown = _normal_cdf((co_movement - cutoff) / noise_scale)
        return float(weights @ (selected * shown))

    if chance(1.0) < power:
        return math.inf
    return bracket(lambda correlation: chance(correlation) >= power, 0.0, 1.0, width=1e-12)[1]


def _selection_bar(n_columns: int, n_terms: int, max_pairs: int, scale: float) -> float:
    """Return the noisy score that `max_pairs` of the unrelated pairs exceed."""
    n_pairs = count_pairs(n_columns)
    if scale == 0 or max_pairs >= n_pairs:
        return -math.inf
    values, weights = _normal_nodes()
    scores = math.sqrt(n_terms) * np.abs(values)

    def few_exceed(bar: float) -> bool:
        return float(weights @ _exceeds(scores, bar, scale)) * n_pairs <= max_pairs

    return bracket(few_exceed, -100 * scale, 10 * math.sqrt(n_terms) + 100 * scale)[1]


def _exceeds(scores: Array, bar: float, scale: float) -> Array:
    """Return the chance that a score with Gumbel noise is above the bar."""
    if math.isinf(bar):
        return np.ones_like(scores)
    exponent = np.clip((scores - bar) / scale, -700, 700)
    result: Array = -np.expm1(-np.exp(exponent))
    return result


def _normal_nodes() -> tuple[Array, Array]:
    values = np.linspace(-8, 8, _NODES)
    weights = np.exp(-(values**2) / 2)
    return values, weights / weights.sum()


def _normal_cdf(values: Array) -> Array:
    from scipy.special import ndtr

    result: Array = ndtr(values)
    return result
