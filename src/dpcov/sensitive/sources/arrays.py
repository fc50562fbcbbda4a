"""Rows from arrays: numpy, nested sequences, sparse matrices, and .npy files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.names import ACCEPTED, array_names
from dpcov.sensitive.sources.refusals import read_or_refuse

__all__ = ["ArraySource", "NpySource", "SparseSource"]


class ArraySource:
    """An array in memory; a masked cell is missing."""

    def __init__(self, table: Any, given: Sequence[str] | None) -> None:
        self._array = _as_array(table)
        _check_array(self._array.ndim, self._array.dtype)
        self.n_rows: int | None = self._array.shape[0]
        self.columns = array_names(given, self._array.shape[1])

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield views of the array."""
        for start in range(0, len(self._array), size):
            block = self._array[start : start + size]
            if isinstance(block, np.ma.MaskedArray):
                with np.errstate(all="ignore"):
                    block = np.ma.filled(block.astype(np.float64), np.nan)
            yield block


class SparseSource:
    """A scipy.sparse matrix or array; a cell that is not stored is 0, and not missing."""

    def __init__(self, table: Any, given: Sequence[str] | None) -> None:
        _check_array(table.ndim, table.dtype)
        self._rows = table.tocsr()
        self.n_rows: int | None = int(table.shape[0])
        self.columns = array_names(given, int(table.shape[1]))

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield dense blocks."""
        for start in range(0, self._rows.shape[0], size):
            yield self._rows[start : start + size].toarray()


class NpySource:
    """An array in a .npy file, mapped block by block so that memory does not grow with it."""

    def __init__(self, path: Path, given: Sequence[str] | None) -> None:
        self._path = path
        array = self._map()
        _check_array(array.ndim, array.dtype, path.name)
        self._shape = array.shape
        self.n_rows: int | None = array.shape[0]
        self.columns = array_names(given, array.shape[1])

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield copies; pages of the file are given back with each map."""
        for start in range(0, self._shape[0], size):
            array = self._map()
            if array.shape != self._shape:
                raise InputError(f"{self._path.name} changed while it was read.")
            yield np.array(array[start : start + size])

    def _map(self) -> npt.NDArray[Any]:
        def load() -> npt.NDArray[Any]:
            # Unlike np.load it reads nothing but this format, and never unpickles.
            array: npt.NDArray[Any] = np.lib.format.open_memmap(self._path, mode="r")
            return array

        return read_or_refuse(
            load,
            f"{self._path.name} is not a complete .npy file of numbers: it is truncated, empty, "
            "of another format, or holds pickled objects, which could run code.",
        )


def _check_array(ndim: int, dtype: np.dtype[Any], name: str = "X") -> None:
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


def _as_array(table: Any) -> npt.NDArray[Any]:
    if isinstance(table, np.ma.MaskedArray):
        return table
    masked = not isinstance(table, np.ndarray) and any(
        isinstance(row, np.ma.MaskedArray) for row in table
    )
    return read_or_refuse(
        lambda: np.ma.stack(table) if masked else np.asarray(table),
        f"X must be {ACCEPTED}; these nested sequences have no common shape.",
    )
