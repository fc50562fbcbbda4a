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
    """Return the covariance of the means, if wanted, and of vech of the covariances."""
    size = len(asked.places)
    entries = _entries(size)
    first = size if means else 0
    weights = np.concatenate([np.zeros((first, size, size)), entries])
    of_means = np.zeros((len(weights), size))
    of_means[:first] = np.eye(size)[:first]
    return _symmetric(_errors(asked).covariance(weights, of_means))


def _entries(size: int) -> Array:
    """Return weights that pick the entries of vech, one by one."""
    rows, columns = lower_triangle(size)
    weights = np.zeros((len(rows), size, size))
    order = np.arange(len(rows))
    weights[order, rows, columns] += 0.5
    weights[order, columns, rows] += 0.5
    return weights


def _errors(asked: Asked) -> EntryCovariance:
    return EntryCovariance(asked.moments, asked.places, "population")


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2)
