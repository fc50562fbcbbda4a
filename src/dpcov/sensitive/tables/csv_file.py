"""Rows from a CSV file: commas, a header, numbers.

Every column is read as float64, but for the unit column, which is read as it is written.
A type that is guessed from the first rows would make what is accepted depend on them.
Arrow is shown the rows alone, and never the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrow import ArrowBatchSource
from dpcov.sensitive.tables.arrow_columns import import_pyarrow
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame
from dpcov.sensitive.tables.csv_header import BOM, Header, check_header, read_header
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.kinds import Declared, Files, TableKind
from dpcov.sensitive.tables.names import call_column
from dpcov.sensitive.tables.refusals import read_all_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "CsvSource"]

_BLOCK_BYTES = 4 << 20  # a line must fit; several are parsed ahead
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"]


class CsvSource(ArrowBatchSource):
    """A CSV file: read once to count its rows, and once for them."""

    _is_slow = True

    def __init__(self, path: Path, wanted: Wanted) -> None:
        pyarrow = import_pyarrow()
        self._path = path
        self._has_header = wanted.header is not False
        self._states_names = wanted.states_names or not self._has_header
        self._header, choice = _open(path, wanted)
        self._labels = choice.labels
        # The first column is enough to count, and bytes need no conversion.
        counted = self._read({0: pyarrow.binary()})
        super().__init__(choice, sum(batch.num_rows for batch in counted), path.name)

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        pyarrow = import_pyarrow()
        types = dict.fromkeys(places, pyarrow.float64())
        if self._choice.privacy_unit in places:
            # As bytes: 007 and 7 are two people, and no encoding is guessed.
            types[self._choice.privacy_unit] = pyarrow.binary()
        return (batch.columns for batch in self._read(types))

    def _keys(self, column: Any, name: str) -> Keys:
        from pyarrow import compute

        # Arrow takes it off the first line alone, and not if a blank line stands before it.
        if compute.any(compute.starts_with(column, pattern=BOM)).as_py():
            raise InputError(
                f"Unit column {name!r} of {self._path.name} has a cell that begins with a byte "
                "order mark, as when files were joined: one person could count as two. Write the "
                "file without it."
            )
        return super()._keys(column, name)

    def _read(self, types: dict[int, Any]) -> Iterator[pa.RecordBatch]:
        if self._has_header and read_header(self._path) != self._header:
            raise InputError(f"{self._path.name} changed while it was read.")
        return read_all_or_refuse(lambda: _parse(self._path, self._header, types), self._explain)

    def _explain(self, error: Exception) -> str:
        """Say what is wrong, from the beginning of what Arrow says: the end may quote a cell."""
        labels, file = self._labels, self._path.name
        if found := re.match(r"In CSV column #(\d+): ", str(error)):
            place = int(found[1])
            called = call_column(labels[place], place, is_known=self._states_names)
            return (
                f"{called} of {file} is not numeric: it has a cell that is not a number. Drop it "
                "first, leave it out by columns=, or convert it by a public rule."
            )
        if found := re.match(r"CSV parse error: (?:Row #(\d+): )?Expected \d+ col", str(error)):
            where = f"Row {int(found[1]) + self._has_header} " if found[1] else "A row "
            counted = "of its header" if self._has_header else "names that are stated"
            advice = (
                ""
                if self._has_header
                else " Without a header all columns of a file are stated, and are numbers; for a "
                "file with others, write a line of names at its top."
            )
            return (
                f"{where}of {file}, counted from its first line, has more or fewer cells than "
                f"the {len(labels)} {counted}.{advice}"
            )
        return f"{file} cannot be read as a CSV file in UTF-8 with commas and a header."


def _open(path: Path, wanted: Wanted) -> tuple[Header, Choice]:
    """Return the names and which columns are read."""
    if wanted.header is False:
        labels = _stated_labels(wanted, path.name)
        return Header(labels, 0), choose_from_frame(
            labels, Wanted(labels, privacy_unit=wanted.privacy_unit)
        )
    header = read_header(path)
    check_header(header, wanted, path.name)
    return header, choose_from_frame(header.labels, wanted)


def _stated_labels(wanted: Wanted, name: str) -> tuple[str, ...]:
    """Return the names that a caller states for a file that has none."""
    stated = wanted.select if wanted.columns is None else wanted.columns
    if stated is None or (wanted.privacy_unit is not None and wanted.columns is None):
        raise InputError(
            f"With header=False the names of all columns of {name} must be stated with columns=, "
            "in the file's order, that of the unit column too. Or write a line of names at its top."
        )
    return tuple(stated)


def _parse(path: Path, header: Header, types: dict[int, Any]) -> Iterable[pa.RecordBatch]:
    """Begin to parse the columns that have a type."""
    from pyarrow import csv

    n_columns = len(header.labels)
    file = import_pyarrow().OSFile(str(path))
    if file.size() <= header.end:
        return ()
    file.seek(header.end)
    reader: Iterable[pa.RecordBatch] = csv.open_csv(
        file,
        csv.ReadOptions(
            # By place: names may be repeated among the columns that are not read.
            column_names=[str(place) for place in range(n_columns)],
            block_size=_BLOCK_BYTES,
            # Only without threads does Arrow number a row that it refuses: good for counting.
            use_threads=len(types) > 1,
        ),
        # The blank lines of a file with one column are missing cells: a row each.
        csv.ParseOptions(ignore_empty_lines=n_columns != 1),
        csv.ConvertOptions(
            column_types={str(place): kind for place, kind in types.items()},
            include_columns=[str(place) for place in types],
            null_values=_MISSING,
            strings_can_be_null=True,
            check_utf8=False,
        ),
    )
    return reader


def _declare(files: Files, wanted: Wanted) -> Declared:
    header = read_header(files.first)
    check_header(header, wanted, files.first.name)
    return Declared(header.labels, ["unknown"] * len(header.labels))


KIND = TableKind(
    called="",
    open=lambda files, opening: CsvSource(files.first, opening.wanted),
    declare=_declare,
    suffixes=(".csv",),
)
