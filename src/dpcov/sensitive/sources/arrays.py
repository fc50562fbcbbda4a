"""Rows from arrays: numpy, nested sequences, sparse matrices, and .npy files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.choice import Choice, Wanted, choose_from_array
from dpcov.sensitive.sources.names import ACCEPTED
from dpcov.sensitive.sources.refusals import read_or_refuse
from dpcov.sensitive.sources.slices import SlicedSource

__all__ = ["ArraySource", "NpySource", "SparseSource", "as_array", "check_array", "map_npy"]


class ArraySource(SlicedSource):
    """An array in memory; a masked cell is missing."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        self._array = as_array(table)
        check_array(self._array.ndim, self._array.dtype)
        super().__init__(*_shape(self._array, wanted))

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        cells = self._array[rows, places]
        if isinstance(cells, np.ma.MaskedArray):
            with np.errstate(all="ignore"):
                cells = np.ma.filled(cells.astype(np.float64), np.nan)
        return cells


class SparseSource(SlicedSource):
    """A scipy.sparse matrix or array; a cell that is not stored is 0, and not missing."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        check_array(table.ndim, table.dtype)
        self._rows = table.tocsr()
        super().__init__(*_shape(table, wanted))

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        dense: npt.NDArray[Any] = self._rows[rows][:, places].toarray()
        return dense


class NpySource(SlicedSource):
    """An array in a .npy file, mapped block by block so that memory does not grow with it."""

    def __init__(self, path: Path, wanted: Wanted) -> None:
        self._path = path
        array = map_npy(self._path)
        check_array(array.ndim, array.dtype, path.name)
        self._shape = array.shape
        super().__init__(*_shape(array, wanted), path.name)

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        # Pages of the file are given back with each map.
        array = map_npy(self._path)
        if array.shape != self._shape:
            raise InputError(f"{self._path.name} changed while it was read.")
        return np.array(array[rows, places])


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
