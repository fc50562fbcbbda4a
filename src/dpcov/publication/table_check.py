"""Whether the tables of a folder hold what follows from its release.

Tables are read and compared as values. Text and marks must be equal; numbers may differ by what
another machine's arithmetic moves them, which each column of a table says. What follows from a
rule of the curator's own must have its form. The files come from outside: none is parsed that is
longer than its table can be, and none that unfolds.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpcov.publication.series import Series, Table
from dpcov.publication.table_files import FLAGS, write_csv_text

__all__ = ["csv_differs", "parquet_differs"]

_LONGEST_NUMBER = 32  # digits, sign, exponent and a comma
_MARGIN = 1 << 16  # of a file beyond its cells
_ENTRIES = ("first", "second")  # and what they have: the list of a matrix
_IN_NUMBERS = set("0123456789+-.e")
_KNOWN_FLAGS = {text: flag for flag, text in FLAGS.items()}


def csv_differs(file: Path, expected: Table) -> bool:
    """Return whether a CSV file is not this table."""
    try:
        if file.stat().st_size > _most_bytes(expected):
            return True
        text = io.StringIO()
        write_csv_text(text, expected)
        if file.read_bytes() == text.getvalue().encode() and not _is_free(expected):
            return False  # as this machine writes it
        return _differs(_read_csv(file, expected), expected)
    except (ValueError, KeyError, OSError, csv.Error):
        return True


def parquet_differs(file: Path, expected: Table) -> bool | None:
    """Return the same of a Parquet file; None without pyarrow, which reads it."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        return None
    try:
        return _differs(_read_parquet(file, expected), expected)
    except Exception:  # pyarrow fails on damage in a dozen ways
        return True


def _read_csv(file: Path, expected: Table) -> dict[str, Any]:
    """Return the columns of a file."""
    with file.open(encoding="utf-8", newline="") as content:
        rows = csv.reader(content, strict=True)
        if next(rows, None) != list(expected):
            raise ValueError
        columns = list(zip(*rows, strict=True)) or [()] * len(expected)
    pairs = zip(columns, expected.items(), strict=True)
    return {name: _parsed(cells, series) for cells, (name, series) in pairs}


def _parsed(cells: tuple[str, ...], series: Series) -> Any:
    """Return the cells of a column as what they must be."""
    if isinstance(series.values, list):
        return cells
    if series.values.dtype == np.bool_:
        return np.array([_KNOWN_FLAGS[cell] for cell in cells], dtype=np.bool_)
    if set().union(*cells) - _IN_NUMBERS:  # Python reads "1_0", " 1" and "nan" too
        raise ValueError
    return np.array([float(cell) if cell else math.nan for cell in cells], dtype=np.float64)


def _read_parquet(file: Path, expected: Table) -> dict[str, Any]:
    """Return the columns of a file, if what it says of itself is no longer than the table.

    Names come as a dictionary: they share their letters, as they do in the file.
    """
    import pyarrow.parquet as pq

    most = _most_bytes(expected)
    names = [name for name, series in expected.items() if series.is_text]
    # A file names its columns several times, and describes each.
    if file.stat().st_size > 8 * most:
        raise ValueError
    with pq.ParquetFile(file, read_dictionary=names) as source:
        if not _is_as_long(source.metadata, expected):
            raise ValueError
        table = source.read()
    if table.column_names != list(expected):
        raise ValueError
    return {name: _values(table[name], series, most) for name, series in expected.items()}


def _is_as_long(about: Any, expected: Table) -> bool:
    """Return whether a file says that it has about as many rows, and does not unfold."""
    longest = len(next(iter(expected.values())))
    # A list may name an entry that another machine rounds to zero.
    least, most = longest, longest + (_MARGIN if _is_list_of_entries(expected) else 0)
    if _is_list_of_entries(expected) and _is_free(expected):
        least, most = 0, 1000 * longest + _MARGIN
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    chunks = [(group, group.column(place)) for group in groups for place in range(len(expected))]
    return (
        about.num_columns == len(expected)
        and least <= about.num_rows <= most
        and sum(group.num_rows for group in groups) == about.num_rows
        and all(chunk.num_values == group.num_rows for group, chunk in chunks)
        # What these two make of a file is at most some twenty times as long.
        and all(chunk.compression in ("SNAPPY", "UNCOMPRESSED") for _, chunk in chunks)
    )


def _values(column: Any, series: Series, most: int) -> Any:
    """Return what a column of Arrow holds, if it is of the kind that it must be."""
    if series.is_text:
        if column.null_count or any(chunk.dictionary.nbytes > most for chunk in column.chunks):
            raise ValueError
        parts = (
            (chunk.dictionary.to_pylist(), chunk.indices.to_pylist()) for chunk in column.chunks
        )
        return [known[place] for known, places in parts for place in places]
    kind = "bool" if series.values.dtype == np.bool_ else "double"  # type: ignore[union-attr]
    if str(column.type) != kind or (kind == "bool" and column.null_count):
        raise ValueError
    return column.to_numpy()  # null is nan


def _is_free(table: Table) -> bool:
    return any(series.free for series in table.values())


def _is_list_of_entries(table: Table) -> bool:
    return len(table) == len(_ENTRIES) + 1 and tuple(table)[: len(_ENTRIES)] == _ENTRIES


def _differs(found: Mapping[str, Any], expected: Table) -> bool:
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


def _entries_differ(found: Mapping[str, Any], expected: Table) -> bool:
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


def _most_bytes(table: Table) -> int:
    """Return how long the text of a table can be."""
    texts = [column.values for column in table.values() if isinstance(column.values, list)]
    letters = sum(len(name.encode()) for column in [list(table), *texts] for name in column)
    cells = sum(len(series) for series in table.values())
    most = 2 * letters + _LONGEST_NUMBER * cells + _MARGIN
    return 1000 * most if _is_free(table) else most
