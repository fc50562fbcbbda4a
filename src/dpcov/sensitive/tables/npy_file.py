"""Rows from a .npy file: an array that is mapped and never unpickled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrays import check_array, declare_array, shape_of
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.kinds import TableKind
from dpcov.sensitive.tables.pieces import FilePiece, Parts, Split
from dpcov.sensitive.tables.refusals import read_or_refuse
from dpcov.sensitive.tables.slices import SplitSource

__all__ = ["KIND", "NpySource"]


class NpySource(SplitSource):
    """An array in a .npy file, mapped block by block so that memory does not grow with it.

    Once the units were read, they must be the same when the rows are.
    """

    _order: KeyOrder | None = None

    def __init__(self, path: Path, wanted: Wanted) -> None:
        self._path = path
        array = _map(self._path)
        check_array(array.ndim, array.dtype, path.name)
        self._shape, self._first = array.shape, 0
        super().__init__(*shape_of(array, wanted), path.name)

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

    def split(self, parts: Parts) -> Split:
        """Return the pieces that are asked for."""
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
        array = _map(self._path)
        if array.shape != self._shape:
            raise InputError(f"{self._path.name} changed while it was read.")
        # Not beyond this piece: the file has more rows.
        stop = self._first + min(rows.stop, self._length)
        return np.array(array[self._first + rows.start : stop, places])


def _map(path: Path) -> npt.NDArray[Any]:
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


KIND = TableKind(
    called="",
    open=lambda files, opening: NpySource(files.first, opening.wanted),
    declare=lambda files, wanted: declare_array(_map(files.first), files.first.name),
    suffixes=(".npy",),
)
