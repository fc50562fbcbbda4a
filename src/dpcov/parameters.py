"""Numbers and names that a caller states, checked and turned into plain Python values.

Owns the wording of parameter errors. Refuses booleans, strings and arrays where a
number is wanted: a privacy parameter must never be guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from numbers import Integral, Real
from typing import NoReturn, TypeVar

from dpcov.errors import ParameterError

__all__ = ["check_choice", "check_count", "check_member", "check_number"]

Member = TypeVar("Member", bound=Enum)


def check_number(
    name: str,
    value: object,
    *,
    low: float,
    high: float,
    open_low: bool = True,
    open_high: bool = True,
    advice: str = "",
) -> float:
    """Return `value` as a float if it lies between `low` and `high`.

    Examples
    --------
    >>> check_number("delta", 1e-6, low=0, high=1)
    1e-06
    """
    interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    if isinstance(value, bool) or not isinstance(value, Real):
        _refuse(f"{name} must be a number in {interval}; got {_kind(value)}.", advice)
    try:
        number = float(value)
    except OverflowError:  # an int beyond all floats
        number = math.inf if value > 0 else -math.inf  # type: ignore[operator]
    above = number > low if open_low else number >= low
    below = number < high if open_high else number <= high
    if math.isnan(number) or not (above and below):
        _refuse(f"{name} must lie in {interval}; got {number:g}.", advice)
    return number


def check_count(
    name: str, value: object, *, low: int, high: int | None = None, advice: str = ""
) -> int:
    """Return `value` as an int if it is a whole number from `low` to `high`.

    Examples
    --------
    >>> check_count("seed", 7, low=0)
    7
    """
    wanted = f"of at least {low}" if high is None else f"from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        _refuse(f"{name} must be a whole number {wanted}; got {_kind(value)}.", advice)
    count = int(value)
    if count < low or (high is not None and count > high):
        got = str(count) if abs(count) < 10**18 else "one of more than 18 digits"
        _refuse(f"{name} must be a whole number {wanted}; got {got}.", advice)
    return count


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`.

    Examples
    --------
    >>> check_choice("missing", "refuse", ["refuse", "center"])
    'refuse'
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        listed = ", ".join(repr(choice) for choice in known)
        got = repr(value) if isinstance(value, str) else _kind(value)
        _refuse(f"{name} must be one of {listed}; got {got}.")
    return value


def check_member(name: str, value: object, kind: type[Member]) -> Member:
    """Return the member of `kind` that `value` is or names, or refuse with the list of names."""
    if isinstance(value, kind):
        return value
    return kind(check_choice(name, value, [member.value for member in kind]))


def _refuse(message: str, advice: str = "") -> NoReturn:
    raise ParameterError(f"{message} {advice}".rstrip())


def _kind(value: object) -> str:
    # The type, never the value: an array passed by mistake may hold people's data.
    return "None" if value is None else f"a value of type {type(value).__name__}"
