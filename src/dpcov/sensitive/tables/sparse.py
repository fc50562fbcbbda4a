"""Rows from matrices and arrays of scipy.sparse."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dpcov.sensitive.tables.arrays import check_array, declare_array, shape_of
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.kinds import TableKind
from dpcov.sensitive.tables.slices import SplitSource

__all__ = ["KIND", "SparseSource"]


class SparseSource(SplitSource):
    """A scipy.sparse matrix or array; a cell that is not stored is 0, and not missing."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        check_array(table.ndim, table.dtype)
        self._rows = table.tocsr()
        super().__init__(*shape_of(table, wanted))

    def _narrow(self, rows: slice) -> None:
        self._rows = self._rows[rows]

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        dense: npt.NDArray[Any] = self._rows[rows][:, places].toarray()
        return dense


def _is_sparse(table: Any) -> bool:
    return type(table).__module__.startswith("scipy.sparse") and hasattr(table, "tocsr")


KIND = TableKind(
    called="a sparse matrix",
    open=lambda table, opening: SparseSource(table, opening.wanted),
    declare=lambda table, wanted: declare_array(table),
    recognize=_is_sparse,
)
