"""Eigenvalues of a noisy matrix, without what noise and sampling add to them.

Owns their bias, their margins, and which of them cannot be told from each other. Errors E of a
matrix move an eigenvalue by E_kk and, to second order, by Σ_l E_kl²/(λ_k − λ_l), where E_kl is
v_kᵀ E v_l: large eigenvalues are seen too large, and small ones too small. Taken at the
eigenvalues that are seen, that sum is right up to the edge of the noise as well: for noise alone
beside one large eigenvalue it is the inverse of y = θ + p τ²/θ.

References
----------
Capitaine, Donati-Martin and Féral (2009), The largest eigenvalues of finite rank deformation of
large Wigner matrices. Anderson (1963), Asymptotic theory for principal component analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block

__all__ = ["APART", "CROWDED", "Spectrum"]

Array = npt.NDArray[np.float64]

CROWDED = 2.45
"""Two equal eigenvalues are seen farther apart than so many sd of their difference in 5 % of
cases: they push each other apart, by a length with Rayleigh's law."""
APART = 4.0
"""… and than so many in 3 of 10,000: then their eigenvectors are told from each other."""
_ALONG = 2.0**2
"""The square of what is allowed for in an eigenvalue, where 2.5 was measured: with its own error
and noise beside it, an interval need not reach quite as far."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of a block, the largest first.

    Parameters
    ----------
    block : Block
        The correlations or covariances.
    """

    block: Block

    @cached_property
    def _decomposition(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.block.matrix)
        vectors = vectors[:, ::-1]
        # The large loadings are positive.
        return values[::-1], vectors * np.where((vectors**3).sum(axis=0) < 0, -1.0, 1.0)

    @property
    def seen(self) -> Array:
        """The eigenvalues as they are seen, noise included."""
        return self._decomposition[0]

    @property
    def vectors(self) -> Array:
        """Their eigenvectors, one for each column; their large entries are positive."""
        return self._decomposition[1]

    @cached_property
    def _moved(self) -> dict[int, Array]:
        return {}

    def moved(self, first: int) -> Array:
        """Return the variances of v_kᵀ E v_l for all l, of one component k: shape (p,).

        Entries are taken to err independently, and rows to be Gaussian. With g = v_k v_l, entry by
        entry, errors of the variances take ½ (λ_k + λ_l) g from the diagonal of a correlation.
        """
        if first not in self._moved:
            self._moved[first] = self._compute_moved(first)
        return self._moved[first]

    def _compute_moved(self, first: int) -> Array:
        noise, vectors = self.block.entry_noise, self.vectors
        values = np.maximum(self.seen, 0.0)
        squares, mixed = vectors**2, vectors * vectors[:, [first]]
        half = (values + values[first]) / 2 if self.block.standardized else np.zeros(len(values))
        result = squares[:, first] @ noise.pairs @ squares
        result += (mixed * (noise.pairs @ mixed)).sum(axis=0)
        result += (1 - half) ** 2 * (noise.own @ mixed**2)
        product = values * values[first]
        sampled = product * (1.0 + (np.arange(len(values)) == first))
        if self.block.standardized:
            sampled -= 4 * half * product * (mixed**2).sum(axis=0)
            together = self.block.matrix**2
            sampled += 2 * half**2 * (mixed * (together @ mixed)).sum(axis=0)
        return np.asarray(np.maximum(result + sampled / noise.rows, 0.0))

    @cached_property
    def spread(self) -> Array:
        """The variances of v_kᵀ E v_k, entries taken to err independently."""
        noise, squares = self.block.entry_noise, self.vectors**2
        values = np.maximum(self.seen, 0.0)
        less = values if self.block.standardized else np.zeros(len(values))
        result = 2 * np.einsum("ik,ij,jk->k", squares, noise.pairs, squares, optimize=True)
        result += (1 - less) ** 2 * (noise.own @ squares**2)
        sampled = 2 * values**2
        if self.block.standardized:
            sampled -= 4 * values**3 * (squares**2).sum(axis=0)
            together = self.block.matrix**2
            inner = np.einsum("ik,ij,jk->k", squares, together, squares, optimize=True)
            sampled += 2 * values**2 * inner
        return np.asarray(np.maximum(result + sampled / noise.rows, 1e-300))

    def groups(self, apart: float) -> npt.NDArray[np.intp]:
        """Return the number of the group of each eigenvalue: of those that noise may have parted.

        Neighbors are in one if they are closer than so many sd of their difference.
        """
        gaps = self.seen[:-1] - self.seen[1:]
        parted = gaps > apart * np.sqrt(self.spread[:-1] + self.spread[1:])
        return np.append(0, np.cumsum(parted))

    @property
    def clipping_doubts(self) -> Array:
        """The relative variance that clipping of rows leaves in each eigenvalue.

        Long rows are clipped, and lie along large eigenvalues: after all moments were lengthened
        alike, λ_k is too small by about 2.5 (λ_k − Σλ²/Σλ)/√(2Σλ²) of the share that was clipped,
        for Gaussian rows. As much is allowed for, since other rows differ.
        """
        values = np.maximum(self.seen, 0.0)
        squares = float(values @ values)
        along = (values - squares / float(values.sum())) ** 2 / (2 * squares)
        return np.maximum(_ALONG * self.block.clipped * along, self.block.clipping_doubt)

    def shift(self, place: int) -> tuple[float, float, float]:
        """Return by how much an eigenvalue is seen too large, the variance of that, and tan² of
        the angle by which its eigenvector is off.

        Small differences are what noise made of them, and count as no less than that.
        """  # noqa: D205
        variances = self.moved(place)
        gap = self.seen[place] - self.seen
        size = np.maximum(np.abs(gap), 2 * np.sqrt(variances))
        inverse = np.sign(gap) / np.where(size > 0, size, 1.0)
        turned = variances * inverse**2
        return float(variances @ inverse), 2 * float(turned @ variances), float(turned.sum())
