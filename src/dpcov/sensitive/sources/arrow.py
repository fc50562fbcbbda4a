"""Rows from Arrow: data sets, readers, and anything with ``__arrow_c_stream__``.

Owns the conversion of Arrow columns to numbers, which files share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.errors import InputError, MissingExtraError
from dpcov.sensitive.sources.blocks import Part, batch_rows, cut_blocks, expect_rows
from dpcov.sensitive.sources.names import ACCEPTED, check_shape, frame_names, refuse_column
from dpcov.sensitive.sources.refusals import kind_of, read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

    from dpcov.sensitive.sources import RowSource

__all__ = ["check_arrow_types", "import_pyarrow", "open_arrow", "read_batch"]


def import_pyarrow() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(
            "CSV and Parquet files and Arrow streams need pyarrow: pip install 'dpcov[files]'"
        ) from None
    return pyarrow


def open_arrow(
    table: Any, given: Sequence[str] | None, *, fewest_rows: int, most_rows: int
) -> RowSource:
    """Return an Arrow object as a source of rows; see `StreamSource` for the limits."""
    pyarrow = import_pyarrow()
    if type(table).__module__ == "pyarrow._dataset":
        return _DatasetSource(table, given)
    reader = read_or_refuse(
        lambda: (
            table
            if isinstance(table, pyarrow.RecordBatchReader)
            else pyarrow.RecordBatchReader.from_stream(table)
        ),
        f"X must be {ACCEPTED}; got {kind_of(table)}, which gives no stream of rows.",
    )
    return StreamSource(reader, given, fewest_rows=fewest_rows, most_rows=most_rows)


class StreamSource:
    """A stream that can be read once, and does not say how long it is.

    Parameters
    ----------
    reader : RecordBatchReader
        The stream.
    given : sequence of str or None
        Column names.
    fewest_rows, most_rows : int
        How long it may turn out to be. Keeping rows, on disk or in memory, until they are
        counted is what this class refuses to do.
    """

    def __init__(
        self,
        reader: pa.RecordBatchReader,
        given: Sequence[str] | None,
        *,
        fewest_rows: int,
        most_rows: int,
    ) -> None:
        self.columns = frame_names(list(reader.schema.names), given)
        check_arrow_types(reader.schema, self.columns)
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
        parts = (read_batch(batch, self.columns) for batch in batches)
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


class _DatasetSource:
    """A pyarrow data set: read in its own order, twice if its format does not store counts."""

    def __init__(self, dataset: Any, given: Sequence[str] | None) -> None:
        if not hasattr(dataset, "count_rows") or not hasattr(dataset, "schema"):
            raise InputError(f"X must be {ACCEPTED}; got {kind_of(dataset)}.")
        self._dataset = dataset
        self.columns = frame_names(list(dataset.schema.names), given)
        check_arrow_types(dataset.schema, self.columns)
        self.n_rows: int | None = read_or_refuse(dataset.count_rows, self._failed)

    _failed = (
        "The data set X cannot be read: a file of it is missing, truncated, or not of its schema."
    )

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, with little read ahead so that memory stays bounded."""
        n_columns = len(self.columns)
        batches: Iterable[pa.RecordBatch] = read_all_or_refuse(
            lambda: self._dataset.to_batches(
                batch_size=batch_rows(n_columns), batch_readahead=1, fragment_readahead=1
            ),
            self._failed,
        )
        parts = (read_batch(batch, self.columns) for batch in batches)
        blocks = cut_blocks(parts, n_columns=n_columns, size=size)
        return expect_rows(blocks, self.n_rows or 0, "The data set X")


def check_arrow_types(schema: pa.Schema, names: tuple[str, ...], *, of: str = "") -> None:
    """Refuse a column that is not numeric, by its name and its declared type."""
    types = import_pyarrow().types
    for name, kind in zip(names, schema.types, strict=True):
        if not (
            types.is_integer(kind)
            or types.is_floating(kind)
            or types.is_boolean(kind)
            or types.is_decimal(kind)
        ):
            # A nested type would list its parts: the first word is enough.
            raise refuse_column(name, str(kind).split("<")[0], of=of)


def read_batch(batch: pa.RecordBatch, names: tuple[str, ...]) -> Part:
    """Return the columns of a batch as arrays, nulls as NaN."""
    return [_read_column(*pair) for pair in zip(batch.columns, names, strict=True)]


def _read_column(column: Any, name: str) -> npt.NDArray[Any]:
    return read_or_refuse(lambda: _as_array(column), f"Column {name!r} cannot be read as numbers.")


def _as_array(column: Any) -> npt.NDArray[Any]:
    pyarrow = import_pyarrow()
    # Arrow refuses, and quotes, 64-bit integers that do not fit a float: numpy rounds.
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    elif pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    array: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array
