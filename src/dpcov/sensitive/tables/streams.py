"""Rows from Arrow streams: readers, and anything with ``__arrow_c_stream__``.

A stream can be read once, and does not say how long it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrow import open_reader
from dpcov.sensitive.tables.arrow_columns import (
    choose_from_schema,
    declare_schema,
    import_pyarrow,
    read_arrow_cells,
)
from dpcov.sensitive.tables.blocks import cut_blocks
from dpcov.sensitive.tables.choice import Choice, Wanted
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.kinds import Declared, Opening, TableKind
from dpcov.sensitive.tables.names import check_shape
from dpcov.sensitive.tables.refusals import read_all_or_refuse
from dpcov.sensitive.tables.source import MAX_STREAM_ROWS, RowSource

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "StreamSource"]


class StreamSource:
    """A stream that can be read once, and does not say how long it is.

    Keeping rows until they are counted is what this class refuses to do; `spool` does it.
    """

    def __init__(
        self, reader: pa.RecordBatchReader, wanted: Wanted, *, fewest_rows: int, most_rows: int
    ) -> None:
        self._choice = choose_from_schema(reader.schema, wanted)
        self.columns, self.fields = self._choice.names, self._choice.fields
        self.left_out = self._choice.left_out
        self.person_column = self._choice.person
        check_shape(fewest_rows, len(self.columns) - (wanted.weight is not None), fewest_rows)
        self.n_rows: int | None = None
        self._reader: pa.RecordBatchReader | None = reader
        self._fewest_rows, self._most_rows = fewest_rows, most_rows
        unit = self._choice.privacy_unit
        self._used = (*self._choice.places, *(() if unit is None else (unit,)))
        # Without what is noted beside the columns: names of others, and of an index.
        self.used_schema = import_pyarrow().schema([reader.schema.field(i) for i in self._used])

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks; `n_rows` is known after the last."""
        parts = (self._read(batch) for batch in self.used_batches(self._most_rows))
        yield from cut_blocks(parts, n_columns=len(self.columns), size=size)

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Refuse: a stream has no second reading."""
        raise InputError(
            "privacy_unit= needs two readings of the table, one to count the rows of each unit "
            "and one for the rows; a stream can be read only once. Write it to a Parquet file "
            "and pass its path, or read it into a table."
        )

    @property
    def used_choice(self) -> Choice:
        """Which columns are read of the batches of `used_batches`."""
        labels = tuple(self._choice.labels[place] for place in self._used)
        numbers = len(self.columns)
        has_unit = self._choice.privacy_unit is not None
        unit = numbers if has_unit else None
        weight = None if self._choice.weight is None else numbers - 1
        places = tuple(range(numbers))
        return replace(self._choice, labels=labels, places=places, privacy_unit=unit, weight=weight)

    def used_batches(self, most_rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns of numbers of each batch, and then the unit's: the one reading."""
        if self._reader is None:
            raise InputError("The stream was read already, and can be read only once.")
        reader, self._reader = self._reader, None
        batches = read_all_or_refuse(
            lambda: reader,
            "The stream broke off before its end. What its library says may quote a cell and "
            "is not repeated. Nothing was released.",
        )
        n_rows = 0
        for batch in batches:
            n_rows += len(batch)
            if most_rows is not None and n_rows > most_rows:
                raise InputError(
                    f"The stream has more than {most_rows} rows, the most that can be "
                    "read when their number is not known before. Write it to Parquet files and "
                    "pass their folder."
                )
            columns = [batch.column(place) for place in self._used]
            yield import_pyarrow().RecordBatch.from_arrays(columns, schema=self.used_schema)
        if n_rows < self._fewest_rows:
            raise InputError(
                f"The stream gave {n_rows} row(s); at least {self._fewest_rows} needed. It "
                "ended early, or was read before: a stream can be read only once."
            )
        self.n_rows = n_rows

    def _read(self, batch: pa.RecordBatch) -> list[npt.NDArray[Any]]:
        return [
            read_arrow_cells(batch.column(place), rule)
            for place, rule in enumerate(self._choice.rules)
        ]


def _is_stream(table: Any) -> bool:
    if type(table).__module__.startswith("pyarrow"):
        return hasattr(table, "schema")
    return hasattr(table, "__arrow_c_stream__")


def _open(table: Any, opening: Opening) -> RowSource:
    pyarrow = import_pyarrow()
    if isinstance(table, pyarrow.RecordBatch):
        # It offers a stream, but is in memory and can be read as often as needed.
        from dpcov.sensitive.tables.frames import FrameSource

        return FrameSource(pyarrow.Table.from_batches([table]), opening.wanted)
    return StreamSource(
        open_reader(table),
        opening.wanted,
        fewest_rows=opening.fewest_rows,
        most_rows=MAX_STREAM_ROWS,
    )


def _declare(table: Any, wanted: Wanted) -> Declared:
    if type(table).__module__.startswith("pyarrow"):
        return declare_schema(table.schema)
    if type(table).__module__.startswith("duckdb"):
        table = table.limit(0)  # an empty answer has the same schema, and costs nothing
    return declare_schema(open_reader(table).schema)


KIND = TableKind(
    called="an Arrow stream",
    open=_open,
    declare=_declare,
    recognize=_is_stream,
)
