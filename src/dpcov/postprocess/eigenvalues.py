"""Eigenvalues of a matrix that falls into small ones, and what noise alone does to them.

Owns the spectrum of sparse matrices: one decomposition for each component.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.noise_model import NoiseModel, row_blocks
from dpcov.postprocess.psd import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["eigenvalue_intervals", "eigenvalues_by_component", "largest_of_noise"]

Array = npt.NDArray[np.float64]


def eigenvalues_by_component(
    off_diagonal: csr_array, diagonal: Array, part: Callable[[npt.NDArray[np.intp]], Array]
) -> Array:
    """Return the eigenvalues of a symmetric matrix, the largest first."""
    alone = np.ones(len(diagonal), dtype=bool)
    parts = []
    for members in components(off_diagonal):
        alone[members] = False
        parts.append(np.linalg.eigvalsh(part(members)))
    result: Array = np.sort(np.concatenate([diagonal[alone], *parts]))[::-1]
    result.setflags(write=False)
    return result


def largest_of_noise(noise: NoiseModel) -> float:
    """Return the largest eigenvalue that the privacy noise alone would produce: 2 τ √p.

    A symmetric matrix of p columns whose entries are independent Gaussians of sd τ off the
    diagonal has its eigenvalues in ±2 τ √p, but for a margin that vanishes as p grows
    (Wigner 1958). By Weyl's inequality the noise moves every eigenvalue of the release by
    no more than that. Where noise grows with the signal or with a released mean, τ is that
    of two middling columns. In working units.

    Examples
    --------
    >>> model = NoiseModel(np.ones(4), n_rows=100, off_diagonal=0.1, diagonal=0.14)
    >>> round(largest_of_noise(model), 3)
    0.4
    """
    variance = noise.privacy_variance(float(np.median(noise.variances)))
    return 2 * math.sqrt(variance * len(noise.variances))


def eigenvalue_intervals(matrix: Array, noise: NoiseModel, width: float) -> tuple[Array, Array]:
    """Return intervals of so many standard errors for the eigenvalues that stand out.

    They are the first ones, the largest first. Noise whose eigenvalues end at b adds to a large
    eigenvalue θ: it is seen near y = θ + b²/(4θ) (Capitaine, Donati-Martin and Féral 2009), so
    that θ = (y + √(y² − b²))/2. The noise E moves it by uᵀEu, u its eigenvector, and sampling of
    Gaussian rows by a variance of 2θ²/n. Those within 2b have no interval: their eigenvectors are
    noise to a good part.
    """
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    of_table = noise.of_table
    edge = 2 * math.sqrt(float(of_table.row_sums(np.ones(len(matrix))).mean()))
    out = int((values > 2 * edge).sum())
    theta = (values[:out] + np.sqrt(values[:out] ** 2 - edge**2)) / 2
    moved = np.array([_moved(vector, matrix, of_table) for vector in vectors[:, :out].T])
    margin = width * np.sqrt(moved + 2 * theta**2 / noise.n_rows)
    return theta - margin, theta + margin


def _moved(vector: Array, matrix: Array, noise: NoiseModel) -> float:
    """Return the variance of uᵀEu: every entry off the diagonal counts twice."""
    square, total = vector**2, 0.0
    for rows in row_blocks(len(matrix)):
        variance = noise.interval_variance(rows, matrix[rows])
        diagonal = np.arange(len(matrix))[rows]
        variance[np.arange(len(diagonal)), diagonal] /= 2
        total += float(square[rows] @ (2 * variance) @ square)
    return total
