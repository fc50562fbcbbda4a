"""Rows from polars lazy frames, which are computed for each reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy.typing as npt

from dpcov.sensitive.tables.batches import BatchSource
from dpcov.sensitive.tables.blocks import batch_rows
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.frames import (
    choose_from_types,
    declare_types,
    read_cells,
    read_keys,
)
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.kinds import TableKind
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse

__all__ = ["KIND", "LazySource"]

_FAILED = (
    "The lazy frame cannot be computed. What polars says may quote a cell and is not repeated "
    "here; its collect() shows it."
)


class LazySource(BatchSource):
    """A polars lazy frame: computed for the number of rows, and for each pass over the rows.

    The rows come in batches, in order, where polars can do that (`collect_batches`);
    otherwise the frame is collected in memory.
    """

    def __init__(self, table: Any, wanted: Wanted) -> None:
        self._lazy = nw.from_native(table)
        schema = _schema(table)
        n_rows = read_or_refuse(lambda: int(self._lazy.select(nw.len()).collect().item()), _FAILED)
        super().__init__(choose_from_types(schema, wanted), n_rows, "The lazy frame")

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        for batch in read_all_or_refuse(lambda: self._compute(places), _FAILED):
            yield list(nw.from_native(batch, eager_only=True).iter_columns())

    def _compute(self, places: tuple[int, ...]) -> Iterable[Any]:
        # By place: polars would read some names as patterns.
        table = self._lazy.select(nw.nth(*places)).to_native()
        if not hasattr(table, "collect_batches"):
            return [table.collect()]
        batches: Iterable[Any] = table.collect_batches(
            chunk_size=batch_rows(len(places)), maintain_order=True, engine="streaming"
        )
        return batches

    def _cells(self, column: Any, rule: CellRule) -> npt.NDArray[Any]:
        return read_cells(column, rule)

    def _keys(self, column: Any, name: str) -> Keys:
        return read_keys(column, name)


def _schema(table: Any) -> Mapping[str, nw.dtypes.DType]:
    """Return the names and types of a lazy frame, which is not computed for that."""
    return read_or_refuse(nw.from_native(table).collect_schema, _FAILED)


KIND = TableKind(
    called="a polars lazy frame",
    open=lambda table, opening: LazySource(table, opening.wanted),
    declare=lambda table, wanted: declare_types(_schema(table)),
    recognize=lambda table: bool(nw.dependencies.is_polars_lazyframe(table)),
)
