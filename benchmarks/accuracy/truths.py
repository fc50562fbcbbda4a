"""Covariance matrices to be found again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["TRUTHS"]

Array = npt.NDArray[np.float64]
Truth = Callable[[int, np.random.Generator], Array]


def _paper(size: int, generator: np.random.Generator) -> Array:
    """Wang and Xu's generator at sparsity ratio 0.2, with uniform [0, 1) entries."""
    chosen = generator.random((size, size)) < 0.2
    upper = np.triu(np.where(chosen, generator.random((size, size)), 0.0))
    return (upper + np.triu(upper, k=1).T + 50 * np.eye(size)) / 200


def _cai_liu(size: int, generator: np.random.Generator) -> Array:
    """Cai and Liu's model 1: a band on the first half, 4 · identity on the second."""
    half = size // 2
    place = np.arange(half)
    truth = 4.0 * np.eye(size)
    truth[:half, :half] = np.maximum(1 - np.abs(place[:, None] - place) / 10, 0)
    return truth


def _identity(size: int, generator: np.random.Generator) -> Array:
    return np.eye(size)


def _band(size: int, generator: np.random.Generator) -> Array:
    return np.eye(size) + 0.4 * (np.eye(size, k=1) + np.eye(size, k=-1))


def _blocks(size: int, generator: np.random.Generator) -> Array:
    block = 0.5 * np.eye(10) + np.full((10, 10), 0.5)
    truth: Array = np.kron(np.eye(size // 10), block).astype(np.float64)
    return truth


def _hubs(size: int, generator: np.random.Generator) -> Array:
    """One column in ten is related to the nine that follow it."""
    truth = np.eye(size)
    for hub in range(0, size - 9, 10):
        truth[hub, hub + 1 : hub + 10] = truth[hub + 1 : hub + 10, hub] = 0.3
    return truth


def _random_signs(size: int, generator: np.random.Generator) -> Array:
    """Two percent of the pairs, of either sign."""
    chosen = np.triu(generator.random((size, size)) < 0.02, k=1)
    values = np.where(chosen, generator.choice([-0.4, 0.4], size=(size, size)), 0.0)
    truth = values + values.T + np.eye(size)
    lift = max(0.0, 0.05 - float(np.linalg.eigvalsh(truth)[0]))
    return (truth + lift * np.eye(size)) / (1 + lift)


def _low_rank(size: int, generator: np.random.Generator) -> Array:
    """Three dense factors: nothing is zero."""
    factors: Array = generator.standard_normal((size, 3)) / np.sqrt(6)
    return factors @ factors.T + 0.5 * np.eye(size)


TRUTHS: dict[str, Truth] = {
    "paper's model, sr = .2": _paper,
    "Cai–Liu model 1": _cai_liu,
    "identity": _identity,
    "band": _band,
    "blocks": _blocks,
    "hubs": _hubs,
    "random signs": _random_signs,
    "low rank": _low_rank,
}
