"""Rows in working units: categories taken apart, cells limited, centered and scaled, gaps marked.

Owns the way from a raw cell to working ones. It looks at one cell and at facts that are
public or were paid for, so a row stays a function of its own row alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns import Column, Units
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.exact.scaling import Scaling
from dpcov.exact.weighing import weight_shares
from dpcov.sensitive.tables.pieces import Parts, Split, split_rows
from dpcov.sensitive.tables.source import Rows

__all__ = ["FAR", "Reading", "Weighing", "WorkingSource", "take_apart"]

Array = npt.NDArray[np.float64]

# Threads hand over to one another after each of few steps on so many cells.
_TILE_CELLS = 1 << 17
FAR = float(np.finfo(np.float64).max)
"""Where a cell is that is there and left the floats: far away, and not missing."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How cells are read: z = (clip(x, lower, upper) − center) / scale, for each value.

    A level of a category is 1 in the rows that have it and 0 in others. All are in the data's own
    units, public or paid for; a limit is infinite where there is none.

    With `observed`, one share for each column whose cells may be missing, a missing cell is read
    as 0, and an indicator follows the values: 1 − share where the cell is there, −share where it
    is not. `fills` says that other missing cells are read as 0 as well.

    With `weighing`, the last column of a block is the weight of a row. Its working cells are
    multiplied by the root of the weight over its bound, and one more follows them, last: a
    constant, multiplied alike.
    """

    lower: Array
    upper: Array
    center: Array
    scale: Array
    design: Design
    observed: Array
    fills: bool = False
    weighing: Weighing | None = None

    @classmethod
    def of(
        cls, design: Design, facts: Sequence[Column | None] = (), *, fills: bool = False
    ) -> Reading:
        """Return the reading that public facts of columns ask for, if nothing is learned.

        Levels are taken to be equally likely, and all cells to be there.
        """
        size = design.n_values
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        center, scale = np.zeros(size), np.ones(size)
        for column, place in zip(facts, design.value_of, strict=bool(facts)):
            if column is not None and design.is_number[place]:
                lower[place], upper[place] = column.limits
                center[place], scale[place] = column.working_center, column.working_scale
        for group in design.groups:
            lower[group], upper[group] = 0.0, 1.0
            center[group] = 1 / (group.stop - group.start)
        return cls(lower, upper, center, scale, design, np.ones(design.n_gaps), fills)

    @property
    def units(self) -> Units:
        """What a working cell of 1 is worth in the data's own units."""
        return Units(self.center, self.scale)

    @property
    def is_plain(self) -> bool:
        """Whether cells are taken as they are."""
        bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        moved = bool(self.center.any()) or not (self.scale == 1).all()
        return self.design.is_plain and not (bounded or moved or self.fills or self.weighing)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the working columns: values, indicators, and the constant of weights."""
        weight = () if self.weighing is None else ("weight",)
        return (*self.design.working_names, *weight)

    def read(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a block in working units; what is not filled stays as it is.

        Notes
        -----
        Claim P28. Every working cell follows from one cell of the same row.
        """
        if self.is_plain:
            return block
        cells = self._read_whole(block, len(self.names))
        if cells is None:
            raise AssertionError("unreachable: there is room for all indicators")
        return cells

    def read_heard(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the same, without the indicators if all of them are zero: it takes less time."""
        if self._may_be_silent:
            cells = self._read_whole(block, self.design.n_values)
            if cells is not None:
                return cells
        return self.read(block)

    @cached_property
    def _may_be_silent(self) -> bool:
        """Whether indicators are zero wherever a cell is there."""
        return self.design.n_gaps > 0 and not self.weighing and bool((self.observed == 1).all())

    def _read_whole(self, block: npt.NDArray[Any], width: int) -> Array | None:
        """Return a block with so many working columns; none, if there are gaps to be marked."""
        cells = np.empty((len(block), width))
        step = max(1, _TILE_CELLS // max(1, width))
        # Overflow is meant, and a warning about it would be about the data.
        with np.errstate(all="ignore"):
            for start in range(0, len(block), step):
                tile = slice(start, start + step)
                if not self._read_tile(block[tile], cells[tile]):
                    return None
        return cells

    def _read_tile(self, block: npt.NDArray[Any], out: Array) -> bool:
        """Read a few rows; say whether there was room for all that must be marked."""
        values = out[:, : self.design.n_values]
        raw = take_apart(block[:, : len(self.design.fields)], self.design)
        is_complete = self._scaling.write(raw, values)
        if not self._stays_finite:
            # A cell that is there and leaves the floats is far away, and not missing.
            np.clip(values, -FAR, FAR, out=values)
        there = None if is_complete else np.isfinite(raw)
        if there is not None and there.all():
            there = None
        marks = self.design.n_gaps > 0 and out.shape[1] > self.design.n_values
        if there is not None:
            if self.design.n_gaps and not marks:
                return False
            if self.fills:
                values[~there] = 0.0
            else:
                np.copyto(values, raw, where=~there, casting="unsafe")
        if marks:
            gaps = out[:, self.design.n_values : self.design.n_working]
            if there is None:
                gaps[:] = 1.0 - self.observed
            else:
                gaps[:] = there[:, self.design.value_of[self.design.with_gaps]]
                gaps -= self.observed
        if self.weighing is not None:
            out[:, -1] = self.weighing.constant
            out *= np.sqrt(weight_shares(block[:, -1], self.weighing.bound))[:, None]
        return True

    @cached_property
    def _scaling(self) -> Scaling:
        return Scaling(lower=self.lower, upper=self.upper, center=self.center, scale=self.scale)

    @cached_property
    def _stays_finite(self) -> bool:
        """Whether no cell within the limits can leave the floats."""
        with np.errstate(all="ignore"):
            ends = [(limit - self.center) / self.scale for limit in (self.lower, self.upper)]
        return bool(np.isfinite(ends).all())


@dataclass(frozen=True)
class Weighing:
    """How rows are weighed: the public bound of a weight, and the constant beside the cells."""

    bound: float
    constant: float


def take_apart(block: npt.NDArray[Any], design: Design) -> npt.NDArray[Any]:
    """Return the values of a block: numbers as they are, categories as one column for each level.

    A cell of a category that is no number of a level is missing in all of them.

    Examples
    --------
    >>> from dpcov.columns.fields import Field
    >>> sex = Design((Field("sex", ("f", "m")),))
    >>> take_apart(np.array([[0.0], [1.0], [7.0]]), sex)
    array([[ 1.,  0.],
           [ 0.,  1.],
           [nan, nan]])
    """
    if not len(design.categories):
        return block
    values = np.empty((len(block), design.n_values))
    values[:, design.value_of[design.numbers]] = block[:, design.numbers]
    for place, group in zip(design.categories.tolist(), design.groups, strict=True):
        cells = block[:, place]
        apart = (cells[:, None] == np.arange(group.stop - group.start)).astype(np.float64)
        apart[~apart.any(axis=1)] = np.nan
        values[:, group] = apart
    return values


class WorkingSource:
    """A source whose blocks are in working units."""

    def __init__(self, source: Rows, reading: Reading) -> None:
        self._source, self._reading = source, reading

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the working columns."""
        return self._reading.names

    @property
    def fields(self) -> tuple[Field, ...]:
        """What the working columns are: numbers that are all there."""
        return tuple(Field(name, may_be_missing=False) for name in self.columns)

    @property
    def n_rows(self) -> int | None:
        """The number of rows."""
        return self._source.n_rows

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks in working units, without indicators where all of them are zero."""
        return map(self._reading.read_heard, self._source.blocks(size))

    def split(self, parts: Parts) -> Split | None:
        """Return the pieces of the source, each in working units."""
        whole = split_rows(self._source, parts)
        layer = partial(WorkingSource, reading=self._reading)
        return None if whole is None else whole.through(layer)
