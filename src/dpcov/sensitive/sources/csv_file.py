"""Rows from a CSV file: commas, a header, numbers.

Every column is read as float64. A type that is guessed from the first rows would make
what is accepted depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrow import import_pyarrow, read_batch
from dpcov.sensitive.sources.blocks import cut_blocks, expect_rows
from dpcov.sensitive.sources.names import frame_names, look_like_cells
from dpcov.sensitive.sources.refusals import read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvSource"]

_BLOCK_BYTES = 4 << 20  # a line must fit; several are parsed ahead
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"]


class CsvSource:
    """A CSV file: read once to count its rows, and once for them."""

    def __init__(self, path: Path, given: Sequence[str] | None) -> None:
        pyarrow = import_pyarrow()
        self._path = path
        self._labels: tuple[str, ...] = ()
        if path.stat().st_size == 0:
            raise InputError(f"{path.name} is empty: it has no header.")
        self._labels = self._read_header()
        if look_like_cells(list(self._labels)):
            # Stating columns= would not help: the first person would be lost.
            raise InputError(
                f"Most column names in the first line of {path.name} are numbers or empty: then "
                "they are somebody's row. A CSV file must begin with a line of column names."
            )
        own = frame_names(list(self._labels), None)
        self.columns = own if given is None else frame_names(list(own), given)
        # The first column is enough to count, and bytes need no conversion.
        counted = self._batches({self._labels[0]: pyarrow.binary()})
        self.n_rows: int | None = sum(batch.num_rows for batch in counted)

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks across the pieces in which the file is parsed."""
        numbers = dict.fromkeys(self._labels, import_pyarrow().float64())
        parts = (read_batch(batch, self.columns) for batch in self._batches(numbers))
        blocks = cut_blocks(parts, n_columns=len(self.columns), size=size)
        return expect_rows(blocks, self.n_rows or 0, self._path.name)

    def _read_header(self) -> tuple[str, ...]:
        def read() -> tuple[str, ...]:
            with self._parse({}) as reader:
                return tuple(reader.schema.names)

        return read_or_refuse(read, self._explain)

    def _batches(self, types: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        return read_all_or_refuse(lambda: self._parse(types), self._explain)

    def _parse(self, types: dict[str, Any]) -> Any:
        """Begin to parse the columns that have a type, or all."""
        from pyarrow import csv

        return csv.open_csv(
            self._path,
            # Only without threads does Arrow number a row that it refuses: good for counting.
            csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=len(types) > 1),
            # The blank lines of a file with one column are missing cells: a row each.
            csv.ParseOptions(ignore_empty_lines=len(self._labels) != 1),
            csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=_MISSING,
                check_utf8=False,
            ),
        )

    def _explain(self, error: Exception) -> str:
        """Say what is wrong, from the beginning of what Arrow says: the end may quote a cell."""
        name = self._path.name
        if found := re.match(r"In CSV column #(\d+): ", str(error)):
            return (
                f"Column {self.columns[int(found[1])]!r} of {name} is not numeric: it has a cell "
                "that is not a number. Drop it first, or convert it by a public rule."
            )
        if found := re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) col", str(error)):
            where = "A row" if found[1] is None else f"Row {found[1]}, counted from the header,"
            return f"{where} of {name} has more or fewer cells than the {found[2]} of its header."
        return f"{name} cannot be read as a CSV file in UTF-8 with commas and a header."
