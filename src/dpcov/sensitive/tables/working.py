"""Rows in working units: cells clipped to their bounds, centered and scaled.

Owns the way from a raw cell to a working one. It looks at one cell and at facts that are
public or were paid for, so a row stays a function of its own row alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns import Columns, Units
from dpcov.sensitive.tables.pieces import Split, split_rows
from dpcov.sensitive.tables.source import Rows

__all__ = ["FAR", "Reading", "WorkingSource"]

Array = npt.NDArray[np.float64]

_TILE_CELLS = 1 << 15  # a few arrays of so many cells stay in a cache
FAR = float(np.finfo(np.float64).max)
"""Where a cell is that is there and left the floats: far away, and not missing."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How cells are read: z = (clip(x, lower, upper) − center) / scale.

    All are in the data's own units, public or paid for; a limit is infinite where there is none.
    """

    lower: Array
    upper: Array
    center: Array
    scale: Array

    @classmethod
    def of(cls, n_columns: int, columns: Columns | None = None) -> Reading:
        """Return the reading that public facts ask for, if nothing is learned."""
        if columns is None:
            infinite = np.full(n_columns, np.inf)
            return cls(-infinite, infinite, np.zeros(n_columns), np.ones(n_columns))
        units = columns.units
        return cls(*columns.bounds, units.center, units.scale)

    @property
    def units(self) -> Units:
        """What a working cell of 1 is worth in the data's own units."""
        return Units(self.center, self.scale)

    @property
    def is_plain(self) -> bool:
        """Whether cells are taken as they are."""
        bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        return not bounded and not self.center.any() and bool((self.scale == 1).all())

    def read(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a block in working units; a missing or infinite cell stays as it is."""
        if self.is_plain:
            return block
        cells = np.empty(block.shape)
        step = max(1, _TILE_CELLS // max(1, block.shape[1]))
        # Overflow is meant, and a warning about it would be about the data.
        with np.errstate(all="ignore"):
            for start in range(0, len(block), step):
                tile = slice(start, start + step)
                self._read_tile(block[tile], cells[tile])
        return cells

    def _read_tile(self, block: npt.NDArray[Any], out: Array) -> None:
        np.maximum(block, self.lower, out=out, dtype=np.float64, casting="unsafe")
        np.minimum(out, self.upper, out=out)
        out -= self.center
        out /= self.scale
        if not self._stays_finite:
            # A cell that is there and leaves the floats is far away, and not missing.
            np.clip(out, -FAR, FAR, out=out)
        # A sum that is finite has no other terms; where it is not, each is looked at.
        if not np.isfinite(block.sum(dtype=np.float64)):
            np.copyto(out, block, where=~np.isfinite(block), casting="unsafe")

    @cached_property
    def _stays_finite(self) -> bool:
        """Whether no cell within the limits can leave the floats."""
        with np.errstate(all="ignore"):
            ends = [(limit - self.center) / self.scale for limit in (self.lower, self.upper)]
        return bool(np.isfinite(ends).all())


class WorkingSource:
    """A source whose blocks are in working units."""

    def __init__(self, source: Rows, reading: Reading) -> None:
        self._source, self._reading = source, reading

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self._source.columns

    @property
    def n_rows(self) -> int | None:
        """The number of rows."""
        return self._source.n_rows

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks in working units."""
        return map(self._reading.read, self._source.blocks(size))

    def split(self, parts: int) -> Split | None:
        """Return the pieces of the source, each in working units."""
        whole = split_rows(self._source, parts)
        layer = partial(WorkingSource, reading=self._reading)
        return None if whole is None else whole.through(layer)
