"""Rows from a CSV file: commas, a header, numbers.

Every column is read as float64, but for the unit column, which is read as it is written.
A type that is guessed from the first rows would make what is accepted depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrow import ArrowBatchSource
from dpcov.sensitive.sources.arrow_columns import import_pyarrow
from dpcov.sensitive.sources.choice import Wanted, choose_from_frame
from dpcov.sensitive.sources.names import frame_names, look_like_cells
from dpcov.sensitive.sources.refusals import read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvSource", "read_header"]

_BLOCK_BYTES = 4 << 20  # a line must fit; several are parsed ahead
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"]


class CsvSource(ArrowBatchSource):
    """A CSV file: read once to count its rows, and once for them."""

    _is_slow = True

    def __init__(self, path: Path, wanted: Wanted) -> None:
        pyarrow = import_pyarrow()
        self._path = path
        self._labels = read_header(path)
        # Stating other names does not make a good header of a bad one.
        own = frame_names(list(self._labels), None)
        choice = choose_from_frame(own, wanted)
        self._names = choice.labels
        # The first column is enough to count, and bytes need no conversion.
        counted = self._read({self._labels[0]: pyarrow.binary()})
        super().__init__(choice, sum(batch.num_rows for batch in counted), path.name)

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        pyarrow = import_pyarrow()
        types = {self._labels[place]: pyarrow.float64() for place in places}
        if self._choice.unit in places:
            # As bytes: 007 and 7 are two people, and no encoding is guessed.
            types[self._labels[self._choice.unit]] = pyarrow.binary()
        return (batch.columns for batch in self._read(types))

    def _read(self, types: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        return read_all_or_refuse(
            lambda: _parse(self._path, types, n_columns=len(self._labels)), self._explain
        )

    def _explain(self, error: Exception) -> str:
        """Say what is wrong, from the beginning of what Arrow says: the end may quote a cell."""
        if found := re.match(r"In CSV column #(\d+): ", str(error)):
            return (
                f"Column {self._names[int(found[1])]!r} of {self._path.name} is not numeric: it "
                "has a cell that is not a number. Drop it first, leave it out by select=, or "
                "convert it by a public rule."
            )
        return _explain(self._path, error)


def read_header(path: Path) -> tuple[str, ...]:
    """Return the column names in the first line of a CSV file."""
    pyarrow = import_pyarrow()
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty: it has no header.")

    def read() -> tuple[str, ...]:
        # The lines after it are not shown to Arrow, which would look for types in them.
        with _parse(pyarrow.BufferReader(_first_line(path)), {}, n_columns=0) as reader:
            return tuple(reader.schema.names)

    labels = read_or_refuse(read, lambda error: _explain(path, error))
    if len(labels) == 1 and ";" in labels[0]:
        raise InputError(
            f"{path.name} has one column, whose name holds semicolons: it seems to be separated by "
            "them. dpcov reads commas, and points in numbers; save it again like that."
        )
    if look_like_cells(list(labels)):
        # Stating columns= would not help: the first person would be lost.
        raise InputError(
            f"Most column names in the first line of {path.name} are numbers or empty: then "
            "they are somebody's row. A CSV file must begin with a line of column names."
        )
    return labels


def _first_line(path: Path) -> bytes:
    lines = b""
    with path.open("rb") as file:
        while len(lines) < _BLOCK_BYTES and (line := file.readline(_BLOCK_BYTES)):
            lines += line
            # A name in quotes may have line breaks.
            if lines.strip() and lines.count(b'"') % 2 == 0:
                break
    return lines + b"\n"


def _parse(file: Any, types: dict[str, Any], *, n_columns: int) -> Any:
    """Begin to parse the columns that have a type, or all."""
    from pyarrow import csv

    return csv.open_csv(
        file,
        # Only without threads does Arrow number a row that it refuses: good for counting.
        csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=len(types) > 1),
        # The blank lines of a file with one column are missing cells: a row each.
        csv.ParseOptions(ignore_empty_lines=n_columns != 1),
        csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=_MISSING,
            strings_can_be_null=True,
            check_utf8=False,
        ),
    )


def _explain(path: Path, error: Exception) -> str:
    if found := re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) col", str(error)):
        where = "A row" if found[1] is None else f"Row {found[1]}, counted from the header,"
        return f"{where} of {path.name} has more or fewer cells than the {found[2]} of its header."
    return f"{path.name} cannot be read as a CSV file in UTF-8 with commas and a header."
