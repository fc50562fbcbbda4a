"""Rotations of loadings: varimax, which keeps components at right angles, and promax.

Owns the two rotations. Loadings say how columns go with components; turning the components leaves
what they explain together as it is, and a good turn makes most loadings small.

References
----------
Kaiser (1958), The varimax criterion for analytic rotation in factor analysis. Hendrickson and
White (1964), Promax: a quick method for rotation to oblique simple structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ROTATIONS", "Rotated", "normalize", "oblique", "rotate", "varimax_criterion"]

ROTATIONS = ("varimax", "promax")
POWER = 4
"""Of promax: the loadings that it is after are these to the power of four, with their signs."""
_STARTS = 4
_SWEEPS = 100
_SETTLED = 1e-11
_LEAST_LENGTH = 1e-12

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rotated:
    """Loadings after a rotation.

    Parameters
    ----------
    loadings : ndarray, shape (n_columns, n_components)
        After it, the components that explain most first, and their large loadings positive.
    orthogonal : ndarray, shape (n_columns, n_components)
        The loadings of varimax, from which those of promax follow; else the same.
    turn : ndarray, shape (n_components, n_components)
        By which matrix the loadings were multiplied to get these.
    correlations : ndarray, shape (n_components, n_components)
        Of the components: the identity, but for promax.
    kind : str or None
        Which rotation.
    """

    loadings: Array
    orthogonal: Array
    turn: Array
    correlations: Array
    kind: str | None


def rotate(loadings: Array, kind: str | None) -> Rotated:
    """Return rotated loadings.

    Examples
    --------
    >>> simple = np.array([[0.8, 0.0], [0.7, 0.0], [0.0, 0.6], [0.0, 0.9]])
    >>> angle = 0.5
    >>> turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    >>> rotate(simple @ turn, "varimax").loadings.round(6) + 0.0
    array([[0. , 0.8],
           [0. , 0.7],
           [0.6, 0. ],
           [0.9, 0. ]])
    """
    size = loadings.shape[1]
    if kind is None or size < 2:
        return Rotated(loadings, loadings, np.eye(size), np.eye(size), kind)
    turn = _varimax(loadings)
    turned = loadings @ turn
    order = np.argsort(-(turned**2).sum(axis=0), kind="stable")
    turn = turn[:, order] * np.where((turned**3).sum(axis=0) < 0, -1.0, 1.0)[order]
    turned = loadings @ turn
    if kind == "varimax":
        return Rotated(turned, turned, turn, np.eye(size), kind)
    pattern, correlations = oblique(turned)
    return Rotated(pattern, turned, turn, correlations, kind)


def normalize(loadings: Array) -> Array:
    """Return loadings with rows of length one, so that all columns count alike (Kaiser)."""
    lengths = np.sqrt((loadings**2).sum(axis=1, keepdims=True))
    return np.asarray(loadings / np.maximum(lengths, _LEAST_LENGTH))


def varimax_criterion(loadings: Array) -> float:
    """Return what varimax makes largest: the variances of the squared loadings, Kaiser's way."""
    return float((normalize(loadings) ** 2).var(axis=0).sum())


def oblique(turned: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return promax's loadings and the correlations of its components, from those of varimax.

    Takes a batch as well, shape (..., n_columns, n_components), and complex numbers, by whose
    small imaginary parts it can be differentiated.
    """
    transposed = np.swapaxes(turned, -1, -2)
    target = turned * np.sqrt(turned**2) ** (POWER - 1)
    step = np.linalg.solve(transposed @ turned, transposed @ target)
    inverse = np.linalg.inv(np.swapaxes(step, -1, -2) @ step)
    length = np.sqrt(np.diagonal(inverse, axis1=-2, axis2=-1))
    # Components of variance one.
    pattern = turned @ (step * length[..., None, :])
    return pattern, inverse / (length[..., :, None] * length[..., None, :])


def _varimax(loadings: Array) -> Array:
    """Return the turn that is best from several starts: the criterion has local maxima."""
    rows, size = normalize(loadings), loadings.shape[1]
    # Starts must be the same every time.
    rng = np.random.default_rng(0)
    starts = [np.eye(size)]
    starts += [np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(_STARTS)]
    turns = [_climb(rows, start) for start in starts]
    found = [varimax_criterion(rows @ turn) for turn in turns]
    # The first one, unless another is better by more than rounding.
    best = max(found)
    return next(turn for turn, value in zip(turns, found, strict=True) if value > best - 1e-9)


def _climb(rows: Array, turn: Array) -> Array:
    """Return the turn after turning components two at a time, each pair as far as is best.

    With u = x² − y² and v = 2xy, the best angle is a quarter of that of
    (Σ(u² − v²) − ((Σu)² − (Σv)²)/p, 2Σuv − 2ΣuΣv/p) (Kaiser 1958).
    """
    turned, turn = rows @ turn, turn.copy()
    pairs = list(zip(*np.triu_indices(turn.shape[1], 1), strict=True))
    for _ in range(_SWEEPS):
        largest = 0.0
        for first, second in pairs:
            x, y = turned[:, first], turned[:, second]
            point = (x + 1j * y) ** 2  # u + iv
            angle = float(np.angle((point**2).sum() - point.sum() ** 2 / len(point))) / 4
            largest = max(largest, abs(angle))
            wheel = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            turned[:, [first, second]] = turned[:, [first, second]] @ wheel
            turn[:, [first, second]] = turn[:, [first, second]] @ wheel
        if largest < _SETTLED:
            break
    return turn
