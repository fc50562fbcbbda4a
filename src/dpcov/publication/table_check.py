"""Whether the tables of a folder hold the numbers of an estimate.

Owns this comparison. Names must be equal; numbers may differ by what another machine's
arithmetic moves them: `TOLERANCE` of the standard deviations of their columns, or of their
standard error. The files come from outside: none is parsed that is longer than its table can be.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpcov.postprocess import AnyEstimate, Edges
from dpcov.publication import tables
from dpcov.publication.tables import EDGES_HEADING, covariance_table, edge_rows, rows_of, write_rows

__all__ = [
    "TOLERANCE",
    "covariance_csv_differs",
    "covariance_parquet_differs",
    "edges_differ",
    "most_table_bytes",
    "read_csv",
    "read_number",
]

TOLERANCE = 1e-8

_LONGEST_NUMBER = 32  # digits, sign, exponent and a comma
_MARGIN = 1 << 16  # of a file beyond its cells

Array = npt.NDArray[np.float64]


def covariance_csv_differs(file: Path, estimate: AnyEstimate) -> bool:
    """Return whether ``covariance.csv`` is not the table of this estimate."""
    try:
        expected = covariance_table(estimate)
        if _is_text_of(file, list(expected), rows_of(expected)):
            return False
        rows = read_csv(file, most_table_bytes(expected))
        if next(rows, None) != list(expected):
            return True
        names = [isinstance(column, list) for column in expected.values()]
        found: list[list[Any]] = [[] for _ in expected]
        for row in rows:
            for column, cell, is_name in zip(found, row, names, strict=True):
                column.append(cell if is_name else read_number(cell))
        return _differs(dict(zip(expected, found, strict=True)), estimate)
    except (ValueError, OSError, csv.Error):
        return True


def covariance_parquet_differs(file: Path, estimate: AnyEstimate) -> bool | None:
    """Return the same of ``covariance.parquet``; None without pyarrow, which reads it."""
    try:
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        return None
    expected = covariance_table(estimate)
    try:
        # A file names its columns several times, and describes each.
        if file.stat().st_size > 8 * most_table_bytes(expected):
            return True
        names = [name for name, column in expected.items() if isinstance(column, list)]
        with pq.ParquetFile(file, read_dictionary=names) as source:
            if not _has_form(source, expected):
                return True
            read = (source.reader.read_column(place) for place in range(len(expected)))
            columns = [_parquet_column(column, expected) for column in read]
        return _differs(dict(zip(expected, columns, strict=True)), estimate)
    except Exception:  # pyarrow fails on damage in a dozen ways
        return True


def _has_form(source: Any, expected: dict[str, Any]) -> bool:
    """Return whether a Parquet file has these columns and about as many rows, and no bombs."""
    about, schema = source.metadata, source.schema
    longest = len(next(iter(expected.values())))
    # A list may name an entry that another machine rounds to zero.
    spare = _MARGIN if set(expected) == {"first", "second", "covariance"} else 0
    kinds = [
        ("BYTE_ARRAY", "String") if isinstance(column, list) else ("DOUBLE", "None")
        for column in expected.values()
    ]
    columns = [schema.column(place) for place in range(len(schema))]
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    chunks = [(group, group.column(place)) for group in groups for place in range(len(kinds))]
    return (
        [column.path for column in columns] == list(expected)
        and [(column.physical_type, _logical(column)) for column in columns] == kinds
        and all(column.max_repetition_level == 0 for column in columns)
        and longest <= about.num_rows <= longest + spare
        and sum(group.num_rows for group in groups) == about.num_rows
        and all(chunk.num_values == group.num_rows for group, chunk in chunks)
        # What these two make of a file is at most some twenty times as long.
        and all(chunk.compression in ("SNAPPY", "UNCOMPRESSED") for _, chunk in chunks)
    )


def _logical(column: Any) -> str:
    return str(column.logical_type.type).capitalize()


def _parquet_column(column: Any, expected: dict[str, Any]) -> Any:
    """Return what a column holds; names share their letters, as they do in the file."""
    if column.null_count:
        raise ValueError
    if str(column.type) == "double":
        return column.to_numpy()
    names: list[str] = []
    for chunk in column.chunks:
        if chunk.dictionary.nbytes > most_table_bytes(expected):
            raise ValueError
        known = chunk.dictionary.to_pylist()
        names += [known[place] for place in chunk.indices.to_pylist()]
    return names


def edges_differ(file: Path, edges: Edges, estimate: AnyEstimate) -> bool:
    """Return whether ``edges.csv`` is not the list of these pairs, in their order."""
    expected = list(edge_rows(edges, estimate))
    letters = sum(len((one + other).encode()) for one, other, *_ in expected)
    try:
        if _is_text_of(file, EDGES_HEADING, expected):
            return False
        rows = read_csv(file, 6 * len(expected) * _LONGEST_NUMBER + 2 * letters + _MARGIN)
        if next(rows, None) != list(EDGES_HEADING):
            return True
        return any(
            not _is_same_edge(found, row)
            for found, row in itertools.zip_longest(rows, expected, fillvalue=())
        )
    except (ValueError, OSError, csv.Error):
        return True


def _is_same_edge(found: Sequence[str], expected: Sequence[Any]) -> bool:
    if len(found) != len(expected) or tuple(found[:2]) != tuple(expected[:2]):
        return False
    value, error, q_value, entry = (read_number(cell) for cell in found[2:])
    near = TOLERANCE * expected[3]
    return bool(
        math.isfinite(near)
        and abs(value - expected[2]) <= near
        and abs(error - expected[3]) <= near
        and abs(q_value - expected[4]) <= 100 * TOLERANCE * expected[4] + 1e-300
        and abs(entry - expected[5]) <= near
    )


def _differs(found: dict[str, Any], estimate: AnyEstimate) -> bool:
    """Compare columns of a table, as they were read, with those of the estimate."""
    expected = covariance_table(estimate)
    deviation = estimate.deviations
    if len(deviation) > tables.MOST_COLUMNS:
        return _entries_differ(found, expected, deviation)
    (label, names), *columns = expected.items()
    if list(found[label]) != list(names):
        return True
    matrix = np.array([found[name] for name, _ in columns], dtype=np.float64)
    wanted = np.array([column for _, column in columns], dtype=np.float64)
    near = TOLERANCE * np.outer(deviation, deviation)
    return not bool((np.isfinite(near) & (np.abs(matrix - wanted) <= near)).all())


def _entries_differ(found: dict[str, Any], expected: dict[str, Any], deviation: Array) -> bool:
    """Compare two lists of entries; one that is not listed is zero."""
    order = {name: place for place, name in enumerate(dict.fromkeys(expected["first"]))}
    one, other = (_by_place(table, order) for table in (found, expected))
    return not np.isfinite(np.max(deviation) ** 2) or any(
        not abs(one.get(place, 0.0) - other.get(place, 0.0))
        <= TOLERANCE * deviation[place[0]] * deviation[place[1]]
        for place in one.keys() | other.keys()
    )


def _by_place(table: dict[str, Any], order: dict[str, int]) -> dict[tuple[int, int], float]:
    entries: dict[tuple[int, int], float] = {}
    for first, second, value in zip(*table.values(), strict=True):
        if first not in order or second not in order:
            raise ValueError
        place = order[first], order[second]
        if place[0] > place[1] or place in entries:
            raise ValueError
        entries[place] = float(value)
    return entries


def _is_text_of(file: Path, heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> bool:
    """Return whether a file is the very text, which it is if this machine wrote it."""
    with file.open("rb") as content:
        try:
            write_rows(_SameText(content), heading, rows)
        except _AnotherTextError:
            return False
        return not content.read(1)


class _AnotherTextError(Exception):
    """A file goes on otherwise."""


class _SameText:
    """Takes text, as long as it is that of a file."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content

    def write(self, text: str) -> None:
        expected = text.encode()
        if self._content.read(len(expected)) != expected:
            raise _AnotherTextError


def read_csv(file: Path, most: int) -> Iterator[list[str]]:
    """Yield the rows of a file, if it is not longer than `most` bytes."""
    if file.stat().st_size > most:
        raise ValueError
    with file.open(encoding="utf-8", newline="") as content:
        yield from csv.reader(content, strict=True)


def read_number(cell: str) -> float:
    """Return the number in a cell, if it is written as Python writes it."""
    value = float(cell)
    if repr(value) != cell:  # Python reads "1_0" and " 1" too
        raise ValueError
    return value


def most_table_bytes(table: dict[str, Any]) -> int:
    """Return how long the text of a table can be."""
    names = [name for column in table.values() if isinstance(column, list) for name in column]
    letters = sum(len(name.encode()) for name in [*table, *names])
    cells = sum(len(column) for column in table.values())
    return 2 * letters + _LONGEST_NUMBER * cells + _MARGIN
