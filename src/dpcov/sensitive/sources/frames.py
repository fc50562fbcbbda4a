"""Rows from data frames: pandas, polars and pyarrow tables, and polars lazy frames.

narwhals gives them one face, and imports none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dpcov.sensitive.sources.blocks import Part, batch_rows, cut_blocks, expect_rows
from dpcov.sensitive.sources.names import frame_names, refuse_column
from dpcov.sensitive.sources.refusals import read_all_or_refuse, read_or_refuse

__all__ = ["FrameSource", "LazySource"]

_FAILED = (
    "The lazy frame X cannot be computed. What polars says may quote a cell and is not repeated "
    "here; X.collect() shows it."
)


class FrameSource:
    """A data frame in memory."""

    def __init__(self, table: Any, given: Sequence[str] | None) -> None:
        self._frame = _as_frame(table)
        self.n_rows: int | None = len(self._frame)
        self.columns = frame_names(list(self._frame.columns), given)
        _check_types(self._frame.schema, self.columns)

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, converted one after the other."""
        for start in range(0, len(self._frame), size):
            part = self._frame[start : start + size]
            block = np.empty(part.shape, order="F")
            for index, column in enumerate(part.iter_columns()):
                block[:, index] = _read_column(column, self.columns[index])
            yield block


class LazySource:
    """A polars lazy frame: computed once for the number of rows, and once for the rows.

    The rows come in batches, in order, where polars can do that (`collect_batches`);
    otherwise the frame is collected in memory.
    """

    def __init__(self, table: Any, given: Sequence[str] | None) -> None:
        self._table = table
        frame = nw.from_native(table)
        schema = read_or_refuse(frame.collect_schema, _FAILED)
        self.columns = frame_names(list(schema), given)
        _check_types(schema, self.columns)
        self.n_rows: int | None = read_or_refuse(
            lambda: int(frame.select(nw.len()).collect().item()), _FAILED
        )

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, computed while they are asked for."""
        n_columns = len(self.columns)
        blocks = cut_blocks(self._parts(), n_columns=n_columns, size=size)
        return expect_rows(blocks, self.n_rows or 0, "The lazy frame X")

    def _parts(self) -> Iterator[Part]:
        for batch in read_all_or_refuse(self._batches, _FAILED):
            frame = nw.from_native(batch, eager_only=True)
            yield [
                _read_column(column, name)
                for name, column in zip(self.columns, frame.iter_columns(), strict=True)
            ]

    def _batches(self) -> Iterable[Any]:
        if not hasattr(self._table, "collect_batches"):
            return [self._table.collect()]
        batches: Iterable[Any] = self._table.collect_batches(
            chunk_size=batch_rows(len(self.columns)), maintain_order=True, engine="streaming"
        )
        return batches


def _as_frame(table: Any) -> nw.DataFrame[Any]:
    def say(error: Exception) -> str:
        if isinstance(error, nw.exceptions.DuplicateError):
            return "X has two columns of the same name; rename one of them."
        return "X cannot be read as a data frame."

    return read_or_refuse(lambda: nw.from_native(table, eager_only=True), say)


def _check_types(schema: Mapping[str, nw.dtypes.DType], names: tuple[str, ...]) -> None:
    for name, dtype in zip(names, schema.values(), strict=True):
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise refuse_column(name, type(dtype).__name__)


def _read_column(column: nw.Series[Any], name: str) -> npt.NDArray[Any]:
    """Return a numeric or boolean column as an array, nulls as NaN."""

    def convert() -> npt.NDArray[Any]:
        # Arrow refuses, and quotes, 64-bit integers that do not fit a float: numpy rounds.
        plain = column
        if column.dtype == nw.Boolean:
            plain = column.cast(nw.Int8)
        elif column.dtype in (nw.Decimal, nw.Int128, nw.UInt128):
            plain = column.cast(nw.Float64)
        return plain.to_numpy().astype(np.float64, copy=False)

    kind = type(column.dtype).__name__
    return read_or_refuse(convert, f"Column {name!r} of type {kind} cannot be read as numbers.")
