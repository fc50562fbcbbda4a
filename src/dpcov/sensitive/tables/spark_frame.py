"""Rows from a Spark data frame, as Arrow batches, one partition after the other.

Spark computes the frame anew for each reading: once for the number of rows, once for the
keys of a unit column, and once for each pass over the rows. Cache a frame that is dear to compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpcov.sensitive.tables.arrow import ArrowBatchSource, open_reader
from dpcov.sensitive.tables.arrow_columns import choose_from_schema, declare_schema, import_pyarrow
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.kinds import TableKind
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "SparkSource"]

_FAILED = (
    "The Spark data frame cannot be computed, or its session has ended. What Spark says may quote "
    "a cell and is not repeated here; its count() and show() show it. It must be a batch of "
    "version 4 or later, whose workers have pandas and pyarrow."
)


class SparkSource(ArrowBatchSource):
    """A Spark data frame.

    Notes
    -----
    The order of rows is no part of a Spark frame, and which rows of a unit are the first
    depends on it. If the rows come in another order after the units were read, they are
    refused: cache the frame, or write it to Parquet files.
    """

    def __init__(self, table: Any, wanted: Wanted) -> None:
        self._table = table
        choice = choose_from_schema(_schema(table), wanted)
        super().__init__(choice, read_or_refuse(table.count, _FAILED), "The Spark data frame")

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        unit = () if self._choice.privacy_unit is None else (self._choice.privacy_unit,)
        # The same columns in every reading: the order that a shuffle gives depends on them.
        computed = (*self._choice.places, *unit)
        for batch in read_all_or_refuse(lambda: self._read(computed), _FAILED):
            yield [batch.column(computed.index(place)) for place in places]

    def _read(self, places: tuple[int, ...]) -> pa.RecordBatchReader:
        # In back quotes, since a point would mean a part of a column; and then under plain
        # names, since Spark's way to Arrow has the same trouble.
        names = (self._table.columns[place].replace("`", "``") for place in places)
        picked = self._table.select(*(f"`{name}`" for name in names))
        return _as_reader(picked.toDF(*(f"c{place}" for place in places)))


def _schema(table: Any) -> pa.Schema:
    """Return the names and types of a Spark frame, which is not computed for that."""
    import_pyarrow()
    return read_or_refuse(lambda: _as_reader(table.limit(0)).schema, _FAILED)


def _as_reader(table: Any) -> pa.RecordBatchReader:
    if hasattr(table, "__arrow_c_stream__"):
        return open_reader(table)
    # The first versions of Spark 4 have nothing but this, which brings all rows to the driver.
    return table.toArrow().to_reader()


def _is_spark(table: Any) -> bool:
    """Return whether `table` is a Spark data frame, classic or of Spark Connect."""
    kind = type(table)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


KIND = TableKind(
    called="a Spark data frame",
    open=lambda table, opening: SparkSource(table, opening.wanted),
    declare=lambda table, wanted: declare_schema(_schema(table)),
    recognize=_is_spark,
)
