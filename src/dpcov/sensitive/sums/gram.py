"""The exact integer Gram matrix of quantized rows.

Owns the sum of outer products. It is sensitive: it has no noise yet. It can be merged
and sent between processes, and it refuses to be printed, converted, or stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import InputError, ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.products import CheckedProducts
from dpcov.exact.sealed import Sealed
from dpcov.exact.threads import allowed_threads, blas_threads
from dpcov.exact.triangle import Integers, Triangle
from dpcov.parameters import check_count
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["Gram", "GramKernel", "max_block_rows"]

_BLOCK_BYTES = 64 << 20
_MIN_BLOCK_ROWS = 1024


class Gram(Sealed):
    """The sum of q qᵀ over quantized rows q, with the number of rows.

    Build it with `from_rows` or `from_blocks`; merge with ``+``.

    Notes
    -----
    Claim P7. The sums are exact. Every partial sum of a block's matrix product is an
    integer of at most block_rows · B ≤ 2^53, so BLAS makes no rounding error in any order;
    blocks are added in 64-bit integers that cannot overflow because n_rows · B ≤ 2^62. Here
    B = 4^bits, plus the square of the constant if there is one. Hence any split and any order
    of the rows give the same bytes. A Freivalds check of every panel of every block, in
    integers modulo 2^64, catches a BLAS that is not exact: an error that is no multiple of
    2^t is missed with probability at most 2^(t−64).

    Examples
    --------
    >>> grid = Grid(row_norm=1.0, bits=20)
    >>> a = Gram.from_rows(np.array([[0.6, 0.8]]), grid=grid)
    >>> b = Gram.from_rows(np.array([[0.0, 1.0], [0.5, 0.5]]), grid=grid)
    >>> a + b
    Gram(3 rows × 2 columns)
    >>> a + b == b + a
    True
    """

    __slots__ = ("_sums", "grid", "n_rows")

    _sums: Triangle
    grid: Grid
    n_rows: int

    def __init__(self, sums: Triangle, *, n_rows: int, grid: Grid) -> None:
        _check_room(n_rows, grid)
        sums.freeze()
        self._hold(_sums=sums, n_rows=n_rows, grid=grid)

    @classmethod
    def from_rows(
        cls,
        rows: npt.NDArray[Any],
        *,
        grid: Grid,
        missing: Missing = Missing.REFUSE,
        threads: int | None = None,
    ) -> Gram:
        """Return the Gram matrix of one block of rows."""
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise InputError("A block of rows must be 2-dimensional with at least one column.")
        size = max_block_rows(rows.shape[1], grid)
        blocks = (rows[start : start + size] for start in range(0, len(rows), size))
        return cls.from_blocks(
            blocks, n_columns=rows.shape[1], grid=grid, missing=missing, threads=threads
        )

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[npt.NDArray[Any]],
        *,
        n_columns: int,
        grid: Grid,
        missing: Missing = Missing.REFUSE,
        quiet: slice | None = None,
        threads: int | None = None,
    ) -> Gram:
        """Return the Gram matrix of a stream of blocks of at most `max_block_rows` rows.

        Columns that are `quiet` may be zero in most blocks, and take no time while they are. If
        they are the last ones, a block in which they all are may come without them.
        """
        missing = Missing.parse(missing)
        threads = allowed_threads() if threads is None else check_count("threads", threads, low=1)
        sums = Triangle.zeros(n_columns + (grid.constant > 0), np.int64)
        n_rows = 0
        with blas_threads(threads), ThreadPoolExecutor(threads) as pool:
            kernel = _BlockKernel(sums, grid, missing, pool, quiet or slice(0, 0))
            for block in blocks:
                _check_block(block, n_columns, grid, quiet or slice(0, 0))
                n_rows += len(block)
                _check_room(n_rows, grid)
                kernel.add(block)
            kernel.finish()
        return cls(sums, n_rows=n_rows, grid=grid)

    @property
    def n_columns(self) -> int:
        """The number of columns, without the constant one."""
        return self._sums.size - (self.grid.constant > 0)

    @property
    def triangle(self) -> Triangle:
        """The integer sums, the constant last. Sensitive: only a mechanism may look at them."""
        return self._sums

    @property
    def sums(self) -> Integers:
        """The same as a whole matrix, which takes twice the memory. As sensitive."""
        return self._sums.full()

    def __add__(self, other: object) -> Gram:
        if not isinstance(other, Gram):
            return NotImplemented
        if self.grid != other.grid or self.n_columns != other.n_columns:
            raise ParameterError("Gram matrices merge only on the same grid and columns.")
        _check_room(self.n_rows + other.n_rows, self.grid)
        return Gram(self._sums + other._sums, n_rows=self.n_rows + other.n_rows, grid=self.grid)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gram):
            return NotImplemented
        return self.grid == other.grid and self.n_rows == other.n_rows and self._sums == other._sums

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Gram({self.n_rows} rows × {self.n_columns} columns)"


def max_block_rows(n_columns: int, grid: Grid) -> int:
    """Return how many rows a block may have: exact in BLAS, and about 64 MB."""
    exact = 2**53 // grid.largest_product
    return max(1, min(exact, max(_MIN_BLOCK_ROWS, _BLOCK_BYTES // (8 * n_columns))))


@dataclass(frozen=True)
class GramKernel:
    """How blocks become a Gram matrix.

    Parameters
    ----------
    n_columns : int
        The number of columns.
    grid : Grid
        Clipping norm and bits.
    missing : Missing
        The rule for missing cells.
    quiet : slice
        Columns that are zero in most blocks.
    """

    n_columns: int
    grid: Grid
    missing: Missing
    quiet: slice = field(default_factory=lambda: slice(0, 0))

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return max_block_rows(self.n_columns, self.grid)

    def sum_over(self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None) -> Gram:
        """Return the Gram matrix of all rows."""
        return Gram.from_blocks(
            blocks,
            n_columns=self.n_columns,
            grid=self.grid,
            missing=self.missing,
            quiet=self.quiet,
            threads=threads,
        )


class _BlockKernel:
    """Quantize a block on several threads, multiply it in BLAS, check and add it.

    Quiet columns are left out of the products until one of them is not zero; from then on it is in.
    The sums are the same.
    """

    def __init__(
        self,
        sums: Triangle,
        grid: Grid,
        missing: Missing,
        pool: ThreadPoolExecutor,
        quiet: slice,
    ) -> None:
        self._sums, self._grid, self._missing, self._pool = sums, grid, missing, pool
        self._whole = np.empty((0, sums.size))
        self._quiet = quiet
        self._is_in = np.ones(sums.size, dtype=np.bool_)
        self._is_in[quiet] = False
        self._start()

    def add(self, block: npt.NDArray[Any]) -> None:
        if len(self._whole) < len(block):
            self._whole = np.full((len(block), self._whole.shape[1]), float(self._grid.constant))
        whole = self._whole[: len(block)]
        comes_without = block.shape[1] < self._quiet.stop

        def prepare(part: slice) -> npt.NDArray[np.bool_]:
            cells = whole[part, : block.shape[1]]
            quantize_rows(block[part], self._grid, self._missing, cells)
            if comes_without:
                if self._is_in[self._quiet].any():
                    whole[part, self._quiet] = 0.0
                return self._is_in[self._quiet]
            return np.asarray(whole[part, self._quiet].any(axis=0), dtype=np.bool_)

        heard = self._is_in.copy()
        for part in self._products.over_rows(prepare, whole.shape):
            heard[self._quiet] |= part
        if not np.array_equal(heard, self._is_in):
            self.finish()
            self._is_in = heard
            self._start()
        self._multiply(whole if self._is_in.all() else whole[:, self._is_in])

    def finish(self) -> None:
        """Add what is left to the sums."""
        if self._part is not self._sums:
            self._sums.add_at(self._part, np.flatnonzero(self._is_in))

    def _start(self) -> None:
        """Begin to add up the columns that are in."""
        n_in = int(self._is_in.sum())
        whole = n_in == self._sums.size
        self._part = self._sums if whole else Triangle.zeros(n_in, np.int64)
        self._products = CheckedProducts(self._part, np.float64, self._pool)

    def _multiply(self, whole: npt.NDArray[np.float64]) -> None:
        def look(part: slice) -> Integers:
            return self._products.image(whole[part].astype(np.int64))

        image = np.zeros(whole.shape[1], dtype=np.int64)
        for part in self._products.over_rows(look, whole.shape):
            image += part
        self._products.add(whole, image)


def _check_block(block: npt.NDArray[Any], n_columns: int, grid: Grid, quiet: slice) -> None:
    widths = {n_columns, quiet.start if quiet.stop == n_columns else n_columns}
    if block.ndim != 2 or block.shape[1] not in widths or block.dtype.kind not in "biuf":
        raise InputError(f"A block of rows must hold real numbers in {n_columns} columns.")
    if len(block) > max_block_rows(n_columns, grid):
        raise InputError(f"A block must have at most {max_block_rows(n_columns, grid)} rows.")


def _check_room(n_rows: int, grid: Grid) -> None:
    if not grid.has_room(n_rows):
        raise ParameterError(f"{n_rows} rows do not fit the grid; use fewer bits.")
