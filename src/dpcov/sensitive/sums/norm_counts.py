"""How many rows are no longer than each of some public radii.

Owns the counts from which a radius is chosen. Sensitive: there is no noise yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.sealed import Sealed
from dpcov.sensitive.sums.rows import squared_norms

__all__ = ["NormCounts", "NormKernel"]

_BLOCK_BYTES = 32 << 20


class NormCounts(Sealed):
    """Row counts by radius; merge with ``+``.

    Notes
    -----
    Claim P18. The norm of a row is a function of that row, so replacing one row, or putting
    zeros in its place, moves each cumulative count by at most 1; m rows, by at most m.
    """

    __slots__ = ("_cells", "radii")

    _cells: npt.NDArray[np.int64]
    radii: npt.NDArray[np.float64]

    def __init__(self, cells: npt.NDArray[np.int64], radii: npt.NDArray[np.float64]) -> None:
        self._hold(_cells=cells, radii=radii)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self._cells.sum())

    def cumulative(self) -> npt.NDArray[np.int64]:
        """Return the number of rows of norm at most each radius. Sensitive."""
        return np.cumsum(self._cells[:-1])

    def __add__(self, other: object) -> NormCounts:
        if not isinstance(other, NormCounts):
            return NotImplemented
        if not np.array_equal(self.radii, other.radii):
            raise ParameterError("Counts merge only for the same radii.")
        return NormCounts(self._cells + other._cells, self.radii)

    def __repr__(self) -> str:
        return f"NormCounts({len(self.radii)} radii)"


@dataclass(frozen=True, eq=False)
class NormKernel:
    """How blocks become counts.

    Parameters
    ----------
    radii : ndarray, rising
        Public.
    n_columns : int
        The number of columns.
    missing : Missing
        The rule for missing cells.
    """

    radii: npt.NDArray[np.float64]
    n_columns: int
    missing: Missing

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return max(256, _BLOCK_BYTES // (8 * self.n_columns))

    def sum_over(
        self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None
    ) -> NormCounts:
        """Return the counts of all rows."""
        cells = np.zeros(len(self.radii) + 1, dtype=np.int64)
        for block in blocks:
            places = np.searchsorted(self.radii**2, squared_norms(block, self.missing))
            cells += np.bincount(places, minlength=len(cells))
        return NormCounts(cells, self.radii)
