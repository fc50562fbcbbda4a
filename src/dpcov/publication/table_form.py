"""Whether the tables of a folder can be those of an estimate that nobody else can make.

Owns what is checked of tables after a rule of the curator's own: names, the number of rows,
that numbers are numbers, and what of the related pairs follows from the release alone.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from dpcov.postprocess import Edges, Estimate, PairsEstimate
from dpcov.publication import tables
from dpcov.publication.table_check import TOLERANCE, most_table_bytes, read_csv, read_number

__all__ = ["covariance_has_form", "edges_have_form"]


def covariance_has_form(file: Path, other: Estimate | PairsEstimate) -> bool:
    """Return whether ``covariance.csv`` is a table of the columns of another estimate."""
    table = tables.covariance_table(other)
    most = most_table_bytes(table) * (1 if len(other.columns) <= tables.MOST_COLUMNS else 1000)
    names = {tables.text_of(name) for name in other.columns}

    def fits(rows: Iterator[list[str]]) -> bool:
        if len(other.columns) > tables.MOST_COLUMNS:
            return all(
                first in names and second in names and math.isfinite(read_number(value))
                for first, second, value in rows
            )
        listed = next(iter(table.values()))
        return all(
            name == row[0]
            and len(row) == len(table)
            and all(math.isfinite(read_number(cell)) for cell in row[1:])
            for name, row in itertools.zip_longest(listed, rows, fillvalue=[""])
        )

    return _fits(file, most, list(table), fits)


def edges_have_form(file: Path, edges: Edges) -> bool:
    """Return whether ``edges.csv`` lists these pairs with their values and q-values."""
    expected = list(edges)
    letters = sum(len((edge.first + edge.second).encode()) for edge in expected)

    def fits(rows: Iterator[list[str]]) -> bool:
        for row, edge in itertools.zip_longest(rows, expected):
            if row is None or edge is None:
                return False
            first, second, *cells = row
            value, error, q_value, entry = map(read_number, cells)
            near = TOLERANCE * abs(edge.value)
            if (
                (first, second) != (tables.text_of(edge.first), tables.text_of(edge.second))
                or not abs(value - edge.value) <= near
                or not abs(q_value - edge.q_value) <= 100 * TOLERANCE * edge.q_value + 1e-300
                or not (0 < error < math.inf and math.isfinite(entry))
            ):
                return False
        return True

    return _fits(file, 200 * len(expected) + 8 * letters + (1 << 16), tables.EDGES_HEADING, fits)


def _fits(
    file: Path, most: int, heading: object, fits: Callable[[Iterator[list[str]]], bool]
) -> bool:
    try:
        rows = read_csv(file, most)
        return next(rows, None) == list(heading) and fits(rows)  # type: ignore[call-overload]
    except (ValueError, OSError, csv.Error):
        return False
