"""The data dictionary of a folder: what each file is, and each column of its tables.

Owns these words, which are in ``dictionary.json``. ``README.md`` in the folder prints them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as package_files
from typing import Any

from dpcov.digits import percent
from dpcov.publication.columns import n_numbers
from dpcov.publication.series import MOST_COLUMNS, MOST_PAIRS
from dpcov.publication.structure import COLUMNS, NUMBERS
from dpcov.publication.tables import table_names

__all__ = ["FileNote", "describe_absent", "describe_files"]

_WITH_LEVELS = (
    "pairs of numbers, then those with a level of a category (`category=level`): two lists, each "
    "tested by itself,"
)

_NOT_RELEASED = (
    "; pairs that were not released are zero in it, which draws others toward zero where columns "
    "go together: what is known of a pair is `released`"
)
_CONFIDENCE = 0.95
_OF_LEVELS = ("with_level", "category", "level")
_ORDER = (
    "pairs",
    "associations",
    "group_means",
    "columns",
    "categories",
    "gaps",
    "components",
    "loadings",
    "partial_correlations",
    "correlation",
    "covariance",
)


@dataclass(frozen=True)
class FileNote:
    """What a file is, and what stands in its columns."""

    name: str
    about: str
    columns: dict[str, str] = field(default_factory=dict)


def describe_files(card: Mapping[str, Any]) -> list[FileNote]:
    """Return what is in the files of a card's folder."""
    words = _words()
    tables = [
        FileNote(f"{name}.csv, {name}.parquet", _about(name, card), _columns_of(name, card))
        for name in _ORDER
        if name in table_names(card)
    ]
    return [*tables, *(FileNote(name, about) for name, about in words["others"].items())]


def describe_absent(card: Mapping[str, Any]) -> list[str]:
    """Return why tables of what columns have in common are not in a card's folder."""
    n_columns = len(card["data"]["columns"]) - card["data"]["n_categories"]
    counted = {
        "components": (n_numbers(card), NUMBERS, "numbers"),
        "partial_correlations": (n_columns, COLUMNS, "columns"),
    }
    said = []
    for name, (number, (least, most), what) in counted.items():
        if name in table_names(card):
            continue
        why: str = _words()["absent"][name].format(rate=percent(card["related"]["fdr"]))
        if card["reading"]["signs_only"]:
            why = "a release of pairs has the strongest only."
        elif not least <= number <= most:
            why = f"it is written for {least} to {most} {what}."
        said.append(f"There is no `{name}.csv`: {why}")
    return said


@cache
def _words() -> dict[str, Any]:
    file = package_files("dpcov.publication").joinpath("dictionary.json")
    words: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return words


def _about(table: str, card: Mapping[str, Any]) -> str:
    size, related = len(card["data"]["columns"]), card["related"]
    about: str = _words()["tables"][table]
    if table == "pairs" and related["levels"] is not None:
        about = about.replace("pairs of columns,", _WITH_LEVELS)
    if table in ("correlation", "covariance") and size > MOST_COLUMNS:
        return about.replace("as a matrix", "that are not zero, one pair in each line")
    if table == "pairs" and related["n_released"] < related["n_pairs"]:
        return about.replace("All pairs", "The pairs that were released")
    if table == "pairs" and _count_pairs(related) > MOST_PAIRS:
        return about.replace("All pairs", f"The {MOST_PAIRS:,} surest pairs")
    return about


def _count_pairs(related: Mapping[str, Any]) -> int:
    levels = 0 if related["levels"] is None else related["levels"]["n_pairs"]
    return int(related["n_pairs"] + levels)


def _columns_of(table: str, card: Mapping[str, Any]) -> dict[str, str]:
    meanings: dict[str, str] = _words()["columns"].get(table, {})
    told = {"confidence": percent(_CONFIDENCE), "rate": percent(card["related"]["fdr"])}
    covariances = "covariance" in table_names(card)
    if table == "pairs" and card["related"]["n_released"] < card["related"]["n_pairs"]:
        meanings = meanings | {"estimate": f"{meanings['estimate']}{_NOT_RELEASED}"}
    return {
        name: about.format(**told)
        for name, about in meanings.items()
        if (covariances or "covariance" not in name)
        and (card["data"]["n_categories"] or name not in _OF_LEVELS)
        and (card["learned"] is not None or name != "limited")
        and (card["related"]["gaps"] is not None or name != "gaps")
    }
