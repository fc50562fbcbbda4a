"""The exact integer Gram matrix of quantized rows.

Owns the sum of outer products. It is sensitive: it has no noise yet. It can be merged
and sent between processes, and it refuses to be printed, converted, or stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
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
from dpcov.sensitive.sums.lanes import work_in_lanes
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["Gram", "GramKernel", "max_block_rows"]

# Long enough that adding up the product is little beside it, short enough that several fit.
_BLOCK_BYTES = 32 << 20
_MIN_BLOCK_ROWS = 1024
# Each lane has sums of its own; with more columns all threads multiply one block.
_MOST_COLUMNS_IN_LANES = 1500
_TILE_CELLS = 1 << 16  # what is quantized at a time stays in a cache
# What is multiplied at a time stays in a larger one, if adding up the product is little beside it.
_PANEL_BYTES, _ROWS_A_COLUMN = 2 << 20, 8


class Gram(Sealed):
    """The sum of q qᵀ over quantized rows q, with the number of rows.

    Build it with `from_rows` or `from_blocks`; merge with ``+``.

    Notes
    -----
    Claim P7. The sums are exact. Every partial sum of a block's matrix product is an
    integer of at most block_rows · B ≤ 2^53, so BLAS makes no rounding error in any order;
    blocks are added in 64-bit integers that cannot overflow because n_rows · B ≤ 2^62. Here
    B = 4^bits, plus the square of the constant if there is one. Hence any split and any order
    of the rows give the same bytes. A Freivalds check of the first block of each shape catches a
    BLAS that is not exact: an error 2^t times an odd number is missed with probability 2^(t−64).

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
        quiet = slice(0, 0) if quiet is None else quiet
        rule = _Rule(n_columns, grid, missing, quiet)
        n_rows = 0

        def checked() -> Iterator[npt.NDArray[Any]]:
            nonlocal n_rows
            for block in blocks:
                _check_block(block, n_columns, grid, quiet)
                n_rows += len(block)
                _check_room(n_rows, grid)
                yield block

        n_lanes = threads if _fits_lanes(n_columns) else 1
        with blas_threads(threads // n_lanes), ThreadPoolExecutor(threads) as pool:
            lanes = [_Lane(rule, pool if n_lanes < threads else None) for _ in range(n_lanes)]
            work_in_lanes(lanes, checked(), pool)
        sums = reduce(Triangle.__add__, (lane.finish() for lane in lanes))
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

    @property
    def has_small_sums(self) -> bool:
        """Whether each thread may have sums of its own."""
        return _fits_lanes(self.n_columns)

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


def _fits_lanes(n_columns: int) -> bool:
    return n_columns <= _MOST_COLUMNS_IN_LANES


@dataclass(frozen=True)
class _Rule:
    """What all lanes know."""

    n_columns: int
    grid: Grid
    missing: Missing
    quiet: slice

    @property
    def size(self) -> int:
        """The number of columns of the sums, the constant one included."""
        return self.n_columns + (self.grid.constant > 0)


class _Lane:
    """Quantizes blocks, multiplies them in BLAS and adds them: one after the other.

    Quiet columns are left out of the products until one of them is not zero; from then on it is in.
    The sums are the same.
    """

    def __init__(self, rule: _Rule, pool: ThreadPoolExecutor | None) -> None:
        self._rule, self._pool = rule, pool
        self._sums = Triangle.zeros(rule.size, np.int64)
        self._rows = np.empty((0, 0))
        self._is_in = np.ones(rule.size, dtype=np.bool_)
        self._is_in[rule.quiet] = False
        self._start()

    def add(self, block: npt.NDArray[Any]) -> None:
        """Add the products of the rows of a block."""
        size = self._rule.size
        step = max(_ROWS_A_COLUMN * size, _PANEL_BYTES // (8 * size))
        for start in range(0, len(block), step):
            self._add(block[start : start + step])

    def _add(self, block: npt.NDArray[Any]) -> None:
        quiet = self._rule.quiet
        comes_without = block.shape[1] < quiet.stop
        if comes_without and not self._is_in[quiet].any():
            whole = self._quantize(block, int(self._is_in.sum()))
        else:
            whole = self._quantize(block, self._rule.size)
            heard = self._is_in.copy()
            if not comes_without:
                heard[quiet] |= whole[:, quiet].any(axis=0)
            if not np.array_equal(heard, self._is_in):
                self._settle()
                self._is_in = heard
                self._start()
            whole = whole if self._is_in.all() else whole[:, self._is_in]
        self._products.add(whole)

    def finish(self) -> Triangle:
        """Return the sums of all blocks."""
        self._settle()
        return self._sums

    def _quantize(self, block: npt.NDArray[Any], width: int) -> npt.NDArray[np.float64]:
        """Return whole rows of so many columns, the constant last, and zeros where none came."""
        if self._rows.shape[1] != width or len(self._rows) < len(block):
            self._rows = np.full((len(block), width), float(self._rule.grid.constant))
        whole = self._rows[: len(block)]
        n_cells = width - (self._rule.grid.constant > 0)
        step = max(16, _TILE_CELLS // width)
        for start in range(0, len(block), step):
            part = slice(start, start + step)
            cells = whole[part, : block.shape[1]]
            quantize_rows(block[part], self._rule.grid, self._rule.missing, cells)
            whole[part, block.shape[1] : n_cells] = 0.0
        return whole

    def _settle(self) -> None:
        """Add what there is of the columns that were in to the sums."""
        if self._part is not self._sums:
            self._sums.add_at(self._part, np.flatnonzero(self._is_in))

    def _start(self) -> None:
        """Begin to add up the columns that are in."""
        n_in = int(self._is_in.sum())
        is_whole = n_in == self._rule.size
        self._part = self._sums if is_whole else Triangle.zeros(n_in, np.int64)
        self._products = CheckedProducts(self._part, np.float64, self._pool)


def _check_block(block: npt.NDArray[Any], n_columns: int, grid: Grid, quiet: slice) -> None:
    widths = {n_columns, quiet.start if quiet.stop == n_columns else n_columns}
    if block.ndim != 2 or block.shape[1] not in widths or block.dtype.kind not in "biuf":
        raise InputError(f"A block of rows must hold real numbers in {n_columns} columns.")
    if len(block) > max_block_rows(n_columns, grid):
        raise InputError(f"A block must have at most {max_block_rows(n_columns, grid)} rows.")


def _check_room(n_rows: int, grid: Grid) -> None:
    if not grid.has_room(n_rows):
        raise ParameterError(f"{n_rows} rows do not fit the grid; use fewer bits.")
