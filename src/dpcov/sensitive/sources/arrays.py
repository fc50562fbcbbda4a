"""Rows from arrays: numpy, nested sequences, sparse matrices, and .npy files."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.choice import Choice, Wanted, choose_from_array
from dpcov.sensitive.sources.key_order import KeyOrder
from dpcov.sensitive.sources.keys import Keys, refuse_missing_unit
from dpcov.sensitive.sources.names import ACCEPTED
from dpcov.sensitive.sources.pieces import FilePiece, MemoryPiece, Split
from dpcov.sensitive.sources.refusals import read_or_refuse
from dpcov.sensitive.sources.slices import SlicedSource, within_floats

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ArraySource", "NpySource", "SparseSource", "as_array", "check_array", "map_npy"]


class _SplitSource(SlicedSource):
    """Rows of which some can be read elsewhere."""

    def split(self, parts: int) -> Split:
        """Return about `parts` pieces of equal length."""
        size = max(1, -(-self._length // parts))
        starts = range(0, self._length, size)
        pieces = (self._between(start, min(start + size, self._length)) for start in starts)
        return Split.of([(piece._as_piece(), piece._length) for piece in pieces])

    def _between(self, start: int, stop: int) -> Self:
        """Return a source of some of the rows."""
        narrow = copy.copy(self)
        narrow._length = narrow.n_rows = stop - start
        narrow._narrow(slice(start, stop))
        return narrow

    def _as_piece(self) -> MemoryPiece | FilePiece:
        return MemoryPiece(self)

    @abstractmethod
    def _narrow(self, rows: slice) -> None:
        """Forget the other rows."""


class ArraySource(_SplitSource):
    """An array in memory; a masked cell is missing."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        self._array = as_array(table)
        check_array(self._array.ndim, self._array.dtype)
        super().__init__(*_shape(self._array, wanted))

    def _narrow(self, rows: slice) -> None:
        self._array = self._array[rows]

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        cells = self._array[rows, places]
        if isinstance(cells, np.ma.MaskedArray):
            missing = np.ma.getmaskarray(cells)
            cells = within_floats(np.ma.getdata(cells)).astype(np.float64)
            cells[missing] = np.nan
        return cells

    def _read_unit(self, rows: slice, place: int, name: str) -> npt.NDArray[Any]:
        cells = self._array[rows, place]
        if np.ma.is_masked(cells):
            raise refuse_missing_unit(name)
        # As it is: a chunk of a Dask array may be masked, and the next one not.
        return np.ma.getdata(cells)


class SparseSource(_SplitSource):
    """A scipy.sparse matrix or array; a cell that is not stored is 0, and not missing."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        check_array(table.ndim, table.dtype)
        self._rows = table.tocsr()
        super().__init__(*_shape(table, wanted))

    def _narrow(self, rows: slice) -> None:
        self._rows = self._rows[rows]

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        dense: npt.NDArray[Any] = self._rows[rows][:, places].toarray()
        return dense


class NpySource(_SplitSource):
    """An array in a .npy file, mapped block by block so that memory does not grow with it.

    Once the units were read, they must be the same when the rows are.
    """

    _order: KeyOrder | None = None

    def __init__(self, path: Path, wanted: Wanted) -> None:
        self._path = path
        array = map_npy(self._path)
        check_array(array.ndim, array.dtype, path.name)
        self._shape, self._first = array.shape, 0
        super().__init__(*_shape(array, wanted), path.name)

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield runs of `size` keys."""
        order = KeyOrder()
        for keys in super().unit_keys(size):
            order.add(keys)
            yield keys
        self._order = order

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, each from a map of its own."""
        order = KeyOrder()
        for place, block in enumerate(super().blocks(size)):
            if self._order is not None:
                order.add(self._keys(slice(place * size, (place + 1) * size)))
            yield block
        if self._order is not None and order != self._order:
            raise InputError(
                f"{self._path.name} changed while it was read: it has other units than when they "
                "were counted. Nothing was released."
            )

    def split(self, parts: int) -> Split:
        """Return about `parts` pieces of equal length."""
        split = super().split(parts)
        pieces = (replace(piece, has_units=self._order is not None) for piece in split.pieces)
        return Split(tuple(pieces), self._order)

    def _narrow(self, rows: slice) -> None:
        # Another process may be in another folder.
        self._path, self._first = self._path.absolute(), self._first + rows.start
        self._order = None

    def _as_piece(self) -> FilePiece:
        return FilePiece(self, (self._path,))

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        # Pages of the file are given back with each map.
        array = map_npy(self._path)
        if array.shape != self._shape:
            raise InputError(f"{self._path.name} changed while it was read.")
        # Not beyond this piece: the file has more rows.
        stop = self._first + min(rows.stop, self._length)
        return np.array(array[self._first + rows.start : stop, places])


def _shape(table: Any, wanted: Wanted) -> tuple[Choice, int]:
    return choose_from_array(int(table.shape[1]), wanted), int(table.shape[0])


def map_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array in a .npy file, of which nothing is read yet but its header."""

    def load() -> npt.NDArray[Any]:
        # Unlike np.load it reads nothing but this format, and never unpickles.
        array: npt.NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
        return array

    return read_or_refuse(
        load,
        f"{path.name} is not a complete .npy file of numbers: it is truncated, empty, "
        "of another format, or holds pickled objects, which could run code.",
    )


def check_array(ndim: int, dtype: np.dtype[Any], name: str = "X") -> None:
    """Refuse an array that is no table of numbers, by its declared type."""
    if ndim != 2:
        wanted = ACCEPTED if name == "X" else "a 2-D array"
        raise InputError(f"{name} must be {wanted}; got {ndim} dimension(s).")
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} must hold real numbers.")
    if dtype.kind not in "biuf":
        raise InputError(
            f"{name} must hold real numbers; got {dtype.type.__name__}. Convert or drop what is "
            "not a number."
        )


def as_array(table: Any) -> npt.NDArray[Any]:
    """Return an array or nested sequences as an array."""
    if isinstance(table, np.ma.MaskedArray):
        return table
    masked = not isinstance(table, np.ndarray) and any(
        isinstance(row, np.ma.MaskedArray) for row in table
    )
    return read_or_refuse(
        lambda: np.ma.stack(table) if masked else np.asarray(table),
        f"X must be {ACCEPTED}; these nested sequences have no common shape.",
    )
