"""Tangents: how all partial correlations move with the moments that they are computed from.

Owns these derivatives, which are never written down: there are p² of them with p² numbers each,
but each has rank two, so that the errors of all pairs are a few products of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Independent", "Spread", "Tangents"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_BATCH_NUMBERS = 1 << 22
"""How many weights are written down at once, where they are."""
_NEAREST = 1 - 1e-9
"""A partial correlation is taken to be no nearer to ±1."""


class Spread(NamedTuple):
    """What errors of moments make of partial correlations, as they depend on those.

    The variance is noise − cross·ρ + scale·ρ²: the terms of `CorrelationErrors`, for all pairs of
    columns as square arrays.
    """

    noise: Array
    cross: Array
    scale: Array


class Independent(NamedTuple):
    """Noise of moments that is independent from entry to entry.

    `variances` are those of the entries of the columns, or of what `image` makes of weights of
    columns: it has a row for each.
    """

    image: Array | None
    variances: Array


@dataclass(frozen=True, eq=False)
class Tangents:
    """Derivatives of partial correlations by the moments, at an inverse of these.

    Parameters
    ----------
    inverse : ndarray, shape (n_columns, n_columns)
        That of the moments.

    Notes
    -----
    With u_i = θ_i/√θ_ii the partial correlation is ρ = −u_iᵀ M u_j for moments M, and moves by
    u_iᵀ dM u_j + ρ/2 (u_iᵀ dM u_i + u_jᵀ dM u_j). What the others leave of both columns, with unit
    variance, has the weights x = (u_i + ρ u_j)/√(1 − ρ²) and y likewise: in these
    dρ = xᵀ dM y − ρ/2 (xᵀ dM x + yᵀ dM y), as for any correlation.
    """

    inverse: Array

    @cached_property
    def weights(self) -> Array:
        """The weights u_i, one in each row."""
        return np.asarray(self.inverse / np.sqrt(self.inverse.diagonal())[:, None])

    @cached_property
    def correlations(self) -> Array:
        """The partial correlations, within ±1, with zeros on the diagonal."""
        deviations = np.sqrt(self.inverse.diagonal())
        result: Array = np.clip(
            -self.inverse / np.outer(deviations, deviations), -_NEAREST, _NEAREST
        )
        np.fill_diagonal(result, 0.0)
        return result

    def spread(self, noise: Independent) -> Spread:
        """Return what noise makes of partial correlations.

        All are sums Σ V_kl f_k g_l over products f and g of two of the weights of both columns.
        """
        sides = 2 * noise.variances
        np.fill_diagonal(sides, noise.variances.diagonal())
        rho = self.correlations
        weights = self.weights if noise.image is None else self.weights @ noise.image
        squares = weights**2
        pushed = squares @ sides
        apart = pushed @ squares.T
        mixed = (pushed * weights) @ weights.T  # of u_i² with u_i u_j
        products = _of_products(weights, sides)
        own = np.broadcast_to(apart.diagonal()[:, None], apart.shape)
        # In the order u_i², u_i u_j, u_j².
        forms = np.array([[own, mixed, apart], [mixed, products, mixed.T], [apart, mixed.T, own.T]])
        one, unit = np.ones_like(rho), 1 / (1 - rho**2)
        first = np.array([one, 2 * rho, rho**2]) * unit
        second = first[::-1]
        between = np.array([rho, 1 + rho**2, rho]) * unit

        def form(left: Array, right: Array) -> Array:
            return np.asarray(np.einsum("kij,klij,lij->ij", left, forms, right))

        of_products = form(between, between)
        return Spread(
            noise=(form(first, second) + of_products) / 2,
            cross=form(first, between) + form(second, between),
            scale=(form(first, first) + form(second, second) + 2 * of_products) / 4,
        )

    def of_columns(self, own: Array) -> Array:
        """Return Σ_c e_c 4 (C M C)_cc for all pairs, with C the weights of the moments.

        What sampling adds where each column c has an error of its own: see `SharedRows`.
        """
        rho = self.correlations
        mixed = (self.weights * own) @ self.weights.T
        added = np.add.outer(mixed.diagonal(), mixed.diagonal())
        return np.asarray((1 - rho**2) * (added + 2 * rho * mixed))

    def written(self, first: Places, second: Places) -> Iterator[Array]:
        """Yield the weights of the moments of some pairs, written down, batch by batch."""
        size = len(self.inverse)
        step = max(1, _BATCH_NUMBERS // size**2)
        for start in range(0, len(first), step):
            i, j = first[start : start + step], second[start : start + step]
            a, b = self.weights[i], self.weights[j]
            half = self.correlations[i, j][:, None] / 2
            rows = np.einsum("ak,al->akl", a, b / 2 + half * a)
            yield rows + np.einsum("ak,al->akl", b, a / 2 + half * b)


def _of_products(weights: Array, sides: Array) -> Array:
    """Return Σ V_kl u_ik u_jk u_il u_jl for all pairs."""
    size = len(weights)
    result = np.empty((size, size))
    for place in range(size):
        products = weights[place:] * weights[place]
        row = np.einsum("jk,jk->j", products @ sides, products)
        result[place, place:] = result[place:, place] = row
    return result
