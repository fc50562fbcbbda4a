"""Rows from a CSV file, compressed or not: a header and cells.

Arrow splits lines into cells, and gives them as they are written. It converts none and guesses no
type: what a cell becomes follows from that cell and from what is stated of its column. A cell that
is no number is missing, as an empty one is. A blank line is nobody's row. Arrow is shown the rows
alone, and never the header.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.csv_form import CsvForm
from dpcov.columns.written import MARKS
from dpcov.errors import InputError
from dpcov.sensitive.tables.arrow import ArrowBatchSource
from dpcov.sensitive.tables.arrow_columns import import_pyarrow
from dpcov.sensitive.tables.arrow_numbers import numbers_in_texts
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame
from dpcov.sensitive.tables.csv_header import BOM, Header, check_header, is_compressed, read_header
from dpcov.sensitive.tables.csv_rows import count_lines
from dpcov.sensitive.tables.keys import Keys, refuse_missing_unit
from dpcov.sensitive.tables.kinds import Declared, Files, TableKind
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "CsvSource"]

_LONGEST_ROW, _LONGEST_CELL = 1 << 20, 100  # in bytes: of a few columns, and of each of many
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected \d+ col")


class CsvSource(ArrowBatchSource):
    """A CSV file: read once to count its rows or its line breaks, and once for its cells."""

    _is_slow = True

    def __init__(self, path: Path, wanted: Wanted) -> None:
        import_pyarrow()
        self._path = path
        self._has_header, self._form = wanted.header is not False, wanted.csv
        self._header, choice, self._wanted = _open(path, wanted)
        self._labels = choice.labels
        super().__init__(choice, self._count_rows(), path.name)

    def _count_rows(self) -> int:
        """Return the number of rows, and refuse one that is too long, wherever it stands."""
        if not is_compressed(self._path):
            counted = count_lines(self._path, self._header.end)
            if counted is not None:
                n_rows, longest = counted
                self._check_length(longest)
                # Other columns than are stated are refused at once: the first rows tell.
                next(self._read([0]), None)
                return n_rows
        n_rows = 0
        for batch in self._read(range(len(self._labels))):
            n_rows += batch.num_rows
            self._check_length(_longest_row(batch))
        return n_rows

    def _check_length(self, longest: int) -> None:
        if longest > _most_bytes(len(self._labels)):
            raise InputError(self._too_long())

    def _too_long(self) -> str:
        return (
            f"A row of {self._path.name} has more than {_most_bytes(len(self._labels)):,} bytes, "
            "the most for its number of columns; or a quotation mark is not closed. Write the file "
            "without that cell, or without the column of long texts."
        )

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        return (batch.columns for batch in self._read(places))

    def _cells(self, column: Any, rule: CellRule) -> npt.NDArray[Any]:
        if rule.mode != "number":
            return super()._cells(column, rule)
        return rule.of_numbers(
            read_or_refuse(
                lambda: numbers_in_texts(column, self._form.decimal),
                f"{self._path.name} cannot be read.",
            )
        )

    def _keys(self, column: Any, name: str) -> Keys:
        from pyarrow import compute

        if compute.any(compute.is_in(column, import_pyarrow().array(MARKS).cast("binary"))).as_py():
            raise refuse_missing_unit(name)
        if compute.any(compute.starts_with(column, pattern=BOM)).as_py():
            raise InputError(
                f"Unit column {name!r} of {self._path.name} has a cell that begins with a byte "
                "order mark, as when files were joined: one person could count as two. Write the "
                "file without it."
            )
        return super()._keys(column, name)

    def _read(self, places: Collection[int]) -> Iterator[pa.RecordBatch]:
        if self._has_header and read_header(self._path, self._form) != self._header:
            raise InputError(f"{self._path.name} changed while it was read.")
        return read_all_or_refuse(
            lambda: _parse(self._path, self._header, places, self._form), self._explain
        )

    def _explain(self, error: Exception) -> str:
        """Say what is wrong, from the beginning of what Arrow says: the end may quote a cell."""
        labels, file = self._labels, self._path.name
        if "straddl" in str(error):
            return self._too_long()
        if found := _RAGGED.match(str(error)):
            number = found[1] or self._find_ragged()
            where = f"Row {int(number) + self._has_header} " if number else "A row "
            counted = "of its header" if self._has_header else "names that are stated"
            advice = (
                ""
                if self._has_header
                else " Without a header all columns of a file are stated: write a line of names "
                "at its top, and state some."
            )
            return (
                f"{where}of {file}, counted from its first line, has more or fewer cells than "
                f"the {len(labels)} {counted}.{advice}"
            )
        return (
            f"{file} cannot be read as a CSV file in UTF-8 with {self._form.called} and a header."
        )

    def _find_ragged(self) -> str | None:
        """Return the number of the row that Arrow refused: it says so only without threads."""
        try:
            for _ in _parse(self._path, self._header, [0], self._form):
                pass
        except import_pyarrow().ArrowInvalid as error:
            found = _RAGGED.match(str(error))
            return found[1] if found else None
        return None


def _most_bytes(n_columns: int) -> int:
    """Return how long a row may be: its cells, without quotation marks, and what separates them."""
    return max(_LONGEST_ROW, _LONGEST_CELL * n_columns)


def _block_bytes(n_columns: int) -> int:
    """Return how much Arrow parses at a time; several blocks are parsed ahead.

    The longest row fits, also with a quotation mark for each letter and two for each cell.
    """
    return 4 * _most_bytes(n_columns)


def _longest_row(batch: pa.RecordBatch) -> int:
    """Return the length of the longest row of a batch that has all columns."""
    from pyarrow import compute

    lengths = np.full(batch.num_rows, batch.num_columns - 1)
    for column in batch.columns:
        lengths += compute.binary_length(column).to_numpy()
    return int(lengths.max(initial=0))


def _open(path: Path, wanted: Wanted) -> tuple[Header, Choice, Wanted]:
    """Return the names, which columns are read, and what is wanted of them."""
    if wanted.header is False:
        labels = _stated_labels(wanted, path.name)
        header = Header(labels, 0)
        wanted = replace(wanted, columns=labels, select=None, header=None)
    else:
        header = read_header(path, wanted.csv)
        check_header(header, wanted, path.name)
    choice = choose_from_frame(header.labels, wanted)
    types = [CellType("unknown", "text")] * len(header.labels)
    return header, with_rules(choice, types, wanted, form=wanted.csv.numbers), wanted


def _stated_labels(wanted: Wanted, name: str) -> tuple[str, ...]:
    """Return the names that a caller states for a file that has none."""
    stated = (wanted.stated_names or None) if wanted.columns is None else wanted.columns
    patterns = () if wanted.facts is None else wanted.facts.patterns
    if patterns:
        raise InputError(
            f"{patterns[0]!r} is a pattern of names, and {name} has none with header=False. State "
            "the names of all columns, in the file's order."
        )
    is_apart = wanted.privacy_unit is not None or wanted.weight is not None
    if stated is None or (is_apart and wanted.columns is None):
        raise InputError(
            f"With header=False the names of all columns of {name} must be stated with columns=, "
            "in the file's order, those of the unit column and the weight too. Or write a line of "
            "names at its top."
        )
    return tuple(stated)


def _parse(
    path: Path, header: Header, places: Collection[int], form: CsvForm
) -> Iterable[pa.RecordBatch]:
    """Begin to parse some columns: their cells as they are written, in bytes."""
    from pyarrow import csv

    n_columns, names = len(header.labels), list(map(str, places))
    file = _after(path, header.end)
    if file is None:
        return ()
    reader: Iterable[pa.RecordBatch] = csv.open_csv(
        file,
        csv.ReadOptions(
            # By place: names may be repeated among the columns that are not read.
            column_names=[str(place) for place in range(n_columns)],
            block_size=_block_bytes(n_columns),
            # Only without threads does Arrow number a row that it refuses: good for counting.
            use_threads=len(names) > 1,
        ),
        # A cell in quotes may have several lines, also where a block ends.
        csv.ParseOptions(
            delimiter=form.delimiter, ignore_empty_lines=True, newlines_in_values=True
        ),
        csv.ConvertOptions(
            # As bytes: 007 and 7 are two people, and no encoding is guessed.
            column_types=dict.fromkeys(names, import_pyarrow().binary()),
            include_columns=names,
            # The rule of a column says which cells are missing.
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    return reader


def _after(path: Path, start: int) -> Any:
    """Return a file that is open where its rows begin, or None if there are none.

    It begins with the line break before them: of the first line Arrow takes a byte order mark
    off, and would read a cell there that it reads nowhere else.
    """
    pyarrow = import_pyarrow()
    file = pyarrow.OSFile(str(path))
    before = max(0, start - 1)
    if not is_compressed(path):
        if file.size() <= start:
            return None
        file.seek(before)
        return file
    stream = pyarrow.CompressedInputStream(file, "gzip")
    if len(stream.read(before)) < before:
        return None
    # Arrow refuses a stream without a byte, as it does a file, and one that begins with half a
    # byte order mark, or with a mark and no more.
    first = stream.read(start - before + len(BOM) + 1)
    if len(first) <= start - before:
        return None
    return pyarrow.PythonFile(_Rejoined(first, stream), mode="r")


class _Rejoined:
    """A stream whose first bytes were read already. Arrow asks no more of it than this."""

    closed = False

    def __init__(self, first: bytes, rest: Any) -> None:
        self._first, self._rest = first, rest

    def read(self, size: int = -1) -> bytes:
        first, self._first = self._first[:size], self._first[size:]
        return first or bytes(self._rest.read(size))

    def close(self) -> None:
        self._rest.close()


def _declare(files: Files, wanted: Wanted) -> Declared:
    header = read_header(files.first, wanted.csv)
    check_header(header, wanted, files.first.name)
    return Declared(header.labels, [CellType("unknown")] * len(header.labels))


KIND = TableKind(
    called="",
    open=lambda files, opening: CsvSource(files.first, opening.wanted),
    declare=_declare,
    suffixes=(".csv", ".csv.gz"),
)
