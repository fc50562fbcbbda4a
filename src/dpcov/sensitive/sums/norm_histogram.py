"""How many rows have a squared norm between each two of some public numbers.

Owns the counts from which a radius is learned. Sensitive: there is no noise yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.sealed import Sealed
from dpcov.sensitive.sums.rows import squared_norms

__all__ = ["NormBins", "NormBinsKernel"]

_BLOCK_BYTES = 4 << 20
# Cells are cut to so many bits of a typical one of the shortest rows that are told apart.
_GRID_BITS = 12
_EXACT = 2.0**53


class NormBins(Sealed):
    """Row counts by squared norm; merge with ``+``.

    Notes
    -----
    Claim P25. The norm of a row follows from that row alone, and puts it into one bin; a row
    without cells, of zeros, or too short to tell, is in none. So one row moves the number of
    rows in any set of bins by at most 1, and adds nothing to it if it has no cells.
    """

    __slots__ = ("_counts", "edges", "n_rows")

    _counts: npt.NDArray[np.int64]
    edges: npt.NDArray[np.float64]
    n_rows: int

    def __init__(
        self, counts: npt.NDArray[np.int64], edges: npt.NDArray[np.float64], *, n_rows: int
    ) -> None:
        self._hold(_counts=counts, edges=edges, n_rows=n_rows)

    def beyond(self, place: int) -> npt.NDArray[np.int64]:
        """Return the number of rows beyond an edge, as an array of one. Sensitive."""
        rows: npt.NDArray[np.int64] = self._counts[place + 1 :].sum(keepdims=True)
        return rows

    def sums(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return Σ value(bin) over the rows, for each list of values of the bins. Sensitive."""
        sums: npt.NDArray[np.int64] = values @ self._counts
        return sums

    def __add__(self, other: object) -> NormBins:
        if not isinstance(other, NormBins):
            return NotImplemented
        if not np.array_equal(self.edges, other.edges):
            raise ParameterError("Counts merge only for the same edges.")
        n_rows = self.n_rows + other.n_rows
        return NormBins(self._counts + other._counts, self.edges, n_rows=n_rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NormBins):
            return NotImplemented
        return (
            self.n_rows == other.n_rows
            and np.array_equal(self.edges, other.edges)
            and np.array_equal(self._counts, other._counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NormBins({self.n_rows} rows)"


@dataclass(frozen=True, eq=False)
class NormBinsKernel:
    """How blocks become counts. Edges of squared norms are public, and rise."""

    edges: npt.NDArray[np.float64]
    n_columns: int
    missing: Missing
    has_small_sums: ClassVar[bool] = True

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return max(256, _BLOCK_BYTES // (8 * self.n_columns))

    def sum_over(
        self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None
    ) -> NormBins:
        """Return the counts of all rows."""
        counts = np.zeros(len(self.edges) + 1, dtype=np.int64)
        n_rows = 0
        for block in blocks:
            squared = self._squared_norms(block)
            places = np.searchsorted(self.edges, squared[squared > 0])
            counts += np.bincount(places, minlength=len(counts))
            n_rows += len(block)
        return NormBins(counts, self.edges, n_rows=n_rows)

    def _squared_norms(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return squared norms of rows, cut to a grid that is fine beside the first edge.

        Sums of squared integers below 2^53 are exact in any order, and others are seen not to
        be, in any order; those rows, and rows with missing cells, take the longer way.
        """
        with np.errstate(all="ignore"):
            whole = np.multiply(rows, 1 / self._unit, dtype=np.float64)
            np.trunc(whole, out=whole)
            squared: npt.NDArray[np.float64] = np.vecdot(whole, whole)
            hard = np.flatnonzero(~(squared < _EXACT))
            squared *= self._unit**2
        if len(hard):
            squared[hard] = squared_norms(rows[hard], self.missing)
        return squared

    @property
    def _unit(self) -> float:
        _, exponent = np.frexp(np.sqrt(self.edges[0] / self.n_columns))
        return float(np.ldexp(1.0, int(exponent) - _GRID_BITS))
