"""Batches of Arrow columns, wherever they come from: what data sets, streams and files share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.sensitive.tables.arrow_columns import (
    import_pyarrow,
    read_arrow_cells,
    read_arrow_keys,
)
from dpcov.sensitive.tables.batches import BatchSource
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.refusals import kind_of, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowBatchSource", "open_reader"]


class ArrowBatchSource(BatchSource):
    """Batches of Arrow columns, wherever they come from."""

    def _cells(self, column: Any, rule: CellRule) -> npt.NDArray[Any]:
        return read_arrow_cells(column, rule)

    def _keys(self, column: Any, name: str) -> Keys:
        return read_arrow_keys(column, name)


def open_reader(table: Any) -> pa.RecordBatchReader:
    """Return an Arrow object as a stream of batches, or say that it is none."""
    pyarrow = import_pyarrow()
    return read_or_refuse(
        lambda: (
            table
            if isinstance(table, pyarrow.RecordBatchReader)
            else pyarrow.RecordBatchReader.from_stream(table)
        ),
        f"The table must have rows and columns; got {kind_of(table)}, which gives no stream of "
        "rows.",
    )
