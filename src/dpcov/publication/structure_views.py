"""Components and partial correlations of a folder's tables, as text that is ready to be shown.

Owns how they look on the page. Names are untrusted: who shows them makes them printable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.digits import (
    correlation_text,
    in_digits_of,
    interval_text,
    name_some,
    probability_text,
)
from dpcov.publication.findings import table_lines
from dpcov.publication.series import Table
from dpcov.releases.tails import GAPS_MARK, MARK, with_mark

__all__ = ["ComponentRow", "PartialRow", "component_rows", "partial_rows"]

_MOST_LOADINGS = 5


@dataclass(frozen=True)
class ComponentRow:
    """One component: a line of the table.

    Parameters
    ----------
    name : str
        C1, C2, …
    eigenvalue, interval : str
        The variance along it.
    share : str
        Its share of all variance, with an interval.
    loadings : list of tuple of str
        Columns that go with it most, how far, and the interval; none if they cannot be told.
    more : int
        How many other columns go with it or against it for sure.
    untold : str
        Why no loadings are shown; empty if they are.
    """

    name: str
    eigenvalue: str
    interval: str
    share: str
    loadings: list[tuple[str, str, str]]
    more: int
    untold: str

    @property
    def limited(self) -> bool:
        """Whether a loading is marked: that of the whole cells may be far from it."""
        return any(MARK in loading for _, loading, _ in self.loadings)

    @property
    def gaps(self) -> bool:
        """Whether it is marked: that of the rows with all cells may be far from it."""
        return GAPS_MARK in self.eigenvalue


@dataclass(frozen=True)
class PartialRow:
    """One pair given all other columns: a line of the table."""

    first: str
    second: str
    correlation: str
    interval: str
    q_value: str
    limited: bool
    """Whether it is marked: that of the whole cells may be far from it."""
    gaps: bool
    """… or that of the rows with all cells."""


def component_rows(tables: Mapping[str, Table], most: int) -> list[ComponentRow]:
    """Return the first components, as text."""
    sure: dict[str, list[dict[str, Any]]] = {}
    for line in table_lines(tables.get("loadings", {})):
        if line["low"] > 0 or line["high"] < 0:
            sure.setdefault(line["component"], []).append(line)
    lines = table_lines(tables.get("components", {}))[:most]
    return [_component(line, sure.get(line["component"], [])) for line in lines]


def _component(line: Mapping[str, Any], sure: list[dict[str, Any]]) -> ComponentRow:
    error = line["standard_error"]
    largest = sorted(sure, key=lambda each: -abs(each["loading"]))[:_MOST_LOADINGS]
    return ComponentRow(
        name=line["component"],
        eigenvalue=with_mark(
            in_digits_of(error, line["eigenvalue"]), limited=False, gaps=bool(line.get("gaps"))
        ),
        interval=" to ".join(in_digits_of(error, line[end]) for end in ("low", "high")),
        share=f"{100 * line['share']:.1f} %",
        loadings=[_loading(each) for each in largest],
        more=len(sure) - len(largest),
        untold=_untold(line, sure),
    )


def _loading(line: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = line["low"], line["high"]
    loading = correlation_text(line["loading"], high - low)
    marked = with_mark(loading, bool(line.get("limited")), bool(line.get("gaps")))
    return line["column"], marked, interval_text(low, high)


def _untold(line: Mapping[str, Any], sure: list[dict[str, Any]]) -> str:
    if line["alike"]:
        return f"cannot be told from {name_some(line['alike'].split('; '), most=4)}"
    if not line["told"]:
        return "cannot be told: the noise turns it too far"
    return "" if sure else "none that is surely not zero"


def partial_rows(tables: Mapping[str, Table], most: int) -> list[PartialRow]:
    """Return the strongest pairs that are related given all others, as text."""
    lines = table_lines(tables.get("partial_correlations", {}))
    told = [line for line in lines if line["related"] and line["told"]]
    told.sort(key=lambda line: -abs(line["partial_correlation"]))
    return [_partial(line) for line in told[:most]]


def _partial(line: Mapping[str, Any]) -> PartialRow:
    low, high = line["low"], line["high"]
    limited, gaps = bool(line.get("limited")), bool(line.get("gaps"))
    value = correlation_text(line["partial_correlation"], high - low)
    return PartialRow(
        first=line["first"],
        second=line["second"],
        correlation=with_mark(value, limited, gaps),
        interval=interval_text(low, high),
        q_value=probability_text(line["q_value"]),
        limited=limited,
        gaps=gaps,
    )
