"""Places for the nodes of a connected graph, with no randomness.

Owns stress majorization (Gansner, Koren and North 2004): distances on paper are to be those
along edges. A spring layout would depend on a random start, and a package for graphs would
be a dependency for these lines.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["spread"]

_STEPS = 300
_CLOSEST = 0.7  # the middling distance of a node to its nearest, at least

Array = npt.NDArray[np.float64]


def spread(distance: Array) -> Array:
    """Return coordinates at which nodes are as far apart as they are along edges.

    Examples
    --------
    >>> spread(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [[0.0, 0.8], [0.0, 0.0]]
    """
    size = len(distance)
    if size == 2:  # upright: one name above, the other below
        return np.array([[0.0, 0.8], [0.0, 0.0]])
    angle = 2 * math.pi * np.arange(size) / size
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * distance.max() / 2
    # The better of two starts. The circle keeps nodes apart that have the same coordinates.
    starts = [circle, _leading_coordinates(distance) + 0.1 * circle]
    drawn = [_majorize(start, distance) for start in starts]
    places = _turn(min(drawn, key=lambda places: _stress(places, distance)))
    nearest = np.sort(_distances(places), axis=1)[:, 1]
    result: Array = places * max(1.0, _CLOSEST / max(float(np.median(nearest)), 0.1))
    return result


def _leading_coordinates(distance: Array) -> Array:
    """Classical scaling, with signs that do not depend on the machine."""
    centered = -0.5 * distance**2
    centered -= centered.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centered)
    return _settle(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)))


def _settle(vectors: Array) -> Array:
    largest = vectors[np.abs(vectors).argmax(axis=0), [0, 1]]
    result: Array = vectors * np.where(largest < 0, -1.0, 1.0)
    return result


def _majorize(places: Array, distance: Array) -> Array:
    weight = _weights(distance)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(_STEPS):
        pull = weight * distance / np.maximum(_distances(places), 1e-9)
        moved = inverse @ (pull.sum(axis=1)[:, None] * places - pull @ places)
        done = np.abs(moved - places).max() < 1e-4
        places = moved
        if done:
            break
    return places


def _stress(places: Array, distance: Array) -> float:
    return float((_weights(distance) * (_distances(places) - distance) ** 2).sum())


def _weights(distance: Array) -> Array:
    apart = distance + np.eye(len(distance))
    result: Array = (1 - np.eye(len(distance))) / apart**2
    return result


def _distances(places: Array) -> Array:
    result: Array = np.linalg.norm(places[:, None] - places[None], axis=2)
    return result


def _turn(places: Array) -> Array:
    """Lay the long side of a component flat."""
    centered = places - places.mean(axis=0)
    _, axes = np.linalg.eigh(centered.T @ centered)
    return _settle(centered @ axes[:, ::-1])
