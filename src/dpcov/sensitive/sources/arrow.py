"""Rows from Arrow: data sets, readers, and anything with ``__arrow_c_stream__``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrow_columns import (
    choose_from_schema,
    import_pyarrow,
    read_arrow_keys,
    read_arrow_numbers,
    stored_alike,
)
from dpcov.sensitive.sources.batches import BatchSource
from dpcov.sensitive.sources.blocks import batch_rows, cut_blocks
from dpcov.sensitive.sources.choice import Wanted
from dpcov.sensitive.sources.keys import Keys, refuse_mixture
from dpcov.sensitive.sources.names import ACCEPTED, check_shape
from dpcov.sensitive.sources.refusals import kind_of, read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

    from dpcov.sensitive.sources import RowSource

__all__ = ["ArrowBatchSource", "open_arrow", "open_reader"]


def open_arrow(table: Any, wanted: Wanted, *, fewest_rows: int, most_rows: int) -> RowSource:
    """Return an Arrow object as a source of rows; see `StreamSource` for the limits."""
    import_pyarrow()
    if type(table).__module__ == "pyarrow._dataset":
        return _DatasetSource(table, wanted)
    if wanted.unit is not None:
        raise InputError(
            "unit= needs two readings of X, one to count the rows of each unit and one for the "
            "rows; a stream can be read only once. Write it to a Parquet file and pass its path, "
            "or read it into a table."
        )
    return StreamSource(open_reader(table), wanted, fewest_rows=fewest_rows, most_rows=most_rows)


def open_reader(table: Any) -> pa.RecordBatchReader:
    """Return an Arrow object as a stream of batches, or say that it is none."""
    pyarrow = import_pyarrow()
    return read_or_refuse(
        lambda: (
            table
            if isinstance(table, pyarrow.RecordBatchReader)
            else pyarrow.RecordBatchReader.from_stream(table)
        ),
        f"X must be {ACCEPTED}; got {kind_of(table)}, which gives no stream of rows.",
    )


class StreamSource:
    """A stream that can be read once, and does not say how long it is.

    Parameters
    ----------
    reader : RecordBatchReader
        The stream.
    wanted : Wanted
        Names and columns.
    fewest_rows, most_rows : int
        How long it may turn out to be. Keeping rows, on disk or in memory, until they are
        counted is what this class refuses to do.
    """

    def __init__(
        self,
        reader: pa.RecordBatchReader,
        wanted: Wanted,
        *,
        fewest_rows: int,
        most_rows: int,
    ) -> None:
        self._choice = choose_from_schema(reader.schema, wanted)
        self.columns = self._choice.names
        check_shape(fewest_rows, len(self.columns), fewest_rows)
        self.n_rows: int | None = None
        self._reader: pa.RecordBatchReader | None = reader
        self._fewest_rows, self._most_rows = fewest_rows, most_rows

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks; `n_rows` is known after the last."""
        if self._reader is None:
            raise InputError("The stream X was read already, and can be read only once.")
        reader, self._reader = self._reader, None
        batches = read_all_or_refuse(
            lambda: reader,
            "The stream X broke off before its end. What its library says may quote a cell and "
            "is not repeated. Nothing was released.",
        )
        n_rows = 0
        parts = (self._read(batch) for batch in batches)
        for block in cut_blocks(parts, n_columns=len(self.columns), size=size):
            n_rows += len(block)
            if n_rows > self._most_rows:
                raise InputError(
                    f"The stream X has more than {self._most_rows} rows, the most that can be "
                    "read when their number is not known before. Write it to Parquet files and "
                    "pass their folder."
                )
            yield block
        if n_rows < self._fewest_rows:
            raise InputError(
                f"The stream X gave {n_rows} row(s); at least {self._fewest_rows} needed. It "
                "ended early, or was read before: a stream can be read only once."
            )
        self.n_rows = n_rows

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Refuse: a stream has no second reading."""
        raise AssertionError("unreachable: a stream with a unit column is not opened")

    def _read(self, batch: pa.RecordBatch) -> list[npt.NDArray[Any]]:
        places = self._choice.places
        return [
            read_arrow_numbers(batch.column(place), name)
            for place, name in zip(places, self.columns, strict=True)
        ]


class ArrowBatchSource(BatchSource):
    """Batches of Arrow columns, wherever they come from."""

    def _numbers(self, column: Any, name: str) -> npt.NDArray[Any]:
        return read_arrow_numbers(column, name)

    def _keys(self, column: Any, name: str) -> Keys:
        return read_arrow_keys(column, name)


class _DatasetSource(ArrowBatchSource):
    """A pyarrow data set: read in its own order, twice if its format does not store counts."""

    def __init__(self, dataset: Any, wanted: Wanted) -> None:
        if not hasattr(dataset, "count_rows") or not hasattr(dataset, "schema"):
            raise InputError(f"X must be {ACCEPTED}; got {kind_of(dataset)}.")
        self._dataset = dataset
        choice = choose_from_schema(dataset.schema, wanted)
        if choice.unit is not None:
            place, name = choice.unit_column
            label = dataset.schema.names[place]
            alike = partial(stored_alike, dataset.get_fragments(), [label], dataset.schema)
            if not read_or_refuse(alike, self._failed):
                raise refuse_mixture(name)
        n_rows = read_or_refuse(dataset.count_rows, self._failed)
        super().__init__(choice, n_rows, "The data set X")

    _failed = (
        "The data set X cannot be read: a file of it is missing, truncated, or not of its schema."
    )

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        labels = self._dataset.schema.names  # Arrow makes a new list each time
        names = [labels[place] for place in places]
        batches = read_all_or_refuse(
            # Little is read ahead so that memory stays bounded.
            lambda: self._dataset.to_batches(
                columns=names,
                batch_size=batch_rows(len(names)),
                batch_readahead=1,
                fragment_readahead=1,
            ),
            self._failed,
        )
        return (batch.columns for batch in batches)
