"""Blocks of a noisy matrix that can be inverted, and what noise forbids to tell apart.

Owns the floor under eigenvalues. Noise makes small eigenvalues smaller, or negative; where one
does not stand above the noise, a direction of the columns cannot be told from none, and what
depends on it is regularized: its eigenvalue is lifted to the floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.correlations import CorrelationErrors
from dpcov.postprocess.noise_model import NoiseModel

__all__ = ["UNTOLD_SHARE", "Lifted", "lift"]

UNTOLD_SHARE = 0.05
"""A column cannot be told from others if so much of it lies in directions that are untold."""

_TOLD = 4.0
"""A direction is told from none if its eigenvalue is so many sd of its noise above zero."""
_FLOOR = 0.5
"""What is not told is lifted to so many times the largest eigenvalue of noise, or farther."""
_RELATIVE = 1e-10
"""No eigenvalue is taken to be a smaller share of the largest: rounding alone gives so much."""

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Lifted:
    """A block of covariances whose eigenvalues, as correlations, are at least a floor.

    Parameters
    ----------
    deviations : ndarray, shape (n_columns,)
        The standard deviations by which correlations were made.
    values, vectors : ndarray
        Eigenvalues in rising order, and eigenvectors, of the correlations as released.
    noise : ndarray, shape (n_columns,)
        The sd of the privacy noise in each of these directions.
    edge : float
        The largest eigenvalue that noise alone would give to them.
    """

    deviations: Array
    values: Array
    vectors: Array
    noise: Array
    edge: float

    @cached_property
    def told(self) -> npt.NDArray[np.bool_]:
        """Which directions stand above the noise."""
        least = np.maximum(_TOLD * self.noise, _RELATIVE * self.values[-1])
        return np.asarray(self.values > least)

    @cached_property
    def floor(self) -> float:
        """What eigenvalues are lifted to where directions are not told."""
        untold = float(self.noise[~self.told].max(initial=0.0))
        return max(_FLOOR * self.edge, _TOLD * untold, _RELATIVE * float(self.values[-1]))

    @cached_property
    def lifted_values(self) -> Array:
        """The eigenvalues, lifted to the floor where directions are not told."""
        return np.where(self.told, self.values, np.maximum(self.values, self.floor))

    @property
    def covariance(self) -> Array:
        """The block, lifted."""
        return self._with(self.lifted_values, self.deviations)

    @property
    def inverse(self) -> Array:
        """The inverse of the lifted block."""
        return self._with(1 / self.lifted_values, 1 / self.deviations)

    @property
    def root(self) -> Array:
        """A matrix L with L Lᵀ = `covariance`."""
        return np.asarray(self.deviations[:, None] * self.vectors * np.sqrt(self.lifted_values))

    @property
    def untold_share(self) -> Array:
        """For each column, the share of it that lies in directions that cannot be told."""
        return np.asarray((self.vectors[:, ~self.told] ** 2).sum(axis=1))

    def _with(self, values: Array, deviations: Array) -> Array:
        matrix = (self.vectors * values) @ self.vectors.T * np.outer(deviations, deviations)
        return np.asarray((matrix + matrix.T) / 2)


def lift(matrix: Array, noise: NoiseModel, places: Places) -> Lifted:
    """Return a block of a released matrix, lifted."""
    deviations = np.sqrt(noise.variances[places])
    block = matrix[np.ix_(places, places)] / np.outer(deviations, deviations)
    values, vectors = np.linalg.eigh((block + block.T) / 2)
    variances = CorrelationErrors.at(noise, places[:, None], places[None, :]).noise
    variances = np.broadcast_to(variances, block.shape)
    # Of symmetric noise N with variances v off the diagonal, and 2 v on it: vᵀ N v, and the
    # largest eigenvalue.
    squares = vectors**2
    along = np.sqrt(2 * np.einsum("ik,ij,jk->k", squares, variances, squares))
    edge = float(2 * np.sqrt(variances.sum(axis=1).max()))
    return Lifted(deviations, values, vectors, along, edge)
