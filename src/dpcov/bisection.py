"""Bisection: where a condition begins to hold.

Owns the search. It returns both ends of a bracket, so that the caller can take the one that
errs on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcov.errors import ParameterError

__all__ = ["bracket", "smallest_count", "smallest_safe"]


def bracket(
    holds: Callable[[float], bool], low: float, high: float, *, width: float = 0.0
) -> tuple[float, float]:
    """Return ends of which the upper one was seen to hold and the lower one was not.

    Examples
    --------
    >>> low, high = bracket(lambda x: x * x >= 2, 1.0, 2.0)
    >>> low * low < 2 <= high * high, math.nextafter(low, 2) == high
    (True, True)
    """
    while high - low > width:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def smallest_safe(is_safe: Callable[[float], bool], *, start: float, otherwise: str) -> float:
    """Return the safe end of a bracket one rounding error wide, or refuse with `otherwise`.

    Examples
    --------
    >>> smallest_safe(lambda x: x >= 1000.0, start=1.0, otherwise="none")
    1000.0
    """
    high = start
    while not is_safe(high):
        high *= 2
        if math.isinf(high):
            raise ParameterError(otherwise)
    low = high / 2
    while is_safe(low):
        high, low = low, low / 2
    return bracket(is_safe, low, high)[1]


def smallest_count(
    is_enough: Callable[[int], bool], *, start: int, most: int, otherwise: str
) -> int:
    """Return the smallest whole number from `start` on that is enough, or refuse.

    Examples
    --------
    >>> smallest_count(lambda n: n * n >= 50, start=1, most=1000, otherwise="none")
    8
    """
    low, high = start - 1, start
    while not is_enough(high):
        low, high = high, 2 * high
        if high > most:
            raise ParameterError(otherwise)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
