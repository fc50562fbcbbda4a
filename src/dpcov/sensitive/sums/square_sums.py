"""Exact sums of squares of quantized cells, column by column.

Owns the diagonal of the Gram matrix alone: what private scales and a private trace are made
of. Sensitive: there is no noise yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.sealed import Sealed
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["SquareKernel", "SquareSums"]

_BLOCK_BYTES = 32 << 20


class SquareSums(Sealed):
    """Σ q_i² over rows, for each column; merge with ``+``.

    Notes
    -----
    Claim P19. A row has Σ q_i² ≤ 4^bits, so its vector of squares has a Euclidean norm of at
    most 4^bits, and all its cells are positive: one person moves the vector of sums by at
    most √2 · 4^bits (replace) or 4^bits (add-remove), and their total by 4^bits.
    """

    __slots__ = ("_sums", "grid", "n_rows")

    _sums: npt.NDArray[np.int64]
    grid: Grid
    n_rows: int

    def __init__(self, sums: npt.NDArray[np.int64], *, n_rows: int, grid: Grid) -> None:
        self._hold(_sums=sums, n_rows=n_rows, grid=grid)

    @property
    def sums(self) -> npt.NDArray[np.int64]:
        """The sums. Sensitive: only a mechanism may look at them."""
        return self._sums

    def __add__(self, other: object) -> SquareSums:
        if not isinstance(other, SquareSums):
            return NotImplemented
        if self.grid != other.grid or len(self._sums) != len(other._sums):
            raise ParameterError("Sums merge only on the same grid and columns.")
        rows = self.n_rows + other.n_rows
        return SquareSums(self._sums + other._sums, n_rows=rows, grid=self.grid)

    def __repr__(self) -> str:
        return f"SquareSums({self.n_rows} rows × {len(self._sums)} columns)"


@dataclass(frozen=True)
class SquareKernel:
    """How blocks become sums of squares.

    Parameters
    ----------
    n_columns : int
        The number of columns.
    grid : Grid
        Clipping norm and bits; n_rows · 4^bits must stay below 2^63.
    missing : Missing
        The rule for missing cells.
    """

    n_columns: int
    grid: Grid
    missing: Missing

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return max(256, _BLOCK_BYTES // (8 * self.n_columns))

    def sum_over(
        self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None
    ) -> SquareSums:
        """Return the sums over all rows."""
        sums = np.zeros(self.n_columns, dtype=np.int64)
        n_rows = 0
        for block in blocks:
            whole = np.empty(block.shape)
            quantize_rows(block, self.grid, self.missing, whole)
            integers = whole.astype(np.int64)
            sums += np.einsum("ij,ij->j", integers, integers)
            n_rows += len(block)
        return SquareSums(sums, n_rows=n_rows, grid=self.grid)
