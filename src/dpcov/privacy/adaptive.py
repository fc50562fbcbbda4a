"""Selections, pure promises and Gaussian noise, in any order: one promise.

Owns the exact account of them together. A selection is a step whose privacy loss lies in an
interval of known length η, as that of the exponential mechanism does; where the interval
lies may depend on the tables and on what was released before. With E = e^η the largest
hockey-stick divergence of such steps is H(x) = (√E − √x)² / (E − 1) at x = e^ε, which is that
of a pair of distributions with the loss density √E e^(l/2) / (2 (E − 1)) on [−η, η]. A pure
promise has the pair with the losses ±ε alone. These pairs and a Gaussian one bound every
adaptive sequence of such steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

from dpcov.parameters import check_count, check_number
from dpcov.privacy.gaussian import gaussian_delta

__all__ = ["LARGEST_RANGE", "MOST_ROUNDS", "adaptive_delta"]

_BINS = 64
# Five hundred correctly rounded operations: those of four rounds. More rounds, more of it.
_UP = 2.0**-44
_ROUNDS_OF_UP = 4
# Of the mass of a bin: 125 roundings at most, where exp and expm1 err by four each.
_SLIP = 2.0**-46
_LARGEST_EPSILON = 1e6
# Bins are no narrower: below the smallest ordinary floats, roundings are no longer relative.
_NARROWEST = 1e-300
LARGEST_RANGE = 50.0
"""A selection whose loss ranges further promises nothing worth computing."""
MOST_ROUNDS = 32
"""So many selections and pure promises are accounted for exactly; more would take long."""


Piece = tuple[float, float]
Pieces = Callable[[float, float], Piece]


def adaptive_delta(
    *,
    epsilon: float,
    multiplier: float,
    ranges: Sequence[float] = (),
    pure: Sequence[float] = (),
) -> float:
    """Return the delta that Gaussian noise, selections and pure promises pay for together.

    Notes
    -----
    Claim P13. Losses are spread from the inside of 64 bins to their ends, which keeps both
    distributions and raises every divergence; the bins are the same for all rounds, and the
    widest round fills them. Then the sum over losses of P(loss) δ(ε − loss, σ) is the
    divergence of the product. All roundings go up.

    References
    ----------
    Dong, Durfee and Rogers (2020), Optimal differential privacy composition for exponential
    mechanisms. Zhu, Dong and Wang (2022), Optimal accounting of differential privacy via
    characteristic function (dominating pairs).

    Examples
    --------
    >>> f"{adaptive_delta(epsilon=1.0, multiplier=3.8, ranges=[0.1]):.2e}"
    '1.07e-05'
    """
    epsilon = check_number("epsilon", epsilon, low=0.0, high=1e6, open_low=False, open_high=False)
    rounds = check_count("rounds", len(ranges) + len(pure), low=0, high=MOST_ROUNDS)
    if rounds == 0:
        return _signed_delta(epsilon, multiplier)  # which is rounded up
    losses = _losses(tuple(ranges), tuple(pure))
    total = math.fsum(
        probability * _signed_delta(math.nextafter(epsilon - loss, -math.inf), multiplier)
        for loss, probability in losses
    )
    return min(1.0, total * (1 + _UP * math.ceil(rounds / _ROUNDS_OF_UP)))


@lru_cache(maxsize=128)
def _losses(ranges: tuple[float, ...], pure: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return losses and probabilities of the pair that bounds all rounds together."""
    most = LARGEST_RANGE * (1 + 1e-9)
    sizes = [check_number("selection_range", size, low=0.0, high=most) for size in ranges]
    sizes += [check_number("pure epsilon", size, low=0.0, high=most) for size in pure]
    width = max(*sizes, _NARROWEST)
    total = [1.0]
    for size in ranges:
        total = _convolve(total, _spread_to_ends(width, _selection_pieces(size)))
    for size in pure:
        total = _convolve(total, _spread_to_ends(width, _pure_pieces(size, width)))
    step = 2 * width / _BINS
    reach = len(sizes) * width * (1 - _SLIP)  # losses are rounded up
    return [(place * step - reach, mass) for place, mass in enumerate(total)]


def _selection_pieces(size: float) -> Pieces:
    """Return the masses of both distributions of a selection's pair between two losses."""
    # √E/(E − 1) = 1/(2 sinh(η/2)); the densities integrate to multiples of e^(±l/2).
    factor = 0.5 / math.sinh(size / 2)

    def between(low: float, high: float) -> Piece:
        low, high = max(low, -size), min(high, size)
        if low >= high:
            return 0.0, 0.0
        first = factor * math.exp(low / 2) * math.expm1((high - low) / 2)
        second = -factor * math.exp(-low / 2) * math.expm1(-(high - low) / 2)
        return first, second

    return between


def _pure_pieces(size: float, width: float) -> Pieces:
    """Return the masses of both distributions of the losses ±ε between two losses."""

    def between(low: float, high: float) -> Piece:
        first = second = 0.0
        for loss in (-size, size):
            # Each loss belongs to one bin: to that below it, but for the lowest end.
            if low < loss <= high or loss == low == -width:
                mass = 1 / (1 + math.exp(-loss))
                first, second = first + mass, second + mass * math.exp(-loss)
        return first, second

    return between


def _spread_to_ends(width: float, between: Pieces) -> list[float]:
    """Move the mass of each bin to its ends so that both distributions keep their mass.

    With Q the mass of the second distribution in a bin and P that of the first, masses q, Q − q
    at the ends a < b have e^a q + e^b (Q − q) = P; the first distribution has e^a q, e^b (Q − q).
    """
    masses = [0.0] * (_BINS + 1)
    ends = [(2 * place / _BINS - 1) * width for place in range(_BINS + 1)]
    for place, (low, high) in enumerate(pairwise(ends)):
        first, second = between(low, high)
        # The difference cancels: what rounding may hide of it goes to the end that costs more.
        at_low = (math.exp(high) * second - first - _SLIP * first) / math.expm1(high - low)
        at_low = max(0.0, at_low)
        masses[place] += at_low
        masses[place + 1] += first - at_low
    return masses


def _convolve(first: list[float], second: list[float]) -> list[float]:
    result = [0.0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            result[i + j] += a * b
    return result


def _signed_delta(epsilon: float, multiplier: float) -> float:
    """Return the Gaussian's delta for any real epsilon: δ(−ε) = 1 − e^(−ε) + e^(−ε) δ(ε)."""
    if math.isinf(multiplier):
        return abs(math.expm1(min(epsilon, 0.0)))
    if epsilon >= 0:
        # Beyond the largest epsilon, its delta is an upper bound.
        return gaussian_delta(epsilon=min(epsilon, _LARGEST_EPSILON), scale=multiplier)
    mirrored = gaussian_delta(epsilon=-epsilon, scale=multiplier)
    return -math.expm1(epsilon) + math.exp(epsilon) * mirrored
