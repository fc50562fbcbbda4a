"""Rows of cells → the bins of a ruler, column by column.

Owns the loop over cells: each is limited, its distance from the origin is taken, and its bin is
read off that. numpy takes a dozen steps for that; a compiled loop, for rows that lie one after
the other, takes one. Both find the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.compiled import Loop, reads, suits
from dpcov.exact.finite import surely_finite
from dpcov.exact.ruler import EXPONENT, MANTISSA, Ruler

__all__ = ["Binning"]

Array = npt.NDArray[np.float64]
Bins = npt.NDArray[np.int32]
Find = Callable[[Array, Array, Array, Array, npt.NDArray[np.int64], int, int, Bins], bool]

_TILE_ROWS = 256
# What numpy works through in about the time of loading numba and compiling.
_WORTH_COMPILING = 3e8


class Binning:
    """Where cells are put: limits and a ruler, for each column.

    Examples
    --------
    >>> ruler = Ruler(np.zeros(1), np.array([40]), 10)
    >>> binning = Binning(ruler, lower=np.array([-1.0]), upper=np.array([1.0]))
    >>> bins = np.empty((1, 3), dtype=np.int32)
    >>> binning.find(np.array([[0.0], [7.0], [np.nan]]), np.empty(3), bins)
    False
    >>> bins - ruler.half, ruler.half, ruler.n_bins
    (array([[    0, 40961, 81922]], dtype=int32), 81921, 163843)
    """

    def __init__(self, ruler: Ruler, *, lower: Array, upper: Array) -> None:
        self._ruler = ruler
        self._lower, self._upper, self._origin = (
            np.ascontiguousarray(fact, dtype=np.float64) for fact in (lower, upper, ruler.origin)
        )
        self._keys = np.ascontiguousarray(ruler.first_keys, dtype=np.int64)

    def find(self, rows: npt.NDArray[Any], room: Array, out: Bins) -> bool:
        """Write the bin of every cell, a row for each column; say whether all cells are finite.

        Those that are not have the number after the last bin. `room` is for as many numbers as
        there are cells, which are worked on in the order in which they lie.
        """
        loop = _loop().after(rows.size) if suits(rows) else None
        if loop is None:
            return self._find_in_steps(rows, room, out)
        bits, half = self._ruler.bits, self._ruler.half
        facts = self._lower, self._upper, self._origin, self._keys
        return bool(loop(rows, *facts, bits, half, out))

    def _find_in_steps(self, rows: npt.NDArray[Any], room: Array, out: Bins) -> bool:
        ruler, by_columns = self._ruler, rows.strides[0] < rows.strides[1]
        raw = rows.T if by_columns else rows
        shape = (-1, 1) if by_columns else (-1,)
        lower, upper, origin = (
            fact.reshape(shape) for fact in (self._lower, self._upper, self._origin)
        )
        finite = None if surely_finite(raw) else np.isfinite(raw)
        cells = room[: raw.size].reshape(raw.shape)
        # Overflow is meant, and a warning about it would be about the data.
        with np.errstate(all="ignore"):
            np.copyto(cells, raw, casting="unsafe")
            if self._is_bounded:
                np.maximum(cells, lower, out=cells)
                np.minimum(cells, upper, out=cells)
            if origin.any():
                cells -= origin
        found = ruler.index_of_distances(cells, self._keys.reshape(shape))
        if finite is not None:
            found[~finite] = ruler.n_bins
        out[:] = found if by_columns else found.T
        return finite is None or bool(finite.all())

    @property
    def _is_bounded(self) -> bool:
        return bool(np.isfinite(self._lower).any() or np.isfinite(self._upper).any())


@lru_cache(maxsize=1)
def _loop() -> Loop[Find]:
    return Loop(_write, _WORTH_COMPILING)


def _write(numba: Any) -> Find:
    bin_of = _write_bin(numba.njit)

    rows_at_a_time = _TILE_ROWS

    def find(
        rows: Any, lower: Any, upper: Any, origin: Any, keys: Any, bits: Any, half: Any, out: Any
    ) -> Any:
        # Bins are found along rows, several cells at once, and turned a few rows at a time.
        tile = np.empty((rows_at_a_time, rows.shape[1]), dtype=np.int32)
        finite = True
        for top in range(0, rows.shape[0], rows_at_a_time):
            n_rows = min(rows_at_a_time, rows.shape[0] - top)
            for row in range(n_rows):
                for column in range(rows.shape[1]):
                    cell, key = rows[top + row, column], keys[column]
                    finite &= np.isfinite(cell)
                    tile[row, column] = bin_of(
                        cell, lower[column], upper[column], origin[column], key, bits, half
                    )
            for column in range(rows.shape[1]):
                for row in range(n_rows):
                    out[column, top + row] = tile[row, column]
        return finite

    compiled: Find = numba.njit(_signature(numba), nogil=True)(find)
    return compiled


def _signature(numba: Any) -> Any:
    types, facts = numba.types, [reads(numba, "float64", 1, "C")] * 3
    rows, keys = reads(numba, "float64", 2, "C"), reads(numba, "int64", 1, "C")
    return types.boolean(rows, *facts, keys, types.int64, types.int64, types.int32[:, :])


def _write_bin(njit: Callable[..., Any]) -> Any:
    """Return what finds the bin of one cell, as `Ruler.index_of_distances` does for many."""
    mantissa, exponent = MANTISSA, EXPONENT

    def bin_of(
        cell: Any, lower: Any, upper: Any, origin: Any, key: Any, bits: Any, half: Any
    ) -> Any:
        inside = cell if cell >= lower else lower
        inside = inside if inside <= upper else upper
        leading = np.float64(inside - origin).view(np.int64) >> (mantissa - bits)
        sign = leading >> 63
        size = (leading & ((np.int64(1) << (exponent + bits)) - 1)) - (key - 1)
        size = min(max(size, 0), half)
        found = (size ^ sign) - sign + half
        return np.int32(found) if np.isfinite(cell) else np.int32(2 * half + 1)

    return njit(inline="always")(bin_of)
