"""What small changes of loadings make of rotated loadings.

Owns the derivative of rotations. Varimax ends where its slope is zero in all directions, and stays
there when loadings move: by which turn follows from the second derivative. Only what changes the
loadings but for a turn matters, so that any form of the loadings before rotation will do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.answers.rotation import Rotated, normalize, oblique

__all__ = ["correlation_slopes", "loading_slopes"]

Array = npt.NDArray[np.float64]

_LEAST_LENGTH = 1e-6
_STEP = 1e-30
"""The imaginary step of complex differentiation: no rounding error, however small."""


def loading_slopes(rotated: Rotated) -> Array:
    """Return how rotated loadings move with those before, shape (p m, p m), row by row."""
    size = rotated.orthogonal.size
    slopes = _varimax_slopes(rotated)
    if rotated.kind == "promax" and rotated.orthogonal.shape[1] > 1:
        pattern, _ = oblique(_nudged(rotated.orthogonal))
        slopes = (pattern.imag / _STEP).reshape(size, size).T @ slopes
    return slopes


def correlation_slopes(rotated: Rotated) -> Array:
    """Return how the correlations of components move with loadings, shape (m m, p m)."""
    size, count = rotated.orthogonal.size, rotated.orthogonal.shape[1]
    if rotated.kind != "promax" or count < 2:
        return np.zeros((count**2, size))
    _, correlations = oblique(_nudged(rotated.orthogonal))
    slopes = (correlations.imag / _STEP).reshape(size, count**2).T
    return np.asarray(slopes @ _varimax_slopes(rotated))


def _nudged(loadings: Array) -> npt.NDArray[np.complex128]:
    """Return the loadings with one of them moved by an imaginary step, for each of them."""
    steps = np.eye(loadings.size).reshape(loadings.size, *loadings.shape)
    return np.asarray(loadings + 1j * _STEP * steps)


def _varimax_slopes(rotated: Rotated) -> Array:
    loadings = rotated.orthogonal
    rows, count = loadings.shape
    if rotated.kind is None or count < 2:
        return np.eye(loadings.size)
    turned = normalize(loadings)
    lengths = np.maximum(np.sqrt((loadings**2).sum(axis=1)), _LEAST_LENGTH)
    steps = np.eye(loadings.size).reshape(-1, rows, count)
    along = np.einsum("ik,aik->ai", turned, steps)
    moves = (steps - along[:, :, None] * turned) / lengths[:, None]
    first, second = np.triu_indices(count, 1)
    skew = np.zeros((len(first), count, count))
    skew[np.arange(len(first)), first, second] = 1.0
    skew[np.arange(len(first)), second, first] = -1.0
    unbalanced = _imbalance(turned, moves)[:, first, second]
    per_turn = _imbalance(turned, turned @ skew)[:, first, second]
    # The turn that brings the slope back to zero.
    angles = -np.linalg.lstsq(per_turn.T, unbalanced.T, rcond=1e-10)[0]
    response = np.einsum("at,aik->ikt", angles, loadings @ skew).reshape(loadings.size, -1)
    # Of what loadings make with the turn as it is, and that of loadings before it.
    slopes = (np.eye(loadings.size) + response).reshape(-1, rows, count)
    return np.asarray(slopes @ rotated.turn.T).reshape(loadings.size, loadings.size)


def _imbalance(turned: Array, moves: Array) -> Array:
    """Return by how much moves of loadings make ZᵀG asymmetric, G the slope of the criterion."""
    spread = (turned**2).mean(axis=0)
    slope = turned**3 - turned * spread
    changed = 2 * (turned * moves).mean(axis=1)
    bend = 3 * turned**2 * moves - moves * spread - turned * changed[:, None, :]
    product = np.swapaxes(moves, 1, 2) @ slope + turned.T @ bend
    return np.asarray(product - np.swapaxes(product, 1, 2))
