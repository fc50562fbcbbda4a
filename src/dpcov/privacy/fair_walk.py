"""The random walk of fair steps: how far it exceeds a place in the mean, rounded up.

Owns bounds of G(d) = E (D − d)₊, where D is the sum of m fair steps of ±1: its value, and a
line above its logarithm. Up to 2^18 steps they are sums of binomial probabilities, beyond that
they are those of a normal variable.
"""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["walk_excess", "walk_heights", "walk_tangent"]

_EXACT_STEPS = 1 << 18
_EXACT_CHOICES = 1000  # up to here binomial coefficients are integers
_REST = 2.0**-40  # of a sum: what is left out is bounded, and added
_FARTHEST = 30.0  # deviations: beyond, G is taken for what it is here, less than 1e-190
_LOOSE = 2.0  # D exceeds √m Y by so much at most, Y being normal: Tusnády's lemma
_ALLOWED = 2.0**-36  # relative, of the arithmetic here


def walk_excess(steps: int, place: float) -> float:
    """Return an upper bound of E (D − place)₊, for a place of at least 0.

    Examples
    --------
    >>> round(walk_excess(2, 0.5), 9)  # D is 2 with probability 1/4
    0.375
    """
    place = min(place, _FARTHEST * math.sqrt(steps))
    if steps > _EXACT_STEPS:
        value, _ = _normal_excess(steps, place)
        return value
    first = math.floor((steps + place) / 2) + 1
    if first > steps:
        return 0.0
    value, _ = _sums(steps, first, place)
    return value * (1 + _ALLOWED)


@lru_cache(maxsize=1024)
def walk_heights(steps: int) -> tuple[float, ...]:
    """Return E (D − d)₊ for d = −m, 2 − m, …, m; between them it is linear. For few steps.

    Examples
    --------
    >>> [round(height, 9) for height in walk_heights(2)]
    [2.0, 0.5, 0.0]
    """
    heights, tail = [0.0], 0.0
    for heads in range(steps, 0, -1):
        tail += _half_binomial(steps, heads)
        heights.append(heights[-1] + 2 * tail)
    return tuple(height * (1 + _ALLOWED) for height in reversed(heights))


def walk_tangent(steps: int, place: float) -> tuple[float, float, float]:
    """Return a value, a slope and a place of a line above log E (D − d)₊.

    log E (D − d)₊ ≤ value − slope (d − place) for all real d. The line touches near `place`.

    Notes
    -----
    Second sums of a log-concave sequence are log-concave, so a geometric sequence with a
    ratio between those of neighbors is above G on the lattice of D. Between its points G is linear,
    and a chord of e^(−ay), 0 ≤ y ≤ 1, is at most e^(a²/8) times as high (Hoeffding 1963).
    """
    place = min(place, _FARTHEST * math.sqrt(steps))
    if steps > _EXACT_STEPS:
        value, tail = _normal_excess(steps, place)
        return math.log(value), tail / value, place
    at = min(math.floor((steps + place) / 2), steps - 2)
    after, tail = _sums(steps, at + 2, 2.0 * (at + 1) - steps)
    tail += _half_binomial(steps, at + 1)
    value = after + 2 * tail
    before = value + 2 * (tail + _half_binomial(steps, at))
    steepness = 0.5 * math.log(before / after)
    log_value = math.log(value) + steepness**2 / 8 + _ALLOWED
    return log_value, steepness / 2, 2.0 * at - steps


def _sums(steps: int, first: int, place: float) -> tuple[float, float]:
    """Return Σ b(j) (2j − m − place) and Σ b(j) over j from `first`, b binomial for m fair coins.

    Ratios of neighboring terms fall, so that what is left is less than a geometric series.
    """
    first = max(0, first)
    mass = _half_binomial(steps, first)
    excess = tail = 0.0
    for j in range(first, steps + 1):
        over = 2 * j - steps - place
        term = mass * over
        excess += term
        tail += mass
        mass *= (steps - j) / (j + 1)
        growth = mass * (over + 2)
        # By quotients: products of two terms are too small for floats beyond 26 deviations.
        if growth < term and growth <= _REST * excess * (1 - growth / term):
            return excess + growth / (1 - growth / term), tail
    return excess, tail


def _half_binomial(steps: int, successes: int) -> float:
    """Bound the probability of so many heads among fair coins from above.

    Beyond exact integers by Robbins (1955): log m! − (m log m − m + log √(2πm)) is between
    1/(12m + 1) and 1/(12m).
    """
    if not 0 <= successes <= steps:
        return 0.0
    if steps <= _EXACT_CHOICES:
        return math.comb(steps, successes) / (1 << steps)
    failures = steps - successes
    if failures == 0 or successes == 0:
        return 2.0**-steps
    lean = (successes - failures) / steps
    exponent = successes * math.log1p(lean) + failures * math.log1p(-lean)
    correction = 1 / (12 * steps) - 1 / (12 * successes + 1) - 1 / (12 * failures + 1)
    spread = math.sqrt(steps / (2 * math.pi * successes * failures))
    return spread * math.exp(correction - exponent)


def _normal_excess(steps: int, place: float) -> tuple[float, float]:
    """Return E (√m Y + 2 − place)₊, rounded up, and its slope: the probability of being positive.

    Bretagnolle and Massart (1989), Massart (2002): heads and a normal Y can be coupled so that
    |heads − m/2| ≤ 1 + √m |Y|/2, with the same sign. For a place of at least 0.
    """
    root = math.sqrt(steps)
    t = (place - _LOOSE) / root
    tail = 0.5 * math.erfc(t / math.sqrt(2))
    density = math.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
    # Far out the two terms nearly cancel: about 1/t² of each is left.
    return root * (density - t * tail) * (1 + _ALLOWED * (1 + t * t)), tail
