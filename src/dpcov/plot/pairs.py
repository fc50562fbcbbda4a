"""What the plots show of an estimate: correlations, and the pairs that can be trusted.

Owns the one face of `Estimate` and `PairsEstimate` that the plots see. Everything is in
units of correlation, so that columns on different scales can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.postprocess import Estimate, PairsEstimate

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["AnyEstimate", "TrustedPairs", "check_estimate", "find_pairs", "kept_correlations"]

Array = npt.NDArray[np.float64]
AnyEstimate = Estimate | PairsEstimate


@dataclass(frozen=True, eq=False)
class TrustedPairs:
    """Pairs of columns that are related, the surest first.

    Parameters
    ----------
    first, second : ndarray of int
        Places of the columns.
    correlation : ndarray
        As released, before any shrinkage. Beyond ±1 where the noise is large.
    low, high : ndarray
        The ends of its interval.
    """

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    correlation: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.first)


def check_estimate(estimate: object) -> None:
    """Refuse what is not an estimate, a release above all."""
    if not isinstance(estimate, (Estimate, PairsEstimate)):
        raise ParameterError(
            f"Plots need an estimate; got a {type(estimate).__name__}. A release has one: "
            "release.estimate()."
        )


def find_pairs(estimate: AnyEstimate, *, fdr: float, level: float = 0.95) -> TrustedPairs:
    """Return the pairs of ``estimate.edges(fdr)`` as correlations with intervals.

    The covariance of an `Estimate` and its interval are divided by the estimated standard
    deviations, whose own error is not counted.
    """
    check_estimate(estimate)
    low, high = estimate.interval(level)
    edges = estimate.edges(fdr)
    place = {name: number for number, name in enumerate(estimate.columns)}
    first = np.array([place[name] for name in edges.first], dtype=np.intp)
    second = np.array([place[name] for name in edges.second], dtype=np.intp)
    if isinstance(estimate, PairsEstimate):
        where = _places_of(first, second, estimate)
        values = (estimate.pair_correlation[where], low[where], high[where])
    else:
        # The noise model is in working units, edges and intervals are in the columns' own.
        deviation = np.sqrt(estimate.noise.variances) * estimate.release.units.scale
        unit = deviation[first] * deviation[second]
        values = (edges.value / unit, low[first, second] / unit, high[first, second] / unit)
    return TrustedPairs(first, second, *values)


def kept_correlations(estimate: AnyEstimate) -> csr_array:
    """Return the correlations of the estimate off the diagonal, without its zeros."""
    from scipy.sparse import coo_array

    check_estimate(estimate)
    if isinstance(estimate, PairsEstimate):  # dense, it may not fit into memory
        entries = estimate.covariance_sparse.tocoo()
        deviation = np.sqrt(estimate.covariance_sparse.diagonal())
        values = entries.data / (deviation[entries.row] * deviation[entries.col])
        rows, columns = entries.row, entries.col
    else:
        rows, columns = np.nonzero(estimate.covariance)
        values = estimate.correlation[rows, columns]
    apart = rows != columns
    size = len(estimate.columns)
    return coo_array((values[apart], (rows[apart], columns[apart])), shape=(size, size)).tocsr()


def _places_of(
    first: npt.NDArray[np.intp], second: npt.NDArray[np.intp], estimate: PairsEstimate
) -> npt.NDArray[np.intp]:
    """Return where some pairs stand in the release, whose pairs are in rising order."""
    size = len(estimate.columns)
    pairs = estimate.release.pairs.astype(np.int64)
    return np.searchsorted(pairs[:, 0] * size + pairs[:, 1], first * size + second)
