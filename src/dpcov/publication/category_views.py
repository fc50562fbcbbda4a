"""Categories and gaps of a folder's tables, as text that is ready to be shown.

Owns how associations, means of groups, pairs with levels and findings about gaps look on the page
and in the terminal. Names are untrusted: who shows them makes them printable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.digits import probability_text, with_error
from dpcov.postprocess import TOO_NOISY
from dpcov.postprocess.association import CRAMER
from dpcov.postprocess.gap_findings import GapFinding
from dpcov.postprocess.listing import number
from dpcov.publication.card_gaps import gap_sentence
from dpcov.publication.columns import category_rows, hidden_numbers
from dpcov.publication.findings import PairRow, pair_row, related_lines, table_lines
from dpcov.publication.series import Table
from dpcov.releases.tails import INSTEAD, Tails, with_mark

__all__ = [
    "AssociationRow",
    "Group",
    "LevelPairs",
    "association_rows",
    "gap_sentences",
    "groups",
    "level_pairs",
    "listed_for_machines",
]

_TOO_RARE = "too rare to tell"
_MOST_NUMBERS = 4  # beside each other
_MOST_LEVELS = 60
_MOST_LEVEL_PAIRS = 1200


@dataclass(frozen=True)
class AssociationRow:
    """How far two columns go together: one line of the table.

    Parameters
    ----------
    first, second : str
        The columns; of a number and a category, the number first.
    measure : str
        What is measured, as a symbol.
    value, interval : str
        How large it is; or that it is too noisy to tell, and nothing.
    q_value : str
        The smallest false discovery rate at which it is related.
    related : bool
        Whether it is.
    size, q : float
        What a reader sorts by. The size is that of a correlation: η² is the square of one.
    limited, gaps : bool
        Whether it is marked: that of the whole cells, or of the rows with both, may be far from it.
    """

    first: str
    second: str
    measure: str
    value: str
    interval: str
    q_value: str
    related: bool
    size: float
    q: float
    limited: bool
    gaps: bool


def association_rows(
    table: Table, most: int, *, related_only: bool = False
) -> list[AssociationRow]:
    """Return the first lines of a table of associations, the surest first."""
    lines = table_lines(table)
    if related_only:
        lines = [line for line in lines if line["related"]]
    return [_association(line) for line in lines[:most]]


def _association(line: Mapping[str, Any]) -> AssociationRow:
    told, value = line["told"], line["value"]
    limited, gaps = (bool(line.get(name)) and told for name in ("limited", "gaps"))
    size = (value if line["measure"] == CRAMER else math.sqrt(value)) if told else math.nan
    return AssociationRow(
        first=line["first"],
        second=line["second"],
        measure=line["measure"],
        value=with_mark(number(value), limited, gaps) if told else TOO_NOISY,
        interval=f"{number(line['low'])} to {number(line['high'])}" if told else "",
        q_value=probability_text(line["q_value"]),
        related=line["related"],
        size=size,
        q=line["q_value"],
        limited=limited,
        gaps=gaps,
    )


@dataclass(frozen=True)
class Group:
    """Means of some numbers in the levels of a category.

    Parameters
    ----------
    category : str
        Its name.
    numbers : list of str
        Those that are related to it, the surest first; `more` others are, too.
    levels : list of tuple
        The name of each level, its share, and the mean of each number; `more_levels` others.
    """

    category: str
    numbers: list[str]
    more: int
    levels: list[tuple[str, str, list[str]]]
    more_levels: int


def groups(card: Mapping[str, Any], tables: Mapping[str, Table]) -> list[Group]:
    """Return the means of the numbers that go with each category, at the rate of the card."""
    if "group_means" not in tables or "associations" not in tables:
        return []
    shared = [row.name for row in category_rows(card)]
    related: dict[str, list[str]] = {name: [] for name in shared}
    for line in table_lines(tables["associations"]):
        if line["related"] and line["measure"] != CRAMER and line["second"] in related:
            related[line["second"]].append(line["first"])
    hidden = hidden_numbers(card)
    means = {
        (line["number"], line["category"], line["level"]): _mean(line, hidden)
        for line in table_lines(tables["group_means"])
    }
    found = []
    for row in category_rows(card, most_levels=_MOST_LEVELS):
        numbers = related[row.name][:_MOST_NUMBERS]
        if numbers:
            levels = [
                (level, share, [means.get((each, row.name, level), "") for each in numbers])
                for level, share in row.levels
            ]
            more = len(related[row.name]) - len(numbers)
            found.append(Group(row.name, numbers, more, levels, row.n_levels - len(levels)))
    return found


def _mean(line: Mapping[str, Any], hidden: Mapping[str, Tails]) -> str:
    if line["number"] in hidden:
        return INSTEAD[hidden[line["number"]]]
    return with_error(line["mean"], line["standard_error"]) if line["told"] else _TOO_RARE


@dataclass(frozen=True)
class LevelPairs:
    """The pairs with a level of one category: how many there are, and the surest."""

    category: str
    n_pairs: int
    n_related: int
    rows: list[PairRow]


def level_pairs(card: Mapping[str, Any], pairs: Table) -> list[LevelPairs]:
    """Return the pairs with levels under their categories; of two categories, the first one's."""
    if "with_level" not in pairs:
        return []
    category = {
        column["name"]: column["column"]
        for column in card["data"]["columns"]
        if column["level"] is not None
    }
    listed: dict[str, list[dict[str, Any]]] = {}
    for line in table_lines(pairs):
        if line["with_level"]:
            name = category.get(line["first"]) or category.get(line["second"]) or ""
            listed.setdefault(name, []).append(line)
    most = max(10, _MOST_LEVEL_PAIRS // max(len(listed), 1))
    return [
        LevelPairs(
            name,
            len(lines),
            sum(line["related"] for line in lines),
            [pair_row(line) for line in lines[:most]],
        )
        for name, lines in listed.items()
    ]


def listed_for_machines(tables: Mapping[str, Table]) -> dict[str, Any]:
    """Return what is related, as lines of the tables without unknown numbers."""
    listed: dict[str, Any] = {"related": related_lines(tables["pairs"])}
    for name, mark in (("associations", "related"), ("gaps", "found")):
        if name in tables:
            lines = [line for line in table_lines(tables[name]) if line[mark]]
            listed[name] = [
                {key: None if value != value else value for key, value in line.items()}
                for line in lines
            ]
    return listed


def gap_sentences(table: Table, most: int) -> list[str]:
    """Return what was found to go with missing cells, the surest first."""
    found = [line for line in table_lines(table) if line["found"]]
    return [_gap_sentence(line) for line in found[:most]]


def _gap_sentence(line: Mapping[str, Any]) -> str:
    names = ("gaps_of", "column", "measure", "value", "standard_error", "low", "high", "q_value")
    return gap_sentence(
        GapFinding(
            **{name: line[name] for name in names},
            level=line["level"] or None,
            level_is=line["level_is"] or None,
            limited=bool(line.get("limited")),
        )
    )
