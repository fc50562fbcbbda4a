"""How the loadings and uniquenesses of a factor analysis move with the correlations.

Owns their derivative, by the implicit function theorem: at the fit the slope of the criterion is
zero, and stays so when correlations move. Turns of the loadings leave the criterion as it is;
they are left out here and settled by the rotation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.answers.factor_fit import FactorFit

__all__ = ["FactorSlopes", "factor_slopes"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FactorSlopes:
    """How a fit moves with correlations: weights of each of them, shape (·, p, p).

    `loadings` are those before rotation, row by row, but for a turn.
    """

    loadings: Array
    uniquenesses: Array


def factor_slopes(fit: FactorFit) -> FactorSlopes:
    """Return how loadings and uniquenesses move with the correlations that were fitted."""
    size, count = fit.loadings.shape
    precision: Array = np.eye(size)
    if fit.method == "ml":
        precision = np.asarray(np.linalg.inv(fit.implied), dtype=np.float64)
    left = precision @ (fit.implied - fit.correlations) @ precision
    free = np.append(np.ones(size * count, dtype=np.bool_), ~fit.at_bound)
    bends = _bends(fit, precision, left)[np.ix_(free, free)]
    n_turns = count * (count - 1) // 2
    inverse = _inverse(bends, n_turns)
    pulls = _pulls(fit, precision)[free].reshape(len(inverse), -1)
    moved = np.zeros((len(free), size * size))
    moved[free] = inverse @ pulls
    slopes = moved.reshape(-1, size, size)
    slopes = (slopes + slopes.transpose(0, 2, 1)) / 2
    return FactorSlopes(slopes[: size * count], slopes[size * count :])


def _directions(fit: FactorFit) -> Array:
    """Return how implied correlations move with each loading and each uniqueness."""
    size, count = fit.loadings.shape
    moves = np.zeros((size * count + size, size, size))
    for row in range(size):
        part = moves[row * count : (row + 1) * count]
        part[:, row, :] = fit.loadings.T
        part += part.transpose(0, 2, 1).copy()
        moves[size * count + row, row, row] = 1.0
    return moves


def _bends(fit: FactorFit, precision: Array, left: Array) -> Array:
    """Return the second derivative of the criterion: how its slope 2WΛ, diag W moves.

    W = V(Σ − R)V with V = Σ⁻¹ for maximum likelihood, and the identity for minimum residual.
    """
    size, count = fit.loadings.shape
    moves = _directions(fit)
    if fit.method == "ml":
        half = precision @ moves
        changed = half @ precision - half @ left - np.swapaxes(half @ left, 1, 2)
    else:
        changed = moves
    of_loadings = 2 * (changed @ fit.loadings)
    for row in range(size):
        for place in range(count):
            of_loadings[row * count + place, :, place] += 2 * left[:, row]
    of_uniquenesses = np.diagonal(changed, axis1=1, axis2=2)
    bends = np.concatenate([of_loadings.reshape(len(moves), -1), of_uniquenesses], axis=1)
    return np.asarray((bends + bends.T) / 2)


def _inverse(bends: Array, n_turns: int) -> Array:
    """Return the inverse but for turns, along which the criterion is flat."""
    values, vectors = np.linalg.eigh(bends)
    order = np.argsort(np.abs(values))[n_turns:]
    return np.asarray((vectors[:, order] / values[order]) @ vectors[:, order].T)


def _pulls(fit: FactorFit, precision: Array) -> Array:
    """Return how correlations pull at the slope: 2 V dR V Λ, and the diagonal of V dR V."""
    size = len(fit.loadings)
    weights = precision @ fit.loadings
    of_loadings = 2 * np.einsum("ri,jk->rkij", precision, weights).reshape(-1, size, size)
    of_uniquenesses = np.einsum("ri,rj->rij", precision, precision)
    return np.asarray(np.concatenate([of_loadings, of_uniquenesses]))
