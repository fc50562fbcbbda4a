"""Dates, moments and durations as numbers of a stated unit.

Owns the units of time, and the one way to count them: whole days first and then the rest, so
that the same moment is the same number whatever steps it is stored in.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DAY_STEPS", "UNITS", "as_moment", "count_units", "parse_moment", "split_days"]

UNITS = {
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 7 * 86_400.0,
    "years": 365.2425 * 86_400.0,
}
"""How many seconds each unit has; a year is the calendar's average."""

DAY_STEPS = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
DAY_STEPS["ns"] = 86_400_000_000_000
"""How many steps a day has, of each size in which libraries store times."""

_DAY = 86_400_000_000_000
_FIRST = datetime.date(1970, 1, 1).toordinal()
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)

Days = tuple[int, int]
"""Whole days since 1970-01-01 UTC, and nanoseconds of the day."""


def as_moment(value: object) -> Days | None:
    """Return a date or a moment of Python, or a text in ISO form, or None if it is neither.

    A moment without a time zone is taken as UTC.

    Examples
    --------
    >>> as_moment(datetime.date(1970, 1, 2)), as_moment("1970-01-01T00:00:01Z"), as_moment("soon")
    ((1, 0), (0, 1000000000), None)
    """
    if isinstance(value, str):
        return parse_moment(value)
    if isinstance(value, datetime.datetime):
        if value != value:  # pandas says that its NaT is one
            return None
        shift = value.utcoffset() or datetime.timedelta(0)
        clock = datetime.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
        # In whole numbers: next to the first and the last day there may be no day to shift to.
        apart, since = divmod(clock - shift, datetime.timedelta(days=1))
        rest = (since // datetime.timedelta(microseconds=1) + value.microsecond) * 1000
        nanoseconds = rest + int(getattr(value, "nanosecond", 0))
        return value.toordinal() - _FIRST + apart, nanoseconds
    if isinstance(value, datetime.date):
        return value.toordinal() - _FIRST, 0
    return None


def parse_moment(text: str) -> Days | None:
    """Return what a text in ISO form says, or None if it is no date.

    Examples
    --------
    >>> parse_moment("1970-01-02 00:00:00.5+01:00"), parse_moment("2. 1. 1970")
    ((0, 82800500000000), None)
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    digits, zone = found[7], found[8]
    try:
        days = datetime.date(year, month, day).toordinal() - _FIRST
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    rest = (hour * 3600 + minute * 60 + second) * 10**9 + int((digits or "0").ljust(9, "0"))
    if zone not in (None, "Z"):
        away = int(zone[1:3]) * 60 + int(zone[-2:])
        rest -= (away if zone[0] == "+" else -away) * 60 * 10**9
    more, rest = divmod(rest, _DAY)
    return days + more, rest


def split_days(
    steps: npt.NDArray[np.int64], step: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return whole days and nanoseconds of the day, from a count of steps of one size.

    Examples
    --------
    >>> split_days(np.array([-1, 90_000]), "s")
    (array([-1,  1]), array([86399000000000,  3600000000000]))
    """
    a_day = DAY_STEPS[step]
    days = np.floor_divide(steps, a_day)
    return days, (steps - days * a_day) * (_DAY // a_day)


def count_units(days: Any, rest: Any, unit: str, since: Days = (0, 0)) -> Any:
    """Return days and nanoseconds of a day as numbers of a unit.

    Examples
    --------
    >>> count_units(1, 43_200_000_000_000, "hours"), count_units(365, 0, "days", since=(360, 0))
    (36.0, 5.0)
    """
    seconds = UNITS[unit]
    # Two exact whole numbers, each divided once: no step of the storage can be seen.
    return (days - since[0]) * (86_400.0 / seconds) + (rest - since[1]) / (1e9 * seconds)
