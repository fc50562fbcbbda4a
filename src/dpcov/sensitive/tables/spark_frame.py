"""Rows from a Spark data frame: where its partitions are, or as Arrow batches in this process.

Owns what dpcov knows of Spark's frames. Spark computes the frame anew for each reading: once for
the number of rows, once for the keys of a unit column, and once for each pass over the rows. Cache
a frame that is dear to compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.sensitive.tables.arrow import ArrowBatchSource, open_reader
from dpcov.sensitive.tables.arrow_columns import (
    choose_from_schema,
    declare_schema,
    import_pyarrow,
    read_arrow_keys,
)
from dpcov.sensitive.tables.blocks import Part, cut_blocks, expect_rows
from dpcov.sensitive.tables.choice import Choice, Wanted
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.keys import Keys, check_keys
from dpcov.sensitive.tables.kinds import Opening, TableKind
from dpcov.sensitive.tables.pieces import Parts, Piece, Split
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse
from dpcov.sensitive.workers.executors import FAILED, Executors, Partitions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "PartitionSource", "SparkSource"]

_CALLED = "The Spark data frame"


class SparkSource(ArrowBatchSource):
    """A Spark data frame.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
        The frame.
    wanted : Wanted
        Names and columns.
    on_executors : bool
        Whether its rows stay where they are. Otherwise they come to this process.

    Notes
    -----
    The order of rows is no part of a Spark frame, and which rows of a unit are drawn
    depends on it. If the units come in another order after the units were read, they are
    refused: cache the frame, or write it to Parquet files.
    """

    def __init__(self, table: Any, wanted: Wanted, *, on_executors: bool = False) -> None:
        self._table, self._on_executors = table, on_executors
        self._lengths: tuple[int, ...] = ()
        choice = choose_from_schema(_schema(table), wanted)
        super().__init__(choice, read_or_refuse(table.count, FAILED), _CALLED)

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield the keys of each batch; from the executors they come in boxes."""
        if not self._on_executors:
            yield from super().unit_keys(size)
            return
        _, name = self._choice.unit_column
        found = self._partitions().run(ReadKeys(name))
        found.sort(key=lambda each: each[0])
        self._lengths = tuple(sum(map(len, runs)) for _, runs in found)
        order = KeyOrder()
        runs = (run for _, runs in found for run in runs)
        for keys in check_keys(runs, n_rows=self._length, name=name, of=self._name):
            order.add(keys)
            yield keys
        self._order = order

    def split(self, parts: Parts) -> Split | None:
        """Return one piece for each partition; where all are alike, one for any of them."""
        if not self._on_executors:
            return None
        if self._order is None:
            any_one = Piece(OpenPartition(self._choice), self._length, 0)
            return Split((any_one,), executors=self._partitions())
        # What the executors open checks the order of units by itself, as it reads.
        pieces, start = [], 0
        for length in self._lengths:
            pieces.append(Piece(OpenPartition(self._choice, length, start), length, start))
            start += length
        return Split(tuple(pieces), self._order, self._partitions())

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        computed = _computed(self._choice)
        for batch in read_all_or_refuse(lambda: _as_reader(self._picked()), FAILED):
            yield [batch.column(computed.index(place)) for place in places]

    def _partitions(self) -> Partitions:
        return Partitions(read_or_refuse(self._picked, FAILED))

    def _picked(self) -> Any:
        # The same columns in every reading: the order that a shuffle gives depends on them.
        places = _computed(self._choice)
        # In back quotes, since a point would mean a part of a column; and then under plain
        # names, since Spark's way to Arrow has the same trouble.
        names = (self._table.columns[place].replace("`", "``") for place in places)
        picked = self._table.select(*(f"`{name}`" for name in names))
        return picked.toDF(*(f"c{place}" for place in places))


class PartitionSource(ArrowBatchSource):
    """The rows of one partition, where they are: they can be read once.

    Parameters
    ----------
    batches : iterator of RecordBatch
        Columns in the order of the choice, and the unit column last.
    choice : Choice
        Which columns are read.
    n_rows : int, optional
        How many rows there must be, if that is known.
    start : int, optional
        The place of the first row in the whole frame, if the order of units is to be found.
    """

    def __init__(
        self,
        batches: Iterator[Any],
        choice: Choice,
        n_rows: int | None = None,
        start: int | None = None,
    ) -> None:
        super().__init__(choice, 0 if n_rows is None else n_rows, _CALLED)
        self.n_rows = n_rows
        self.n_read = 0
        self.order = None if start is None else KeyOrder(start)
        self._all = batches

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, whatever the batches."""
        blocks = cut_blocks(self._parts(), n_columns=len(self.columns), size=size)
        return blocks if self.n_rows is None else expect_rows(blocks, self.n_rows, self._name)

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        return (batch.columns for batch in self._all)

    def _parts(self) -> Iterator[Part]:
        for batch in self._batches(_computed(self._choice)):
            self.n_read += len(batch[0])
            if self.order is not None:
                self.order.add(self._keys(batch[-1], self._choice.unit_column[1]))
            yield self._part(batch[: len(self._choice.places)])


@dataclass(frozen=True)
class OpenPartition:
    """How a partition is opened where it is. All of it is public."""

    choice: Choice
    n_rows: int | None = None
    start: int | None = None

    def __call__(self, batches: Iterator[Any]) -> PartitionSource:
        """Return the partition as a source of rows."""
        return PartitionSource(batches, self.choice, self.n_rows, self.start)


@dataclass(frozen=True)
class ReadKeys:
    """Finds whose the rows of a partition are; the unit column is the last."""

    name: str

    def __call__(self, place: int, batches: Iterator[Any]) -> tuple[int, list[Keys]]:
        """Return the number of the partition, and the keys of each batch."""
        return place, [read_arrow_keys(batch.columns[-1], self.name) for batch in batches]


def _computed(choice: Choice) -> tuple[int, ...]:
    """Return the places of all columns that are computed: the unit column last."""
    return choice.places if choice.privacy_unit is None else (*choice.places, choice.privacy_unit)


def _schema(table: Any) -> pa.Schema:
    """Return the names and types of a Spark frame, which is not computed for that."""
    import_pyarrow()
    return read_or_refuse(lambda: _as_reader(table.limit(0)).schema, FAILED)


def _as_reader(table: Any) -> pa.RecordBatchReader:
    if hasattr(table, "__arrow_c_stream__"):
        return open_reader(table)
    # The first versions of Spark 4 have nothing but this, which brings all rows to the driver.
    return table.toArrow().to_reader()


def _is_spark(table: Any) -> bool:
    """Return whether `table` is a Spark data frame, classic or of Spark Connect."""
    kind = type(table)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def _open(table: Any, opening: Opening) -> SparkSource:
    workers, wanted = opening.scheduler, opening.wanted
    on_executors = isinstance(workers, Executors)
    if on_executors and wanted.privacy_unit is not None:
        # Which rows count goes to the executors with the tasks; it tells of the unit column.
        on_executors = Executors.hide_tasks(table.sparkSession)
    return SparkSource(table, wanted, on_executors=on_executors)


KIND = TableKind(
    called="a Spark data frame",
    open=_open,
    declare=lambda table, wanted: declare_schema(_schema(table)),
    recognize=_is_spark,
    home="spark",
)
