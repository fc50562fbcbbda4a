"""Tables that can be read from any row to any other, and cut anywhere."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.sensitive.tables.choice import Choice
from dpcov.sensitive.tables.keys import Keys, as_keys, check_keys
from dpcov.sensitive.tables.pieces import FilePiece, MemoryPiece, Parts, Split, cut_range

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SlicedSource", "SplitSource", "within_floats"]

_FLOAT = np.dtype(np.float64)


class SlicedSource(ABC):
    """A source of rows, from anything that gives some columns of some rows.

    Parameters
    ----------
    choice : Choice
        Which columns are read.
    n_rows : int
        How many rows there are.
    name : str
        What the table is called in messages.
    """

    def __init__(self, choice: Choice, n_rows: int, name: str = "The table") -> None:
        self.columns, self.fields = choice.names, choice.fields
        self.left_out = choice.left_out
        self.person_column = choice.person
        self.n_rows: int | None = n_rows
        self._choice, self._length, self._name = choice, n_rows, name

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, without a copy where that can be."""
        # A list of places copies, and `slice(None)` does not.
        places = slice(None) if self._choice.is_whole else list(self._choice.places)
        for start in range(0, self._length, size):
            yield self._ruled(within_floats(self._read(slice(start, start + size), places)))

    def _ruled(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a block with codes and levels read, without a copy if there are none."""
        rules = self._choice.rules
        if all(rule.is_plain for rule in rules):
            return block
        cells = np.empty(block.shape, order="F")
        for place, rule in enumerate(rules):
            cells[:, place] = rule.of_numbers(block[:, place])
        return cells

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield runs of `size` keys."""
        _, name = self._choice.unit_column
        runs = (self._keys(slice(start, start + size)) for start in range(0, self._length, size))
        return check_keys(runs, n_rows=self._length, name=name, of=self._name)

    def _keys(self, rows: slice) -> Keys:
        unit, name = self._choice.unit_column
        return as_keys(self._read_unit(rows, unit, name), name)

    def _read_unit(self, rows: slice, place: int, name: str) -> npt.NDArray[Any]:
        """Return the unit column of some rows, as it is stored."""
        return self._read(rows, [place])[:, 0]

    @abstractmethod
    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        """Return some columns of some rows."""


class SplitSource(SlicedSource):
    """Rows of which some can be read elsewhere."""

    def split(self, parts: Parts) -> Split:
        """Return the pieces that are asked for."""
        pieces = map(self._between, cut_range(self._length, parts))
        return Split.of([(piece._as_piece(), piece._length) for piece in pieces])

    def _between(self, rows: slice) -> Self:
        """Return a source of some of the rows."""
        narrow = copy.copy(self)
        narrow._length = narrow.n_rows = rows.stop - rows.start
        narrow._narrow(rows)
        return narrow

    def _as_piece(self) -> MemoryPiece | FilePiece:
        return MemoryPiece(self)

    @abstractmethod
    def _narrow(self, rows: slice) -> None:
        """Forget the other rows."""


def within_floats(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return longer floats than float64 as float64: what is there and leaves them is far away."""
    if block.dtype.kind != "f" or block.dtype.itemsize <= _FLOAT.itemsize:
        return block
    # Overflow is meant, and a warning about it would be about the data.
    with np.errstate(all="ignore"):
        cells = block.astype(_FLOAT)
        most = np.finfo(_FLOAT).max
        np.clip(cells, -most, most, out=cells, where=np.isfinite(block))
    return cells
