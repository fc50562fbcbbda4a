"""How many cells of each column lie in each bin of a public ruler.

Owns the counts from which all facts of columns are learned, in one pass. Sensitive: there is
no noise yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.ruler import Ruler
from dpcov.exact.sealed import Sealed
from dpcov.sensitive.sums.rows import check_complete

__all__ = ["CellCounts", "CellKernel", "Counting"]

_BLOCK_BYTES = 32 << 20
_TILE_CELLS = 1 << 16  # some arrays of so many cells stay in a cache

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class CellCounts(Sealed):
    """Counts of cells, column by column and bin by bin; merge with ``+``.

    Only bins that are in use are kept.

    Notes
    -----
    Claim P22. A cell is in one bin of its column, which follows from that cell and from public
    facts; a missing or infinite one is in none. So one row moves the number of cells in any
    set of bins, in each column, by at most 1.
    """

    __slots__ = ("_below", "_bins", "_counts", "n_rows", "ruler")

    _bins: Integers  # column · n_bins + bin, rising
    _counts: Integers
    _below: Integers  # how many cells are in the bins before
    n_rows: int
    ruler: Ruler

    def __init__(self, bins: Integers, counts: Integers, *, n_rows: int, ruler: Ruler) -> None:
        below = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self._hold(_bins=bins, _counts=counts, _below=below, n_rows=n_rows, ruler=ruler)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.ruler.n_columns

    def between(self, first: Integers, last: Integers, columns: Integers) -> Integers:
        """Return how many cells of some columns are in the bins from first to last. Sensitive."""
        start = columns * self.ruler.n_bins
        low = np.searchsorted(self._bins, start + first)
        high = np.searchsorted(self._bins, start + last, side="right")
        return self._below[high] - self._below[np.minimum(low, high)]

    def observed(self, columns: Integers) -> Integers:
        """Return how many cells of some columns are not missing. Sensitive."""
        zeros = np.zeros(len(columns), dtype=np.int64)
        return self.between(zeros, zeros + self.ruler.n_bins - 1, columns)

    def sums(self, value: Callable[[Integers, Integers], Integers], columns: Integers) -> Integers:
        """Return Σ value(column, bin) over the cells of some columns. Sensitive.

        `value` is asked for bins that are in use, and must not remember which. Many bins may
        be, so one column is looked at after the other.
        """
        starts = np.searchsorted(self._bins, columns * self.ruler.n_bins)
        ends = np.searchsorted(self._bins, (columns + 1) * self.ruler.n_bins)
        totals = np.zeros(len(columns), dtype=np.int64)
        for place, (column, start, end) in enumerate(zip(columns, starts, ends, strict=True)):
            index = self._bins[start:end] - column * self.ruler.n_bins
            values = value(np.full(len(index), column), index)
            totals[place] = values @ self._counts[start:end]
        return totals

    def __add__(self, other: object) -> CellCounts:
        if not isinstance(other, CellCounts):
            return NotImplemented
        if self.ruler != other.ruler:
            raise ParameterError("Counts merge only on the same ruler.")
        bins = np.concatenate([self._bins, other._bins])
        counts = np.concatenate([self._counts, other._counts])
        # Both rise, and this kind of sorting merges what does: several times faster than others.
        order = np.argsort(bins, kind="stable")
        bins, counts = bins[order], counts[order]
        starts = np.flatnonzero(np.diff(bins, prepend=-1))
        return CellCounts(
            bins[starts],
            np.add.reduceat(counts, starts) if len(starts) else counts,
            n_rows=self.n_rows + other.n_rows,
            ruler=self.ruler,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellCounts):
            return NotImplemented
        return (
            self.n_rows == other.n_rows
            and self.ruler == other.ruler
            and np.array_equal(self._bins, other._bins)
            and np.array_equal(self._counts, other._counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CellCounts({self.n_rows} rows × {self.n_columns} columns)"


@dataclass(frozen=True, eq=False)
class CellKernel:
    """How blocks become counts of cells: clipped to stated bounds, then put into bins.

    Bounds are in the data's own units, and infinite where none is stated.
    """

    ruler: Ruler
    lower: Array
    upper: Array
    missing: Missing

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return max(1024, _BLOCK_BYTES // (8 * self.ruler.n_columns))

    def sum_over(
        self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None
    ) -> CellCounts:
        """Return the counts of all cells."""
        counting = self.start()
        for block in blocks:
            counting.add(block)
        return counting.counts()

    def start(self) -> Counting:
        """Return counts that blocks can be added to, one after the other."""
        return Counting(self)

    def bins(self, block: npt.NDArray[Any]) -> Integers:
        """Return the bin of every cell, a row for each column; missing ones have the last."""
        n_rows, n_columns = block.shape
        bins = np.empty((n_columns, n_rows), dtype=np.int64)
        step = max(64, _TILE_CELLS // max(1, n_columns))
        for start in range(0, n_rows, step):
            bins[:, start : start + step] = self._tile(block[start : start + step])
        return bins

    def _tile(self, rows: npt.NDArray[Any]) -> Integers:
        # Overflow is meant, and a warning about it would be about the data.
        with np.errstate(all="ignore"):
            # Always a copy: a block may be the caller's own memory.
            cells = np.array(rows.T, dtype=np.float64, order="C")
            # A sum that is finite has no other terms; where it is not, each is looked at.
            finite = None if np.isfinite(cells.sum()) else np.isfinite(cells)
            check_complete(finite is None or bool(finite.all()), self.missing)
            if self._is_bounded:
                np.maximum(cells, self.lower[:, None], out=cells)
                np.minimum(cells, self.upper[:, None], out=cells)
            cells -= self.ruler.origin[:, None]
        found = self.ruler.index_of_distances(cells, self.ruler.first_keys[:, None])
        if finite is not None:
            found[~finite] = self.ruler.n_bins
        return found

    @property
    def _is_bounded(self) -> bool:
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())


class Counting:
    """Counts of cells while blocks are read."""

    def __init__(self, kernel: CellKernel) -> None:
        self._kernel, self._n_rows = kernel, 0
        self._histogram = _Histogram(kernel.ruler)

    def add(self, block: npt.NDArray[Any]) -> None:
        """Count the cells of a block."""
        self._n_rows += len(block)
        self._histogram.add(self._kernel.bins(block))

    def counts(self) -> CellCounts:
        """Return the counts of all blocks so far."""
        bins, counts = self._histogram.in_use()
        return CellCounts(bins, counts, n_rows=self._n_rows, ruler=self._kernel.ruler)


class _Histogram:
    """All bins of all columns; most are never touched, and take no memory."""

    def __init__(self, ruler: Ruler) -> None:
        self._n_bins = ruler.n_bins
        # One more bin, for cells that are in none.
        self._counts = np.zeros((ruler.n_columns, ruler.n_bins + 1), dtype=np.int64)
        self._first = np.full(ruler.n_columns, ruler.n_bins)
        self._end = np.zeros(ruler.n_columns, dtype=np.int64)

    def add(self, bins: Integers) -> None:
        for column, found in enumerate(bins):
            # A histogram of the block would be as long as all octaves between its cells.
            np.add.at(self._counts[column], found, 1)
            first = int(found.min(initial=self._n_bins))
            end = 1 + int(found.max(initial=-1))
            self._first[column] = min(self._first[column], first)
            self._end[column] = max(self._end[column], end)

    def in_use(self) -> tuple[Integers, Integers]:
        """Return the bins that are not empty, numbered through all columns, and their counts."""
        bins, counts = [], []
        ends = np.minimum(self._end, self._n_bins)
        for column, (first, end) in enumerate(zip(self._first, ends, strict=True)):
            some = self._counts[column, first:end]
            used = np.flatnonzero(some)
            bins.append(column * self._n_bins + first + used)
            counts.append(some[used])
        return np.concatenate(bins), np.concatenate(counts)
