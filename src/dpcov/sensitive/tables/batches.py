"""Tables that a library reads in batches of its own length, and as often as asked.

Owns the two readings of such a table: one for the keys of the unit column, one for the
rows, and the check that they saw the same rows in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.tables.blocks import Part, cut_blocks, expect_rows, read_ahead
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.choice import Choice
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.keys import Keys, check_keys

__all__ = ["BatchSource"]


class BatchSource(ABC):
    """A source of rows, from any iterator over batches of columns.

    Parameters
    ----------
    choice : Choice
        Which columns are read.
    n_rows : int
        How many rows there are.
    name : str
        What the table is called in messages.
    """

    _is_slow = False
    """Whether reading takes so long that it should go on while sums are made."""

    def __init__(self, choice: Choice, n_rows: int, name: str) -> None:
        self.columns, self.fields = choice.names, choice.fields
        self.left_out = choice.left_out
        self.person_column = choice.person
        self.n_rows: int | None = n_rows
        self._choice, self._length, self._name = choice, n_rows, name
        self._order: KeyOrder | None = None

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, whatever the batches."""
        blocks = cut_blocks(self._parts(), n_columns=len(self.columns), size=size)
        counted = expect_rows(blocks, self._length, self._name)
        return read_ahead(counted) if self._is_slow else counted

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield the keys of each batch."""
        unit, name = self._choice.unit_column
        runs = (self._keys(column, name) for (column,) in self._batches((unit,)))
        order = KeyOrder()
        for keys in check_keys(runs, n_rows=self._length, name=name, of=self._name):
            order.add(keys)
            yield keys
        self._order = order

    @abstractmethod
    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        """Yield the columns at some places of the table, batch after batch."""

    @abstractmethod
    def _cells(self, column: Any, rule: CellRule) -> npt.NDArray[Any]:
        """Return a column of a batch as numbers, missing cells as NaN."""

    @abstractmethod
    def _keys(self, column: Any, name: str) -> Keys:
        """Return the unit column of a batch as keys."""

    def _parts(self) -> Iterator[Part]:
        if self._order is None:
            for batch in self._batches(self._choice.places):
                yield self._part(batch)
                del batch  # before the next one is read
            return
        unit, name = self._choice.unit_column
        order = KeyOrder()
        for *batch, last in self._batches((*self._choice.places, unit)):
            order.add(self._keys(last, name))
            yield self._part(batch)
            del batch, last
        if order != self._order:
            raise InputError(
                f"{self._name} changed while it was read: its rows came in another order, or with "
                "other units, than when they were counted. Nothing was released. Write it to a "
                "Parquet file and pass its path."
            )

    def _part(self, batch: Sequence[Any]) -> Part:
        return [self._cells(*pair) for pair in zip(batch, self._choice.rules, strict=True)]
