"""The covariance of all entries, in the order of lavaan.

Owns that order, and no formula of errors: `dpcov.answers.entry_covariance` knows them. lavaan
stacks a symmetric matrix by columns of its lower triangle with its diagonal (vech), and puts means
first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.answers.entry_covariance import EntryCovariance
from dpcov.answers.exports.asked import Asked
from dpcov.answers.exports.pd_moments import Moments, moments_of

__all__ = ["MOST_COLUMNS", "errors_of_moments", "lower_triangle"]

MOST_COLUMNS = 40
"""Beyond so many columns the covariance of all entries is not written: it has p⁴/4 numbers."""

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def lower_triangle(size: int) -> tuple[Places, Places]:
    """Return rows and columns of the lower triangle, column by column.

    Examples
    --------
    >>> [(int(i), int(j)) for i, j in zip(*lower_triangle(3))]
    [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)]
    """
    # The lower triangle by columns is the upper one by rows, mirrored.
    columns, rows = np.triu_indices(size)
    return rows, columns


def errors_of_moments(asked: Asked, *, means: bool) -> Array:
    """Return the covariance of the means, if wanted, and of vech of the covariances.

    Both are about the matrix D R D that is written: errors are evaluated at it, and see
    `_of_published` for those of D.
    """
    size = len(asked.places)
    entries = _entries(size)
    first = size if means else 0
    weights = np.concatenate([np.zeros((first, size, size)), entries])
    of_means = np.zeros((len(weights), size))
    of_means[:first] = np.eye(size)[:first]
    moments = moments_of(asked)
    found = _errors(asked, moments).covariance(weights, of_means)
    return _symmetric(_of_published(found, moments, first))


def _of_published(found: Array, moments: Moments, first: int) -> Array:
    """Return the covariance of means and entries of D R D, for that of released ones.

    Of a released variance s with an error e, R takes all and D what shrinking kept of it, k. So an
    entry S_ij moves by S_ij/2 · (k − 1) e/s for each of its columns. What else the published
    variance is uncertain by is independent of it, and makes its variance that of e again.
    """
    covariance, kept = moments.covariance, moments.kept
    rows, columns = lower_triangle(len(kept))
    order, own = np.arange(len(rows)), first + np.flatnonzero(rows == columns)
    half = np.zeros((len(found), len(kept)))
    for place in (rows, columns):
        half[first + order, place] += covariance[rows, columns] / (2 * covariance[place, place])
    moves = np.eye(len(found))
    moves[:, own] += half * (kept - 1)
    rest = (1 - kept**2) * found[own, own]
    return np.asarray(moves @ found @ moves.T + (half * rest) @ half.T)


def _entries(size: int) -> Array:
    """Return weights that pick the entries of vech, one by one."""
    rows, columns = lower_triangle(size)
    weights = np.zeros((len(rows), size, size))
    order = np.arange(len(rows))
    weights[order, rows, columns] += 0.5
    weights[order, columns, rows] += 0.5
    return weights


def _errors(asked: Asked, moments: Moments) -> EntryCovariance:
    return EntryCovariance(asked.moments, asked.places, "population", moments.covariance)


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2)
