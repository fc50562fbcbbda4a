"""Sides: a column of the table beside another one, in coordinates in which it varies by one.

Owns how the levels of a category become such coordinates, and which of them are read as one
because they are too rare to be told from noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LEAST_ROWS", "Side", "category_side", "number_side"]

_TOLD = 5.0
"""A level is told from noise if its share is so many noise sd above zero."""
LEAST_ROWS = 10.0
"""… and is expected in so many rows."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side:
    """One of two columns that are looked at together.

    With W = `whiten` for both, W₁ᵀ C W₂ of their covariances C, in working units, has as its
    squared length what the measures of association are made of.

    Parameters
    ----------
    whiten : ndarray, shape (n_values, n_coordinates)
        From working values to coordinates that vary by one and are not correlated.
    noise : ndarray, shape (n_coordinates,)
        What noise of 1 in each value becomes, as variances. It is not correlated either.
    offset : ndarray, shape (n_coordinates,)
        The mean of the coordinates, as far as the release has taken none out.
    offset_noise : float
        The variance of the noise of a mean of working values.
    shares : ndarray, shape (n_pools,)
        The shares of the levels, pooled; [1] for a number.
    pools : ndarray, shape (n_pools, n_values)
        Which levels are read as one.
    spread : ndarray, shape (n_pools, n_pools)
        What noise of 1 in each value becomes in the pools: levels add up to nothing.
    scale : float
        What a working value of 1 is worth as a share; 1 for a number.
    relative : float
        The variance of the relative error of the variance of a number.
    """

    whiten: Array
    noise: Array
    offset: Array
    offset_noise: float
    shares: Array
    pools: Array
    spread: Array
    scale: float
    relative: float

    @property
    def is_told(self) -> bool:
        """Whether there is anything that could vary together with another column."""
        return bool(self.whiten.shape[1])

    @property
    def pooled(self) -> npt.NDArray[np.bool_]:
        """Which levels are read as one with others."""
        counts = self.pools.sum(axis=1)
        return np.asarray(counts @ self.pools > 1)

    def relative_noise(self, block: Array, found: float) -> float:
        """Return the relative error, as a variance, that noisy shares give to a squared length.

        `block` has the covariances with the coordinates of the other side, and the length that
        was found in them is a sum over levels of terms that are divided by shares.
        """
        if len(self.pools[0]) == 1 or not found:
            return self.relative
        rows = self.pools @ block
        part = (rows**2).sum(axis=1) / self.shares**2 / found
        return float(self.scale**6 * self.offset_noise * (part @ self.spread @ part))


def number_side(variance: float, variance_error: float, offset: float, noise: float) -> Side:
    """Return the side of a number, given its variance and its mean in working units."""
    whiten = np.array([[1 / np.sqrt(variance)]])
    relative = (variance_error / variance) ** 2
    one, noises = np.ones((1, 1)), 1 / np.array([variance])
    return Side(whiten, noises, whiten[0] * offset, noise, one[0], one, one, 1.0, relative)


def category_side(
    shares: Array, *, scale: float, offset: Array, offset_noise: float, n_rows: float
) -> Side:
    """Return the side of a category, given the shares of its levels.

    The noise of a working mean is that of independent numbers without what they add up to;
    `offset_noise` is the variance of one such number.
    """
    pools = _pool(shares, scale**2 * offset_noise, n_rows)
    pooled, size = pools @ shares, len(shares)
    counts = pools.sum(axis=1)
    root = np.sqrt(pooled)
    spread = np.diag(counts) - np.outer(counts, counts) / size
    noise, vectors = np.linalg.eigh(spread / np.outer(root, root))
    # The direction of the roots of the shares is the one in which nothing varies.
    whiten = scale * (pools.T / root) @ vectors[:, 1:]
    return Side(
        whiten,
        scale**2 * noise[1:],
        whiten.T @ offset,
        offset_noise,
        pooled,
        pools,
        spread,
        scale,
        0.0,
    )


def _pool(shares: Array, unit_noise: float, n_rows: float) -> Array:
    """Return which levels are read as one: those that are too rare, all together.

    Together they must be told from noise, too, or the rarest of the others joins them.
    """
    size = len(shares)

    def is_told(share: float, count: int) -> bool:
        error = np.sqrt(unit_noise * count * (1 - count / size))
        return bool(share > max(_TOLD * error, LEAST_ROWS / n_rows))

    order = np.argsort(shares, kind="stable")
    rare = sum(not is_told(share, 1) for share in shares.tolist())
    while 0 < rare < size and not is_told(float(shares[order[:rare]].sum()), rare):
        rare += 1
    pools = np.zeros((size - max(rare - 1, 0), size))
    pools[0, order[: max(rare, 1)]] = 1.0
    pools[np.arange(1, len(pools)), np.sort(order[max(rare, 1) :])] = 1.0
    return pools
