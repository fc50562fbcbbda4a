"""Levels: the answers that a category can have, as they stand in the table.

Owns what can be stated of them, and their names. Which of them occur is never looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from dpcov.columns.spelling import has_hidden_characters
from dpcov.errors import ParameterError

__all__ = [
    "MOST_LEVELS",
    "OF_TYPE",
    "Level",
    "check_levels",
    "check_numbers",
    "check_other",
    "name_of",
]

Level = str | float | bool

MOST_LEVELS = 1000
"""Each level has a share of the same rows: of more of them none would show."""

OF_TYPE = "dtype"
"""What is stated in the place of levels if those of the column's type are public."""


def name_of(level: object) -> str:
    """Return the text of a level or of a missing code, under which it is shown.

    Examples
    --------
    >>> [name_of(level) for level in ("f", 3, 3.0, 2.5, True)]
    ['f', '3', '3', '2.5', 'true']
    """
    if isinstance(level, bool):
        return "true" if level else "false"
    if isinstance(level, Real):
        number = float(level)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(level)


def check_levels(column: str, levels: object) -> tuple[Level, ...]:
    """Return stated levels as plain values, or refuse what cannot be told apart."""
    if isinstance(levels, str) or not isinstance(levels, Sequence):
        raise ParameterError(
            f"levels of column {column!r} must be a list of texts, of numbers or of truth values; "
            f'or "{OF_TYPE}", if its type has levels that were not made from the rows.'
        )
    if not levels:
        raise ParameterError(f"levels of column {column!r} is empty; state all answers.")
    if len(levels) > MOST_LEVELS:
        raise ParameterError(
            f"Column {column!r} has {len(levels)} levels; at most {MOST_LEVELS:,} can be stated. "
            'State those that matter, and other = "other" for the rest.'
        )
    plain = tuple(_plain(column, level) for level in levels)
    if len({_sort(level) for level in plain}) > 1:
        raise ParameterError(
            f"levels of column {column!r} must be all texts, all numbers or all truth values."
        )
    _refuse_repeats(column, [name_of(level) for level in plain])
    return plain


def _plain(column: str, level: Any) -> Level:
    if hasattr(level, "item") and not isinstance(level, (str, Real)):  # numpy's truth values
        level = level.item()
    if isinstance(level, bool):
        return level
    if isinstance(level, Real):
        return _finite(f"levels of column {column!r} must be finite numbers.", level)
    if not isinstance(level, str) or not level:
        raise ParameterError(
            f"levels of column {column!r} must be texts that are not empty, numbers or truth "
            "values."
        )
    if has_hidden_characters(level):
        raise ParameterError(
            f"A level of column {column!r} has a line break, a control character, or is no valid "
            "Unicode text."
        )
    return str(level)


def _finite(problem: str, number: Real) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ParameterError(problem)
    return int(number) if isinstance(number, Integral) and int(value) == int(number) else value


def _sort(level: Level) -> type:
    return float if isinstance(level, (int, float)) and not isinstance(level, bool) else type(level)


def _refuse_repeats(column: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ParameterError(f"Column {column!r} has the level {name!r} twice.")
        seen.add(name)


def check_numbers(column: str, numbers: object, count: int) -> tuple[float, ...]:
    """Return the numbers that stand for ordered levels, or refuse them."""
    if isinstance(numbers, str) or not isinstance(numbers, Sequence):
        raise ParameterError(f"numbers of column {column!r} must be a list of numbers.")
    if len(numbers) != count:
        raise ParameterError(
            f"Column {column!r} has {count} levels and {len(numbers)} numbers; state one number "
            "for each level."
        )
    problem = f"numbers of column {column!r} must be finite numbers."
    if any(isinstance(number, bool) or not isinstance(number, Real) for number in numbers):
        raise ParameterError(problem)
    plain = tuple(float(_finite(problem, number)) for number in numbers)
    if len(set(plain)) < 2:
        raise ParameterError(
            f"numbers of column {column!r} are all the same; nothing can vary between them."
        )
    return plain


def check_other(column: str, other: object) -> str:
    """Return the name of the level of all other cells, or refuse it."""
    if not isinstance(other, str) or not other or has_hidden_characters(other):
        raise ParameterError(
            f'other of column {column!r} must be the name of a level, such as "other".'
        )
    return other
