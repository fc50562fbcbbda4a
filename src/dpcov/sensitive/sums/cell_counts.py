"""How many cells of each column lie in each bin of a public ruler.

Owns the counts from which all facts of columns are learned, in one pass. Sensitive: there is
no noise yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.finite import surely_finite
from dpcov.exact.ruler import Ruler
from dpcov.exact.sealed import Sealed
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
        bins, counts = lanes[0].histogram.in_use()
        n_rows = sum(lane.n_rows for lane in lanes)
        return CellCounts(bins, counts, n_rows=n_rows, ruler=self.ruler)

    def find_bins(self, rows: npt.NDArray[Any], room: Array, out: npt.NDArray[np.int32]) -> None:
        """Write the bin of every cell, a row for each column; missing ones have the last.

        `room` is for as many numbers. Cells are worked on in the order in which they lie.
        """
        by_columns = rows.strides[0] < rows.strides[1]
        raw = rows.T if by_columns else rows
        shape = (-1, 1) if by_columns else (-1,)
        lower, upper, origin = (
            fact.reshape(shape) for fact in (self.lower, self.upper, self.ruler.origin)
        )
        finite = None if surely_finite(raw) else np.isfinite(raw)
        check_complete(finite is None or bool(finite.all()), self.missing)
        cells = room[: raw.size].reshape(raw.shape)
        # Overflow is meant, and a warning about it would be about the data.
        with np.errstate(all="ignore"):
            np.copyto(cells, raw, casting="unsafe")
            if self._is_bounded:
                np.maximum(cells, lower, out=cells)
                np.minimum(cells, upper, out=cells)
            if origin.any():
                cells -= origin
        found = self.ruler.index_of_distances(cells, self.ruler.first_keys.reshape(shape))
        if finite is not None:
            found[~finite] = self.ruler.n_bins
        out[:] = found if by_columns else found.T

    @property
    def _is_bounded(self) -> bool:
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())


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
    """All bins of all columns; most are never touched, and take no memory."""

    def __init__(self, ruler: Ruler) -> None:
        self._n_bins, self._n_rows, self._one_at_a_time = ruler.n_bins, 0, Lock()
        # One more bin, for cells that are in none. Short integers stay in caches.
        shape = (ruler.n_columns, ruler.n_bins + 1)
        self._counts: npt.NDArray[np.integer[Any]] = np.zeros(shape, dtype=np.int32)
        self._first = np.full(ruler.n_columns, ruler.n_bins)
        self._end = np.zeros(ruler.n_columns, dtype=np.int64)

    def add(self, bins: npt.NDArray[np.int32]) -> None:
        first, end = bins.min(axis=1, initial=self._n_bins), 1 + bins.max(axis=1, initial=-1)
        # numpy's loop below holds up other threads anyway.
        with self._one_at_a_time:
            self._make_room(bins.shape[1])
            np.minimum(self._first, first, out=self._first)
            np.maximum(self._end, end, out=self._end)
            one, places = self._counts.dtype.type(1), np.empty(bins.shape[1], dtype=np.intp)
            for counts, found in zip(self._counts, bins, strict=True):
                # A histogram of the block would be as long as all octaves between its cells.
                places[:] = found
                np.add.at(counts, places, one)

    def _make_room(self, n_rows: int) -> None:
        """Take longer integers once shorter ones may be too short."""
        self._n_rows += n_rows
        if self._n_rows > _MOST_SHORT and self._counts.dtype == np.int32:
            self._counts = self._counts.astype(np.int64)

    def in_use(self) -> tuple[Integers, npt.NDArray[np.integer[Any]]]:
        """Return the bins that are not empty, numbered through all columns, and their counts."""
        bins, counts = [], []
        ends = np.minimum(self._end, self._n_bins)
        for column, (first, end) in enumerate(zip(self._first, ends, strict=True)):
            some = self._counts[column, first:end]
            used = np.flatnonzero(some)
            counts.append(some[used])
            used += column * self._n_bins + first
            bins.append(used)
        return np.concatenate(bins), np.concatenate(counts)
