"""Selections and Gaussian noise, in any order: one promise.

Owns the exact account of both together. A selection is a step whose privacy loss lies in an
interval of known length η, as that of the exponential mechanism does; where the interval
lies may depend on the tables and on what was released before. With E = e^η the largest
hockey-stick divergence of such steps is H(x) = (√E − √x)² / (E − 1) at x = e^ε, which is that
of a pair of distributions with the loss density √E e^(l/2) / (2 (E − 1)) on [−η, η]. That
pair and a Gaussian one bound every adaptive sequence of selections and Gaussians.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from dpcov.bisection import smallest_safe
from dpcov.parameters import check_count, check_number
from dpcov.privacy.gaussian import gaussian_delta, gaussian_scale

__all__ = ["LARGEST_RANGE", "adaptive_delta", "adaptive_scale"]

_CELLS = 64
_UP = 1 + 2.0**-44  # a hundred correctly rounded operations
_SLIP = 2.0**-48
_LARGEST_EPSILON = 1e6
LARGEST_RANGE = 50.0
"""A selection whose loss ranges further promises nothing worth computing."""


def adaptive_delta(
    *, epsilon: float, multiplier: float, selections: int, selection_range: float
) -> float:
    """Return the delta that Gaussian noise and some selections pay for together.

    Parameters
    ----------
    epsilon : float
        Non-negative.
    multiplier : float
        Noise sd over ℓ₂ sensitivity of all Gaussian steps together: Σ 1/σ_i² = 1/σ².
    selections : int
        How many steps have a bounded range.
    selection_range : float
        The range η of the privacy loss of each.

    Notes
    -----
    Claim P13. The loss of a selection is spread from the inside of 64 cells to their ends,
    which keeps both distributions and raises every divergence; then the sum over losses of
    P(loss) δ(ε − loss, σ) is the divergence of the product. All roundings go up.

    References
    ----------
    Dong, Durfee and Rogers (2020), Optimal differential privacy composition for exponential
    mechanisms. Zhu, Dong and Wang (2022), Optimal accounting of differential privacy via
    characteristic function (dominating pairs).

    Examples
    --------
    >>> delta = adaptive_delta(
    ...     epsilon=1.0, multiplier=3.8, selections=1, selection_range=0.1
    ... )
    >>> f"{delta:.2e}"
    '1.07e-05'
    """
    epsilon = check_number("epsilon", epsilon, low=0.0, high=1e6, open_low=False, open_high=False)
    losses = _selection_losses(selections, selection_range)
    total = math.fsum(
        probability * _signed_delta(epsilon - loss, multiplier) for loss, probability in losses
    )
    return min(1.0, total * _UP)


def adaptive_scale(
    *, epsilon: float, delta: float, selections: int, selection_range: float
) -> float:
    """Return the smallest noise multiplier that keeps (epsilon, delta) beside selections.

    Notes
    -----
    Claim P13. The upper end of a bracket at which `adaptive_delta` was at most `delta`.

    Examples
    --------
    >>> alone = adaptive_scale(epsilon=1.0, delta=1e-5, selections=0, selection_range=0.1)
    >>> beside = adaptive_scale(epsilon=1.0, delta=1e-5, selections=1, selection_range=0.1)
    >>> round(alone, 3), round(beside, 3)
    (3.731, 3.815)
    """
    if selections == 0:
        return gaussian_scale(epsilon=epsilon, delta=delta)
    epsilon = check_number("epsilon", epsilon, low=0.0, high=1e6, open_high=False)
    delta = check_number("delta", delta, low=1e-300, high=1.0, open_low=False)
    return _smallest_multiplier(epsilon, delta, selections, selection_range)


@lru_cache(maxsize=128)
def _smallest_multiplier(
    epsilon: float, delta: float, selections: int, selection_range: float
) -> float:
    def is_safe(multiplier: float) -> bool:
        return (
            adaptive_delta(
                epsilon=epsilon,
                multiplier=multiplier,
                selections=selections,
                selection_range=selection_range,
            )
            <= delta
        )

    return smallest_safe(
        is_safe,
        start=1.0,
        otherwise="The selections alone cost more than this promise; give them a smaller share.",
    )


def _selection_losses(selections: int, selection_range: float) -> list[tuple[float, float]]:
    """Return losses and probabilities of the pair that bounds all selections together."""
    count = check_count("selections", selections, low=0, high=8)
    if count == 0:
        return [(0.0, 1.0)]
    width = check_number(
        "selection_range", selection_range, low=0.0, high=LARGEST_RANGE * (1 + 1e-9)
    )
    one = _spread_to_ends(width)
    total = [1.0]
    for _ in range(count):
        total = _convolve(total, one)
    step = 2 * width / _CELLS
    reach = count * width * (1 - _SLIP)  # losses are rounded up
    return [(place * step - reach, mass) for place, mass in enumerate(total)]


def _spread_to_ends(width: float) -> list[float]:
    """Move the mass of each cell to its ends so that both distributions keep their mass.

    With Q the mass of the second distribution in a cell and P that of the first, masses q, Q − q
    at the ends a < b have e^a q + e^b (Q − q) = P; the first distribution has e^a q, e^b (Q − q).
    """
    masses = [0.0] * (_CELLS + 1)
    ends = [(2 * cell / _CELLS - 1) * width for cell in range(_CELLS + 1)]
    # √E/(E − 1) = 1/(2 sinh(η/2)); the densities integrate to multiples of e^(±l/2).
    factor = 0.5 / math.sinh(width / 2)
    for cell, (low, high) in enumerate(pairwise(ends)):
        first = factor * math.exp(low / 2) * math.expm1((high - low) / 2)
        second = -factor * math.exp(-low / 2) * math.expm1(-(high - low) / 2)
        # The difference cancels: what rounding may hide of it goes to the end that costs more.
        at_low = (math.exp(high) * second - first - _SLIP * first) / math.expm1(high - low)
        at_low = max(0.0, at_low)
        masses[cell] += at_low
        masses[cell + 1] += first - at_low
    return masses


def _convolve(first: list[float], second: list[float]) -> list[float]:
    result = [0.0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            result[i + j] += a * b
    return result


def _signed_delta(epsilon: float, multiplier: float) -> float:
    """Return the Gaussian's delta for any real epsilon: δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)."""
    if epsilon >= 0:
        # Beyond the largest epsilon, its delta is an upper bound.
        return gaussian_delta(epsilon=min(epsilon, _LARGEST_EPSILON), scale=multiplier)
    mirrored = gaussian_delta(epsilon=-epsilon, scale=multiplier)
    return -math.expm1(epsilon) + math.exp(epsilon) * mirrored
