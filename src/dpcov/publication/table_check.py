"""Whether the tables of a folder hold what follows from its release.

Owns this comparison. Text and marks must be equal; numbers may differ by what another machine's
arithmetic moves them, which each column of a table says. What follows from a rule of the
curator's own must have its form. The files come from outside: none is parsed that is longer than
its table can be.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpcov.publication.series import Series, Table
from dpcov.publication.table_files import FLAGS, write_csv_text

__all__ = ["csv_differs", "most_table_bytes", "parquet_differs"]

_LONGEST_NUMBER = 32  # digits, sign, exponent and a comma
_MARGIN = 1 << 16  # of a file beyond its cells
_ENTRIES = ("first", "second")  # and what they have: the list of a matrix

Array = npt.NDArray[np.float64]


def csv_differs(file: Path, expected: Table) -> bool:
    """Return whether a CSV file is not this table."""
    try:
        if not _is_free(expected) and _is_text_of(file, expected):
            return False
        rows = _read_csv(file, most_table_bytes(expected) * (1000 if _is_free(expected) else 1))
        if next(rows, None) != list(expected):
            return True
        cells: list[list[str]] = [[] for _ in expected]
        for row in rows:
            for column, cell in zip(cells, row, strict=True):
                column.append(cell)
        found = {
            name: _parsed(column, series)
            for column, (name, series) in zip(cells, expected.items(), strict=True)
        }
        return _differs(found, expected)
    except (ValueError, KeyError, OSError, csv.Error):
        return True


def parquet_differs(file: Path, expected: Table) -> bool | None:
    """Return the same of a Parquet file; None without pyarrow, which reads it."""
    try:
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        return None
    most = most_table_bytes(expected) * (1000 if _is_free(expected) else 1)
    try:
        # A file names its columns several times, and describes each.
        if file.stat().st_size > 8 * most:
            return True
        names = [name for name, series in expected.items() if series.is_text]
        with pq.ParquetFile(file, read_dictionary=names) as source:
            if not _has_form(source, expected):
                return True
            read = (source.reader.read_column(place) for place in range(len(expected)))
            columns = [_parquet_column(column, most) for column in read]
        return _differs(dict(zip(expected, columns, strict=True)), expected)
    except Exception:  # pyarrow fails on damage in a dozen ways
        return True


def _is_free(table: Table) -> bool:
    return any(series.free for series in table.values())


def _is_list_of_entries(table: Table) -> bool:
    return len(table) == len(_ENTRIES) + 1 and tuple(table)[: len(_ENTRIES)] == _ENTRIES


def _parsed(cells: list[str], series: Series) -> Any:
    """Return the cells of a column as what they must be."""
    if series.is_text:
        return cells
    if series.values.dtype == np.bool_:  # type: ignore[union-attr]
        known = {text: flag for flag, text in FLAGS.items()}
        return np.array([known[cell] for cell in cells], dtype=np.bool_)
    return np.array([math.nan if not cell else _read_number(cell) for cell in cells], np.float64)


def _differs(found: dict[str, Any], expected: Table) -> bool:
    """Compare columns of a table, as they were read, with what they must be."""
    if _is_list_of_entries(expected):
        return _entries_differ(found, expected)
    return any(_series_differs(found[name], series) for name, series in expected.items())


def _series_differs(found: Any, series: Series) -> bool:
    if len(found) != len(series):
        return True
    if isinstance(series.values, list):
        return list(found) != series.values
    if series.values.dtype == np.bool_:
        return not np.array_equal(found, series.values)
    if series.free:
        return not bool(np.isfinite(found).all())
    unknown = np.isnan(series.values)
    near = np.where(unknown, 0.0, series.near)
    with np.errstate(invalid="ignore"):
        same = np.isfinite(near) & (np.abs(found - series.values) <= near)
    return not bool(np.where(unknown, np.isnan(found), same).all())


def _entries_differ(found: dict[str, Any], expected: Table) -> bool:
    """Compare two lists of entries; one that is not listed is zero."""
    what = tuple(expected)[-1]
    series = expected[what]
    names = {*expected["first"].values, *expected["second"].values}
    if series.free:
        known = all(name in names for column in _ENTRIES for name in found[column])
        return not (known and bool(np.isfinite(found[what]).all()))
    each = np.broadcast_to(series.near, len(series))
    near = dict(zip(_places(expected), each, strict=True))
    least = float(each.min()) if len(each) else 0.0
    wanted = dict(zip(_places(expected), series.values, strict=True))
    pairs = list(zip(found["first"], found["second"], strict=True))
    given = dict(zip(pairs, found[what].tolist(), strict=True))
    return len(given) != len(pairs) or any(
        not abs(given.get(place, 0.0) - wanted.get(place, 0.0)) <= near.get(place, least)
        for place in given.keys() | wanted.keys()
    )


def _places(table: Table) -> Iterator[tuple[Any, Any]]:
    return zip(*(table[name].values for name in _ENTRIES), strict=True)


def _has_form(source: Any, expected: Table) -> bool:
    """Return whether a Parquet file has these columns and about as many rows, and no bombs."""
    about, schema = source.metadata, source.schema
    longest = len(next(iter(expected.values())))
    # A list may name an entry that another machine rounds to zero.
    least, most = longest, longest + (_MARGIN if _is_list_of_entries(expected) else 0)
    if _is_list_of_entries(expected) and _is_free(expected):
        least, most = 0, 1000 * longest + _MARGIN
    kinds = [_KINDS[_kind_of(series)] for series in expected.values()]
    columns = [schema.column(place) for place in range(len(schema))]
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    chunks = [(group, group.column(place)) for group in groups for place in range(len(kinds))]
    return (
        [column.path for column in columns] == list(expected)
        and [(column.physical_type, _logical(column)) for column in columns] == kinds
        and all(column.max_repetition_level == 0 for column in columns)
        and least <= about.num_rows <= most
        and sum(group.num_rows for group in groups) == about.num_rows
        and all(chunk.num_values == group.num_rows for group, chunk in chunks)
        # What these two make of a file is at most some twenty times as long.
        and all(chunk.compression in ("SNAPPY", "UNCOMPRESSED") for _, chunk in chunks)
    )


_KINDS = {
    "text": ("BYTE_ARRAY", "String"),
    "flag": ("BOOLEAN", "None"),
    "number": ("DOUBLE", "None"),
}


def _kind_of(series: Series) -> str:
    if isinstance(series.values, list):
        return "text"
    return "flag" if series.values.dtype == np.bool_ else "number"


def _logical(column: Any) -> str:
    return str(column.logical_type.type).capitalize()


def _parquet_column(column: Any, most: int) -> Any:
    """Return what a column holds; names share their letters, as they do in the file."""
    if str(column.type) == "double":
        return column.to_numpy()  # null is nan
    if column.null_count:
        raise ValueError
    if str(column.type) == "bool":
        return column.to_numpy()
    names: list[str] = []
    for chunk in column.chunks:
        if chunk.dictionary.nbytes > most:
            raise ValueError
        known = chunk.dictionary.to_pylist()
        names += [known[place] for place in chunk.indices.to_pylist()]
    return names


def _is_text_of(file: Path, table: Table) -> bool:
    """Return whether a file is the very text, which it is if this machine wrote it."""
    with file.open("rb") as content:
        try:
            write_csv_text(_SameText(content), table)
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


def _read_csv(file: Path, most: int) -> Iterator[list[str]]:
    """Yield the rows of a file, if it is not longer than `most` bytes."""
    if file.stat().st_size > most:
        raise ValueError
    with file.open(encoding="utf-8", newline="") as content:
        yield from csv.reader(content, strict=True)


def _read_number(cell: str) -> float:
    """Return the number in a cell, if it is written as Python writes it."""
    value = float(cell)
    if repr(value) != cell or not math.isfinite(value):  # Python reads "1_0" and " 1" too
        raise ValueError
    return value


def most_table_bytes(table: Table) -> int:
    """Return how long the text of a table can be."""
    texts = [column.values for column in table.values() if isinstance(column.values, list)]
    letters = sum(len(name.encode()) for column in [list(table), *texts] for name in column)
    cells = sum(len(series) for series in table.values())
    return 2 * letters + _LONGEST_NUMBER * cells + _MARGIN
