"""Rows in working units: cells clipped to their bounds, centered and scaled.

Owns the way from a raw cell to a working one. It looks at one cell and at facts that are
public or were paid for, so a row stays a function of its own row alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns import Columns, Units
from dpcov.sensitive.tables.pieces import Split, split_rows
from dpcov.sensitive.tables.source import Rows

__all__ = ["FAR", "Reading", "WorkingSource"]

Array = npt.NDArray[np.float64]

FAR = float(np.finfo(np.float64).max)
"""Where a cell is that is there and left the floats: far away, and not missing."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How cells are read: z = clip((x − center) / scale, low, high).

    Parameters
    ----------
    units : Units
        Centers and scales.
    low, high : ndarray, shape (n_columns,)
        Bounds in these units; infinite where there is none.
    """

    units: Units
    low: Array
    high: Array

    @classmethod
    def of(cls, n_columns: int, columns: Columns | None = None) -> Reading:
        """Return the reading that public facts ask for."""
        if columns is None:
            infinite = np.full(n_columns, np.inf)
            return cls(Units.plain(n_columns), -infinite, infinite)
        return cls(columns.units, *columns.limits)

    @property
    def is_plain(self) -> bool:
        """Whether cells are taken as they are."""
        bounded = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        return self.units.is_plain and not (self.units.center.any() or bounded)

    def read(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a block in working units; a missing or infinite cell stays as it is."""
        if self.is_plain:
            return block
        # Overflow is meant, and a warning about it would be about the data.
        with np.errstate(all="ignore"):
            cells: Array = np.subtract(block, self.units.center, dtype=np.float64)
            cells /= self.units.scale
            # A cell that is there and leaves the floats is far away, and not missing.
            low, high = (np.clip(limit, -FAR, FAR) for limit in (self.low, self.high))
            np.clip(cells, low, high, out=cells, where=np.isfinite(block))
        return cells


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
