"""How many cells of each column lie where: numbers on a ruler, categories by their levels.

Owns the counts of one pass over a table of both. Sensitive: there is no noise yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.sealed import Sealed
from dpcov.exact.threads import allowed_threads
from dpcov.exact.weighing import weight_shares
from dpcov.sensitive.sums.cell_counts import CellCounts, CellKernel, CountingLane
from dpcov.sensitive.sums.lanes import work_in_lanes
from dpcov.sensitive.sums.rows import check_complete

__all__ = ["WEIGHT_STEPS", "FieldCounts", "FieldKernel"]

Integers = npt.NDArray[np.int64]

_BLOCK_BYTES = 32 << 20
WEIGHT_STEPS = 1 << 20
"""A weight of the bound stands for this number."""


class FieldCounts(Sealed):
    """Counts of the cells of numbers, and of the levels of categories; merge with ``+``.

    Notes
    -----
    Claim P26. A cell of a category is of one level, which follows from that cell alone, or
    missing, and then of none. Claim P27. A weight stands for two integers from 0 to 2^20, its
    share of the bound and the square of that.
    """

    __slots__ = ("_levels", "cells", "design", "n_rows", "weights")

    _levels: Integers  # of all categories, one after the other
    weights: Integers  # the sums of weights and of their squares, in steps
    cells: CellCounts | None
    design: Design
    n_rows: int

    def __init__(
        self,
        levels: Integers,
        cells: CellCounts | None,
        *,
        weights: Integers,
        n_rows: int,
        design: Design,
    ) -> None:
        self._hold(_levels=levels, cells=cells, weights=weights, n_rows=n_rows, design=design)

    @property
    def levels(self) -> Integers:
        """How many rows have each level of each category. Sensitive."""
        return self._levels

    def observed(self, places: Integers) -> Integers:
        """Return how many cells there are in some columns of the table. Sensitive."""
        design = self.design
        there = np.zeros(len(design.fields), dtype=np.int64)
        if self.cells is not None:
            there[design.numbers] = self.cells.observed(np.arange(len(design.numbers)))
        if len(design.categories):
            starts = np.cumsum([0, *(design.n_levels(each) for each in design.categories[:-1])])
            there[design.categories] = np.add.reduceat(self._levels, starts)
        return there[places]

    def __add__(self, other: object) -> FieldCounts:
        if not isinstance(other, FieldCounts):
            return NotImplemented
        if self.design != other.design:
            raise ParameterError("Counts merge only for the same columns.")
        cells = self.cells
        if cells is not None and other.cells is not None:
            cells = cells + other.cells
        return FieldCounts(
            self._levels + other._levels,
            cells,
            weights=self.weights + other.weights,
            n_rows=self.n_rows + other.n_rows,
            design=self.design,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldCounts):
            return NotImplemented
        return (
            self.n_rows == other.n_rows
            and self.design == other.design
            and self.cells == other.cells
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self._levels, other._levels)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FieldCounts({self.n_rows} rows × {len(self.design.fields)} columns)"


@dataclass(frozen=True, eq=False)
class FieldKernel:
    """How blocks become counts.

    `cells` counts the numbers among the columns, if there are any. With `weight_bound`, the last
    column of a block is the weight of a row.
    """

    design: Design
    cells: CellKernel | None
    missing: Missing
    weight_bound: float | None = None

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return max(1024, _BLOCK_BYTES // (8 * len(self.design.fields)))

    def sum_over(
        self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None
    ) -> FieldCounts:
        """Return the counts of all cells."""
        threads = allowed_threads() if threads is None else threads
        numbers = [None] * threads if self.cells is None else self.cells.lanes(threads)
        lanes = [_FieldLane(self, each) for each in numbers]
        with ThreadPoolExecutor(threads) as pool:
            work_in_lanes(lanes, blocks, pool)
        cells = None
        if self.cells is not None:
            cells = self.cells.counts([each for each in numbers if each is not None])
        return FieldCounts(
            np.sum([lane.levels for lane in lanes], axis=0),
            cells,
            weights=np.sum([lane.weights for lane in lanes], axis=0),
            n_rows=sum(lane.n_rows for lane in lanes),
            design=self.design,
        )

    def numbers(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the columns that are numbers."""
        if len(self.design.numbers) == block.shape[1]:
            return block
        return block[:, self.design.numbers]

    def count_levels(self, block: npt.NDArray[Any]) -> Integers:
        """Return how many rows have each level of each category, one after the other."""
        counts = [
            self._count(block[:, place], self.design.n_levels(place))
            for place in self.design.categories.tolist()
        ]
        return np.concatenate([*counts, np.empty(0, dtype=np.int64)])

    def _count(self, cells: npt.NDArray[Any], n_levels: int) -> Integers:
        """Return how many cells have each level; what is no level is missing."""
        with np.errstate(invalid="ignore"):
            known = (cells >= 0) & (cells < n_levels) & (cells == np.trunc(cells))
        check_complete(bool(known.all()), self.missing)
        return np.bincount(cells[known].astype(np.int64), minlength=n_levels)


class _FieldLane:
    """Counts the cells of blocks, one after the other."""

    def __init__(self, kernel: FieldKernel, numbers: CountingLane | None) -> None:
        self._kernel, self._numbers = kernel, numbers
        n_levels = sum(map(kernel.design.n_levels, kernel.design.categories.tolist()))
        self.levels = np.zeros(n_levels, dtype=np.int64)
        self.weights = np.zeros(2, dtype=np.int64)
        self.n_rows = 0

    def add(self, block: npt.NDArray[Any]) -> None:
        """Count the cells of a block."""
        self.n_rows += len(block)
        self.levels += self._kernel.count_levels(block)
        if self._kernel.weight_bound is not None:
            self.weights += _weigh(block[:, -1], self._kernel.weight_bound)
        if self._numbers is not None:
            self._numbers.add(self._kernel.numbers(block))


def _weigh(weights: npt.NDArray[Any], bound: float) -> Integers:
    """Return the sums of weights and of their squares, in steps."""
    shares = weight_shares(weights, bound)
    steps = np.rint(np.stack([shares, shares**2]) * WEIGHT_STEPS).astype(np.int64)
    sums: Integers = steps.sum(axis=1)
    return sums
