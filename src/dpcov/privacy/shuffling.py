"""Shuffled reports: how little one of many tells, rounded toward privacy.

Owns the bound for n reports of an ε₀-private randomizer of which nobody knows whose is whose.
Every number that it returns is on the safe side: a delta or an epsilon is never too small.
Draws nothing and sees no data.

With p = e^ε₀, β the largest total variation distance of the reports of two rows, and
α = β/(p − 1), shuffled reports tell no more of one row than this: n people fall into four
classes by chance, and n δ(ε) is the mean of the positive part of a sum of

    p − e^ε         with probability α,
    1 − p e^ε       with probability α,
    −p (e^ε − 1)    with probability (1 − (p + 1) α)/p,
    0               otherwise, for each of them.

Let m people be in the first two classes and k in the third. Given m, the difference D of the
first two is a random walk of m fair steps, and k is binomial. The sum is c (D − d) with

    c = (p − 1)(e^ε + 1)/2,   c d = (e^ε − 1) ((p + 1) m/2 + p k).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from dpcov.bisection import bracket
from dpcov.parameters import check_count, check_number
from dpcov.privacy.fair_walk import walk_excess, walk_heights, walk_tangent

__all__ = ["shuffled_delta", "shuffled_epsilon"]

LEAST_EPSILON = 1e-6
"""No smaller epsilon is looked for."""
MOST_PEOPLE = 10**10
"""More people are counted as so many: with more, reports tell less."""
_LARGEST_EPSILON = 50.0
_TINY_DELTA = 1e-300

_UP = 2.0**-30  # for all roundings together: no recursion has more than some 10^6 steps
_ROUNDING = 2.0**-50
_TAIL = 2.0**-140  # the probability of numbers m that are not looked at
_BINS_PER_DEVIATION = 16  # numbers m within a bin are taken for its ends
_FEW = 512  # of so many steps and people, numbers k are looked at one by one
_HUGE = 700.0  # e^700 is a float
_RELATIVE_WIDTH = 2.0**-14  # of the bracket around epsilon


def shuffled_delta(
    *, epsilon: float, local_epsilon: float, n_people: int, variation: float | None = None
) -> float:
    """Return the delta that shuffled reports pay for at a given epsilon.

    Parameters
    ----------
    epsilon : float
        Non-negative.
    local_epsilon : float
        What one report alone promises, for any two rows: ε₀, in (0, 50].
    n_people : int
        How many people report as they should, and keep their reports to themselves.
    variation : float, optional
        The largest total variation distance of the reports of two rows. By default the most
        that ε₀ allows, tanh(ε₀/2): then the bound holds for every randomizer.

    Returns
    -------
    float
        Rounded up; 0 from ε₀ on.

    Notes
    -----
    Claim P50. Compares tables that differ in one person's row, whatever the rows of the others
    are.

    References
    ----------
    Balle, Bell, Gascón and Nissim (2019), The privacy blanket of the shuffle model. Feldman,
    McMillan and Talwar (2021), Hiding among the clones. Su, Cheng and Wang (2025),
    Decomposition-based optimal bounds for privacy amplification via shuffling.

    Examples
    --------
    >>> f"{shuffled_delta(epsilon=0.15, local_epsilon=1.0, n_people=1000):.1e}"
    '8.7e-07'
    """
    epsilon = check_number("epsilon", epsilon, low=0.0, high=math.inf, open_low=False)
    local, n_people, chance = _checked(local_epsilon, n_people, variation)
    if epsilon >= local_epsilon:
        return 0.0
    return min(1.0, _delta(epsilon, local, n_people, chance))


def shuffled_epsilon(
    *, delta: float, local_epsilon: float, n_people: int, variation: float | None = None
) -> float:
    """Return the epsilon that shuffled reports pay for at a given delta.

    Parameters
    ----------
    delta : float
        In [1e-300, 1).
    local_epsilon, n_people, variation
        See `shuffled_delta`.

    Returns
    -------
    float
        Rounded up; none below 1e-6 is looked for, and it is never more than `local_epsilon`.

    Notes
    -----
    Claim P50. The answer is an end of a bracket at which the bound was seen to be at most
    `delta`, and within 2^-14 of the other one.

    Examples
    --------
    >>> round(shuffled_epsilon(delta=1e-6, local_epsilon=1.0, n_people=10_000), 4)
    0.0432
    """
    delta = check_number("delta", delta, low=_TINY_DELTA, high=1.0, open_low=False)
    local, n_people, chance = _checked(local_epsilon, n_people, variation)

    def is_safe(epsilon: float) -> bool:
        return _delta(epsilon, local, n_people, chance) <= delta

    high = local  # which is safe: there delta is 0
    while high > LEAST_EPSILON:
        low = max(high / 2, LEAST_EPSILON)
        if not is_safe(low):
            _, high = bracket(is_safe, low, high, width=_RELATIVE_WIDTH * low)
            break
        high = low
    return min(high, float(local_epsilon))


def _checked(
    local_epsilon: object, n_people: object, variation: object
) -> tuple[float, int, float]:
    """Return ε₀, the number of people, and α rounded up: a larger one has a larger delta."""
    local = check_number(
        "local_epsilon", local_epsilon, low=0.0, high=_LARGEST_EPSILON, open_high=False
    )
    local = max(local, LEAST_EPSILON)  # a larger one is true as well
    people = min(check_count("n_people", n_people, low=1), MOST_PEOPLE)
    distance = math.tanh(local / 2)
    if variation is not None:
        stated = check_number("variation", variation, low=0.0, high=1.0, open_high=False)
        distance = min(distance, stated)
    chance = distance / math.expm1(local) * (1 + _UP)
    return local, people, min(chance, 1 / (math.exp(local) + 1))


def _delta(epsilon: float, local_epsilon: float, n_people: int, chance: float) -> float:
    """Bound δ(ε) from above, for α = `chance`."""
    ratio, rise = math.exp(local_epsilon), math.expm1(epsilon)
    factor = 0.5 * math.expm1(local_epsilon) * (rise + 2)
    # Of those who are not in the first two classes, the share that is in the third.
    third = max(0.0, 1 - (ratio + 1) * chance - _ROUNDING) / ratio / (1 - 2 * chance)
    step = rise * ratio / factor  # of d, for each of them
    total = 0.0
    for least, most, mass in _bins(n_people, 2 * chance):
        start = 0.5 * rise * (ratio + 1) * least / factor
        total += mass * _mean_excess(most, start, step, n_people - most, third)
    # No likelihood is more than p times that of people who are all like everybody else.
    return (total * factor / n_people + 2 * ratio * _TAIL) * (1 + _UP)


def _mean_excess(steps: int, start: float, step: float, n_others: int, share: float) -> float:
    """Bound E (D − d)₊, d = start + step · Bin(n_others, share), D a walk of that many steps."""
    if start >= steps:
        return 0.0
    if share == 0.0 or step == 0.0:
        return walk_excess(steps, start)
    reaching = min(n_others, (steps - start) / step)  # with more of them, D is never beyond d
    if max(reaching, steps) <= _FEW and n_others * math.log1p(-share) > -_HUGE:
        return _sum_over_others(steps, start, step, n_others, share)
    # The best place to touch: the mean of d, given that D reaches it.
    middle = start + step * n_others * share
    reach = middle / math.sqrt(steps)
    tilt = math.exp(-step * (reach + 2 / (reach + 1)) / math.sqrt(steps))
    middle = start + step * n_others * share * tilt / (1 - share + share * tilt)
    log_value, slope, place = walk_tangent(steps, middle)
    others = n_others * math.log1p(share * math.expm1(-slope * step))
    return math.exp(min(log_value - slope * (start - place) + others, _HUGE))


def _sum_over_others(steps: int, start: float, step: float, n_others: int, share: float) -> float:
    heights = walk_heights(steps)
    mass, odds, total = math.exp(n_others * math.log1p(-share)), share / (1 - share), 0.0
    for k in range(n_others + 1):
        at = 0.5 * (steps + start + step * k)
        low = math.floor(at)
        if low >= steps:
            break
        total += mass * (heights[low] + (at - low) * (heights[low + 1] - heights[low]))
        mass *= (n_others - k) / (k + 1) * odds
    return total


@lru_cache(maxsize=16)
def _bins(n_people: int, chance: float) -> list[tuple[int, int, float]]:
    """Return ends of bins of a binomial number, and masses that are not too small.

    Weights are relative to that of the mode. Their sum within the window is less than all of
    them, so that dividing by it makes masses larger than they are; what is beyond the window
    has less than `_TAIL` on each side, since ratios of neighboring weights fall.
    """
    mode = min(n_people, math.floor((n_people + 1) * chance))
    odds = chance / (1 - chance)
    upward = _weights(lambda m: (n_people - m) * odds / (m + 1), n_people - mode, mode, +1)
    downward = _weights(lambda m: m / ((n_people - m + 1) * odds), mode, mode, -1)
    weights = [*reversed(downward), 1.0, *upward]
    lowest, total = mode - len(downward), math.fsum(weights)
    deviation = math.sqrt(n_people * chance * (1 - chance))
    width = max(1, math.floor(deviation / _BINS_PER_DEVIATION))
    result = []
    for start in range(0, len(weights), width):
        part = weights[start : start + width]
        least = lowest + start
        result.append((least, least + len(part) - 1, math.fsum(part) / total))
    return result


def _weights(ratio: Callable[[int], float], most: int, place: int, direction: int) -> list[float]:
    """Return weights beyond the mode, until what is left is less than `_TAIL` of the mode's."""
    weights: list[float] = []
    weight = 1.0
    for _ in range(most):
        factor = ratio(place)
        if factor < 1 and weight * factor <= _TAIL * (1 - factor):
            break
        weight *= factor
        weights.append(weight)
        place += direction
    return weights
