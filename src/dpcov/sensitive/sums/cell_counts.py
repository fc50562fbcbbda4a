"""How many cells of each column lie in each bin of a public ruler.

Owns the counts from which all facts of columns are learned, in one pass. Sensitive: there is
no noise yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import InexactArithmeticError, ParameterError
from dpcov.exact.binning import Binning
from dpcov.exact.ruler import Ruler
from dpcov.exact.sealed import Sealed
from dpcov.exact.tally import add_tally, expect_tally
from dpcov.exact.threads import allowed_threads
from dpcov.sensitive.sums.lanes import work_in_lanes
from dpcov.sensitive.sums.rows import check_complete

__all__ = ["CellCounts", "CellKernel", "CountingLane"]

_BLOCK_BYTES = 32 << 20
# Threads hand over to one another after each of few steps on so many cells.
_TILE_CELLS = 1 << 17
_MOST_SHORT = 2**31 - 1  # rows, whose counts fit 32 bits

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
    _counts: npt.NDArray[np.integer[Any]]
    _below: Integers  # how many cells are in the bins before
    n_rows: int
    ruler: Ruler

    def __init__(
        self,
        bins: Integers,
        counts: npt.NDArray[np.integer[Any]],
        *,
        n_rows: int,
        ruler: Ruler,
    ) -> None:
        below = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=below[1:])
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

        `value` is asked for the bins of one column that are in use, and must not remember which.
        Many may be, so one column is looked at after the other.
        """
        n_bins = self.ruler.n_bins
        starts = np.searchsorted(self._bins, columns * n_bins)
        ends = np.searchsorted(self._bins, (columns + 1) * n_bins)

        totals = np.zeros(len(columns), dtype=np.int64)
        for place, (column, start, end) in enumerate(zip(columns, starts, ends, strict=True)):
            values = value(np.array([column]), self._bins[start:end] - column * n_bins)
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
        threads = allowed_threads() if threads is None else threads
        lanes = self.lanes(threads)
        with ThreadPoolExecutor(threads) as pool:
            work_in_lanes(lanes, blocks, pool)
        return self.counts(lanes)

    def lanes(self, n_lanes: int) -> list[CountingLane]:
        """Return who counts: the histograms of many columns are long, so they share one."""
        histogram = _Histogram(self.ruler)
        return [CountingLane(self, histogram) for _ in range(n_lanes)]

    def counts(self, lanes: Sequence[CountingLane]) -> CellCounts:
        """Return the counts of all lanes, which are over."""
        n_rows = sum(lane.n_rows for lane in lanes)
        bins, counts = lanes[0].histogram.in_use(n_rows, threads=len(lanes))
        return CellCounts(bins, counts, n_rows=n_rows, ruler=self.ruler)

    def find_bins(self, rows: npt.NDArray[Any], room: Array, out: npt.NDArray[np.int32]) -> None:
        """Write the bin of every cell, a row for each column; missing ones have the last.

        `room` is for as many numbers.
        """
        check_complete(self._binning.find(rows, room, out), self.missing)

    @cached_property
    def _binning(self) -> Binning:
        return Binning(self.ruler, lower=self.lower, upper=self.upper)


class CountingLane:
    """Looks for the bins of cells, and counts them in a histogram that lanes may share.

    It works in the same memory again and again, which stays in a cache.
    """

    def __init__(self, kernel: CellKernel, histogram: _Histogram) -> None:
        self.histogram, self.n_rows, self._kernel = histogram, 0, kernel
        n_columns = kernel.ruler.n_columns
        self._tile_rows = max(64, _TILE_CELLS // n_columns)
        # As many cells of one column as can be, while its counts are in the cache.
        self._run_rows = kernel.block_rows
        self._room = np.empty(n_columns * self._tile_rows)
        self._bins = np.empty((n_columns, self._run_rows), dtype=np.int32)

    def add(self, block: npt.NDArray[Any]) -> None:
        """Count the cells of a block."""
        for start in range(0, len(block), self._run_rows):
            self._add_run(block[start : start + self._run_rows])
        self.n_rows += len(block)

    def _add_run(self, rows: npt.NDArray[Any]) -> None:
        bins = self._bins[:, : len(rows)]
        for start in range(0, len(rows), self._tile_rows):
            tile = slice(start, start + self._tile_rows)
            self._kernel.find_bins(rows[tile], self._room, bins[:, tile])
        self.histogram.add(bins)


class _Histogram:
    """All bins of all columns. Lanes share them, and take turns at each column."""

    def __init__(self, ruler: Ruler) -> None:
        self._columns = [_ColumnHistogram(ruler.n_bins) for _ in range(ruler.n_columns)]
        self._n_bins = ruler.n_bins

    def add(self, bins: npt.NDArray[np.int32]) -> None:
        """Count the bins of some cells, a row for each column."""
        # Now, and not in the hands of one lane while others wait for its column.
        expect_tally(bins.size)
        pairs = list(zip(self._columns, bins, strict=True))
        busy = [pair for pair in pairs if not pair[0].add(pair[1], waits=False)]
        for column, found in busy:
            column.add(found, waits=True)

    def in_use(self, n_rows: int, *, threads: int) -> tuple[Integers, npt.NDArray[np.integer[Any]]]:
        """Return the bins that are not empty, numbered through all columns, and their counts."""
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(partial(_ColumnHistogram.in_use, n_rows=n_rows), self._columns))
        for column, (used, _) in enumerate(found):
            used += column * self._n_bins
        bins, counts = zip(*found, strict=True)
        return np.concatenate(bins), np.concatenate(counts)


class _ColumnHistogram:
    """All bins of one column; most are never touched, and take no memory."""

    def __init__(self, n_bins: int) -> None:
        self._n_bins, self._n_rows, self._one_at_a_time = n_bins, 0, Lock()
        # One more bin, for cells that are in none. Short integers stay in caches.
        self._counts: npt.NDArray[np.integer[Any]] = np.zeros(n_bins + 1, dtype=np.int32)

    def add(self, bins: npt.NDArray[np.int32], *, waits: bool) -> bool:
        """Count the bins of some cells, and say whether it was done.

        It is not while another lane is at work, unless one `waits`.
        """
        if not self._one_at_a_time.acquire(blocking=waits):
            return False
        try:
            self._n_rows += len(bins)
            if self._n_rows > _MOST_SHORT and self._counts.dtype == np.int32:
                self._counts = self._counts.astype(np.int64)
            # A histogram of the block would be as long as all octaves between its cells.
            add_tally(bins, self._counts)
        except IndexError:  # numpy names the index, which is that of a cell
            raise InexactArithmeticError("A cell was put into a bin that is none.") from None
        finally:
            self._one_at_a_time.release()
        return True

    def in_use(self, n_rows: int) -> tuple[Integers, npt.NDArray[np.integer[Any]]]:
        """Return the bins that are not empty, and their counts, which must be those of all rows."""
        used = np.flatnonzero(self._counts[: self._n_bins] != 0)
        counts = self._counts[used]
        if counts.sum(dtype=np.int64) + int(self._counts[-1]) != n_rows:
            raise InexactArithmeticError(
                "Counts of cells do not add up to the number of rows. Nothing was released. If "
                "numba is installed, uninstall it, or install another version."
            )
        return used, counts
