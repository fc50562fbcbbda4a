"""What a card says of its columns, as text: limits, what lies beyond them, mean and spread; shares.

Owns two tables, of numbers and of categories: ``card.md``, the page and the terminal show them
alike. A category is one line. A view of the card: nothing
is computed here. Names are untrusted text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.digits import in_digits_of, limits_text, with_error, with_share_error
from dpcov.postprocess import TOO_NOISY
from dpcov.releases.learned import Known
from dpcov.releases.tails import INSTEAD, Tails, tails_of

__all__ = [
    "MOST_ROWS",
    "CategoryRow",
    "ColumnRow",
    "category_rows",
    "column_rows",
    "has_gaps",
    "headings",
    "hidden_numbers",
    "n_numbers",
]

MOST_ROWS = 200
"""Of a table for readers; ``columns.csv`` has them all."""
_HEADINGS = {
    "mean": "mean ± se",
    "deviation": "std. deviation ± se",
    "observed": "observed",
    "limits": "limits",
    "beyond": "cells beyond",
    "known": "range, center, scale",
}
_OF_LIMITED = {"mean": "limited mean ± se", "deviation": "limited sd ± se"}
_FACTS = ("range", "center", "scale")
_RANGE_IS = {"stated": Known.STATED, "learned": Known.LEARNED, "not seen": Known.NOT_SEEN}
_KNOWN = {"stated": "stated", "learned": "learned", "not seen": "guessed"}
_HALF = 0.5  # a share with a larger error could be any


@dataclass(frozen=True)
class ColumnRow:
    """One line of the table: a name, and a text for each heading that the table has."""

    name: str
    cells: dict[str, str]


@dataclass(frozen=True)
class CategoryRow:
    """A category: its levels with their shares, and the share of its cells that are there."""

    name: str
    levels: list[tuple[str, str]]
    n_levels: int
    observed: str
    brief: list[tuple[str, str]]
    """The same without errors, of which the largest is `error`."""
    error: str


def headings(card: Mapping[str, Any]) -> dict[str, str]:
    """Return what the columns of the table are called after the name.

    Where cells were limited, means and deviations are those of the limited cells, and say so.
    """
    return _HEADINGS if card["learned"] is None else _HEADINGS | _OF_LIMITED


def column_rows(card: Mapping[str, Any], most: int = MOST_ROWS) -> list[ColumnRow]:
    """Return the table of numbers, or nothing if the card knows nothing of them."""
    columns, learned = card["data"]["columns"], card["learned"]
    found = [{} for _ in columns] if learned is None else learned["columns"]
    error = None if learned is None else learned["beyond_error"]
    numbers = [pair for pair in zip(columns, found, strict=True) if pair[0]["level"] is None]
    cells = [_cells(*facts, error) for facts in numbers[:most]]
    hidden = hidden_numbers(card)
    for (column, _), line in zip(numbers, cells, strict=False):
        if column["name"] in hidden:
            line |= dict.fromkeys(("mean", "deviation"), INSTEAD[hidden[column["name"]]])
    if not has_gaps(card):
        cells = [line | {"observed": ""} for line in cells]
    # A heading without a text in any line is left out.
    shown = [heading for heading in _HEADINGS if any(line[heading] for line in cells)]
    if not shown:
        return []
    return [
        ColumnRow(column["name"], {heading: line[heading] for heading in shown})
        for (column, _), line in zip(numbers, cells, strict=False)
    ]


def category_rows(
    card: Mapping[str, Any], most: int = MOST_ROWS, *, most_levels: int = MOST_ROWS
) -> list[CategoryRow]:
    """Return the table of categories, each with its first levels."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for column in card["data"]["columns"]:
        if column["level"] is not None:
            groups.setdefault(column["column"], []).append(column)
    return [
        CategoryRow(
            name,
            [(column["level"], _share(column)) for column in columns[:most_levels]],
            len(columns),
            _observed(columns[0]) if has_gaps(card) else "",
            [(column["level"], _brief_share(column)) for column in columns[:most_levels]],
            _largest_error(columns),
        )
        for name, columns in list(groups.items())[:most]
    ]


def has_gaps(card: Mapping[str, Any]) -> bool:
    """Return whether missing cells were counted and seen in any column."""
    return any(column["observed"] not in (None, 1) for column in card["data"]["columns"])


def hidden_numbers(card: Mapping[str, Any]) -> dict[str, Tails]:
    """Return the numbers whose mean and standard deviation are not shown, and why."""
    learned = card["learned"]
    if learned is None:
        return {}
    pairs = zip(card["data"]["columns"], learned["columns"], strict=True)
    numbers = [line for column, line in pairs if column["level"] is None]
    found = {
        line["name"]: tails_of(
            line["beyond"],
            learned["beyond_error"],
            range_is=_RANGE_IS[line["range_is"]],
            n_columns=len(numbers),
        )
        for line in numbers
    }
    return {name: tails for name, tails in found.items() if tails in INSTEAD}


def n_numbers(card: Mapping[str, Any]) -> int:
    """Return how many columns of the table are numbers."""
    return int(card["data"]["n_columns"] - card["data"]["n_categories"])


def _brief_share(column: Mapping[str, Any]) -> str:
    if column["mean"] is None:
        return ""
    return f"{in_digits_of(100 * column['mean_error'], 100 * column['mean'])} %"


def _largest_error(columns: list[Mapping[str, Any]]) -> str:
    if columns[0]["mean_error"] is None:
        return ""
    error = 100 * max(column["mean_error"] for column in columns)
    return in_digits_of(error, error)


def _share(column: Mapping[str, Any]) -> str:
    if column["mean"] is None:
        return ""
    return with_share_error(column["mean"], column["mean_error"])


def _cells(
    column: Mapping[str, Any], learned: Mapping[str, Any], error: float | None
) -> dict[str, str]:
    cells = dict.fromkeys(_HEADINGS, "") | {
        "mean": _number(column, "mean"),
        "deviation": _number(column, "standard_deviation"),
        "observed": _observed(column),
    }
    if not learned or error is None:
        return cells
    lower, upper = learned["lower"], learned["upper"]
    return cells | {
        "limits": limits_text(lower, upper),
        "beyond": TOO_NOISY if error > _HALF else with_share_error(learned["beyond"], error),
        "known": _known(learned),
    }


def _number(column: Mapping[str, Any], name: str) -> str:
    value, error = column[name], column[f"{name}_error"]
    if value is None:
        return ""
    return with_error(value, error) if error else f"{value:.6g}"


def _observed(column: Mapping[str, Any]) -> str:
    """Say which share of the cells is there, where some may be missing."""
    share, error = column["observed"], column["observed_error"]
    if share is None or not error:
        return "" if share in (None, 1) else f"{100 * share:g} %"
    return with_share_error(share, error)


def _known(learned: Mapping[str, Any]) -> str:
    """Say which of range, center and scale were stated, were learned, or are a guess."""
    facts = {
        word: [fact for fact in _FACTS if learned[f"{fact}_is"] == state]
        for state, word in _KNOWN.items()
    }
    return "; ".join(
        word if len(named) == len(_FACTS) else f"{', '.join(named)} {word}"
        for word, named in facts.items()
        if named
    )
