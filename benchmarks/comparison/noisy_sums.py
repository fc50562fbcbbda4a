"""Covariance by hand, as a user of tools for sums makes it: noisy sums of cells and of products.

Cells are scaled to ±1 by their bounds, and rows may be shortened to a norm.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["correlations", "l2_sensitivity", "products", "shorten"]

Array = npt.NDArray[np.float64]


def shorten(cells: Array, norm: float) -> Array:
    """Return the rows, the longer ones shortened to `norm`."""
    lengths = np.linalg.norm(cells, axis=1, keepdims=True)
    return np.asarray(cells * np.minimum(1, norm / np.maximum(lengths, 1e-300)))


def products(cells: Array) -> Array:
    """Return each row's cells and products of two cells: what is summed."""
    with_one = np.column_stack([np.ones(len(cells)), cells])
    first, second = np.triu_indices(with_one.shape[1])
    return np.asarray(with_one[:, first[1:]] * with_one[:, second[1:]])


def l2_sensitivity(norm: float) -> float:
    """Return how far one row within ±1 and `norm` moves the sums, when it is added or removed.

    |x|² for the cells, and (|x|⁴ + Σ x⁴)/2 for the products, with Σ x⁴ at most |x|².
    """
    square = norm**2
    return float(np.sqrt(square + (square**2 + square) / 2))


def correlations(sums: Array, n_rows: int, n_columns: int) -> Array:
    """Return the correlations that noisy sums give, made positive semi-definite."""
    size = n_columns + 1
    moments = np.zeros((size, size))
    moments[np.triu_indices(size)] = [1, *(sums / n_rows)]
    mean, second = moments[0, 1:], moments[1:, 1:]
    covariance = second + np.triu(second, 1).T - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance)
    covariance = (vectors * np.maximum(values, 1e-9)) @ vectors.T
    deviations = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(deviations, deviations))
