"""What a card says of its columns, as text: limits, what lies beyond them, mean and spread.

Owns how these numbers are written: the card's sentences, ``card.md``, the page and the terminal
show them alike. A view of the card: nothing is computed here. Names are untrusted text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "HEADINGS",
    "MOST_ROWS",
    "ColumnRow",
    "column_rows",
    "in_digits_of",
    "name_some",
    "with_error",
]

MOST_ROWS = 200
"""Of a table for readers; ``card.json`` has them all."""
HEADINGS = {
    "limits": "limits",
    "beyond": "cells beyond",
    "mean": "mean",
    "deviation": "std. deviation",
    "known": "range, center, scale",
}
"""What the columns of the table are called after the name."""
_FACTS = ("range", "center", "scale")
_MOST_DIGITS = 6
_LARGEST = 1e9  # that is written out


@dataclass(frozen=True)
class ColumnRow:
    """One line of the table: a name, and a text for each heading that the table has."""

    name: str
    cells: dict[str, str]


def column_rows(card: Mapping[str, Any], most: int = MOST_ROWS) -> list[ColumnRow]:
    """Return the table of columns, or nothing if the card knows nothing of them."""
    columns, learned = card["data"]["columns"][:most], card["learned"]
    found = [{} for _ in columns] if learned is None else learned["columns"][:most]
    error = None if learned is None else learned["beyond_error"]
    cells = [_cells(*facts, error) for facts in zip(columns, found, strict=True)]
    # A heading without a text in any line is left out.
    shown = [heading for heading in HEADINGS if any(line[heading] for line in cells)]
    if not shown:
        return []
    return [
        ColumnRow(column["name"], {heading: line[heading] for heading in shown})
        for column, line in zip(columns, cells, strict=True)
    ]


def _cells(
    column: Mapping[str, Any], learned: Mapping[str, Any], error: float | None
) -> dict[str, str]:
    mean, deviation = column["mean"], column["standard_deviation"]
    step = (deviation or column["scale"]) / 10
    cells = {
        "limits": "",
        "beyond": "",
        "mean": "" if mean is None else in_digits_of(step, mean),
        "deviation": "" if deviation is None else in_digits_of(step, deviation),
        "known": "",
    }
    if not learned or error is None:
        return cells
    lower, upper = learned["lower"], learned["upper"]
    ends = (in_digits_of((upper - lower) / 100, end) for end in (lower, upper))
    return cells | {
        "limits": " to ".join(ends),
        "beyond": with_error(learned["beyond"], error),
        "known": _known(learned),
    }


def _known(learned: Mapping[str, Any]) -> str:
    """Say how range, center and scale are known, in as few words as that takes."""
    how = {fact: learned[f"{fact}_is"] for fact in _FACTS}
    if len(set(how.values())) == 1:
        return str(how["range"])
    groups = (
        (state, [fact for fact in _FACTS if how[fact] == state])
        for state in dict.fromkeys(how.values())
    )
    return "; ".join(f"{', '.join(facts)} {state}" for state, facts in groups)


def with_error(share: float, error: float) -> str:
    """Write a noisy share and the sd of its noise, in percent.

    Examples
    --------
    >>> with_error(0.0312, 0.0021)
    '3.12 ± 0.21 %'
    """
    return f"{in_digits_of(100 * error, 100 * share)} ± {in_digits_of(100 * error, 100 * error)} %"


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
    return f"{rounded:,.{max(decimals, 0)}f}"


def name_some(names: Iterable[str], most: int = 10) -> str:
    """Return some names, and how many more there are."""
    listed = list(names)
    more = len(listed) - most
    if more > 0:
        return f"{', '.join(listed[:most])} and {more:,} more"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
