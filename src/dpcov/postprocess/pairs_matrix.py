"""The correlations of released pairs as a sparse matrix.

Owns how pairs become a matrix, and how it is made positive semi-definite, one connected part of
the columns at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.psd import components, repair
from dpcov.postprocess.sign_correlations import SignCorrelations
from dpcov.releases import PairsRelease

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["correlation_matrix"]

Array = npt.NDArray[np.float64]


def correlation_matrix(
    release: PairsRelease, signs: SignCorrelations, kept: npt.NDArray[np.bool_], psd: str
) -> csr_array:
    """Return the matrix of the pairs that are kept, with ones on its diagonal."""
    correlation = _symmetric(release, signs.correlations(signs.values), kept)
    return _repaired(correlation, _symmetric(release, signs.standard_errors**2, kept), psd)


def _symmetric(release: PairsRelease, of_pairs: Array, kept: npt.NDArray[np.bool_]) -> csr_array:
    """Return the matrix with these numbers at the pairs that are kept, and ones on its diagonal."""
    from scipy.sparse import coo_array

    size = release.n_columns
    values = of_pairs[kept]
    first, second = release.pairs[kept].astype(np.int64).T
    everyone = np.arange(size)
    rows = np.concatenate([everyone, first, second])
    columns = np.concatenate([everyone, second, first])
    data = np.concatenate([np.ones(size), values, values])
    return coo_array((data, (rows, columns)), shape=(size, size)).tocsr()


def _repaired(correlation: csr_array, variance: csr_array, psd: str) -> csr_array:
    """Make every component positive semi-definite, with ones on the diagonal again."""
    from scipy.sparse import coo_array

    parts = []
    touched = np.zeros(correlation.shape[0], dtype=bool)
    for members in components(correlation):
        part = correlation[members][:, members].toarray()
        known = variance[members][:, members].toarray()
        known[known == 0] = 1.0  # not kept, so that it does not matter
        repaired = repair(part, method=psd, variances=known.__getitem__)
        if repaired is None:
            continue
        deviation = np.sqrt(np.diag(repaired))
        repaired /= np.outer(deviation, deviation)
        np.clip(repaired, -1.0, 1.0, out=repaired)  # of rounding errors
        np.fill_diagonal(repaired, 1.0)
        row, column = np.nonzero(repaired)
        parts.append((repaired[row, column], members[row], members[column]))
        touched[members] = True
    if not parts:
        return correlation
    rest = correlation.tocoo()
    left = ~touched[rest.row]
    parts.append((rest.data[left], rest.row[left], rest.col[left]))
    data, row, column = (np.concatenate(column) for column in zip(*parts, strict=True))
    return coo_array((data, (row, column)), shape=correlation.shape).tocsr()
