"""How numbers are written for readers: to the digits that mean something.

Owns these texts. The page, ``card.md``, the sentences of the card and the terminal use them, so
that a number looks the same wherever it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = [
    "correlation_text",
    "in_digits_of",
    "interval_text",
    "limits_text",
    "name_some",
    "percent",
    "probability_text",
    "quoted",
    "with_error",
    "with_share_error",
]

_MOST_DIGITS = 6
_LONGEST_NAME = 60
_LARGEST = 1e9  # that is written out
_SEPARATED = 1e4  # numbers from here on have their thousands separated
_SMALLEST_PROBABILITY = 0.0001  # tables have the digits


def in_digits_of(step: float, number: float) -> str:
    """Write a number to two digits of a step.

    Examples
    --------
    >>> in_digits_of(0.1, 3.14159), in_digits_of(400, 12345.6), in_digits_of(1e-9, 3.14159)
    ('3.14', '12,350', '3.142')
    """
    decimals = 1 - math.floor(math.log10(step)) if step > 0 else _MOST_DIGITS + 1
    if decimals > _MOST_DIGITS or abs(number) >= _LARGEST:
        return f"{number:.4g}"
    rounded = round(number, decimals) + 0.0  # not -0
    return f"{rounded:{_separator(rounded)}.{max(decimals, 0)}f}"


def _separator(number: float) -> str:
    """Return what stands between thousands: nothing in four digits, which may be a year."""
    return "," if abs(number) >= _SEPARATED else ""


def limits_text(lower: float, upper: float) -> str:
    """Write the limits of a column: whole ones as they are, others to what can be seen of them.

    Examples
    --------
    >>> limits_text(0.0, 10.0), limits_text(9.7912, 90.5567)
    ('0 to 10', '9.79 to 90.56')
    """
    ends = (lower, upper)
    if all(end == round(end) and abs(end) < _LARGEST for end in ends):
        return " to ".join(f"{end + 0.0:{_separator(end)}.0f}" for end in ends)
    return " to ".join(in_digits_of((upper - lower) / 100, end) for end in ends)


def with_error(number: float, error: float) -> str:
    """Write a number and its standard error, both to two digits of that.

    Examples
    --------
    >>> with_error(41.2345, 0.123), with_error(-1234.5, 87.0)
    ('41.23 ± 0.12', '-1234 ± 87')
    """
    return f"{in_digits_of(error, number)} ± {in_digits_of(error, error)}"


def with_share_error(share: float, error: float) -> str:
    """Write a noisy share and the sd of its noise, in percent.

    Examples
    --------
    >>> with_share_error(0.0312, 0.0021)
    '3.12 ± 0.21 %'
    """
    return f"{with_error(100 * share, 100 * error)} %"


def percent(share: float) -> str:
    """Write a share that was stated, in percent.

    Examples
    --------
    >>> percent(0.1), percent(0.025)
    ('10 %', '2.5 %')
    """
    return f"{100 * share:g} %"


def correlation_text(correlation: float, width: float) -> str:
    """Write a correlation to two decimals, or three or four if its interval is that short.

    One that an estimate set to zero is just that.

    Examples
    --------
    >>> correlation_text(0.5, 0.1), correlation_text(-0.9941, 0.02), correlation_text(1.0, 0.001)
    ('+0.50', '-0.994', '+1.0000')
    """
    if correlation == 0:
        return "0"
    decimals = 2 if width >= 0.03 else 3 if width >= 0.003 else 4
    return f"{round(correlation, decimals) + 0.0:+.{decimals}f}"


def interval_text(low: float, high: float) -> str:
    """Write the ends of an interval of correlations.

    Examples
    --------
    >>> interval_text(0.412, 0.588)
    '+0.41 to +0.59'
    """
    return f"{correlation_text(low, high - low)} to {correlation_text(high, high - low)}"


def probability_text(probability: float) -> str:
    """Write a q-value to two digits; one that is very small is never written as zero.

    Examples
    --------
    >>> probability_text(0.0456), probability_text(0.2), probability_text(2.34e-7)
    ('0.046', '0.20', '< 0.0001')
    """
    if probability < _SMALLEST_PROBABILITY:
        return f"< {_SMALLEST_PROBABILITY}"
    rounded = float(f"{probability:.1e}")
    return in_digits_of(rounded, rounded)


def quoted(name: str) -> str:
    """Return a name in a sentence: in quotes and in one line, a very long one without its middle.

    Examples
    --------
    >>> quoted("age"), quoted("a" * 99)
    ("'age'", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaaaaaaaaaaa'")
    """
    if len(name) > _LONGEST_NAME:
        kept = _LONGEST_NAME // 2
        name = f"{name[:kept]}…{name[len(name) - kept + 1 :]}"
    return repr(name)


def name_some(names: Iterable[str], most: int = 10) -> str:
    """Return some names, and how many more there are."""
    listed = list(names)
    more = len(listed) - most
    if more > 0:
        return f"{', '.join(listed[:most])} and {more:,} more"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
