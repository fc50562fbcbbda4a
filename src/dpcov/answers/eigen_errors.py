"""How errors of a matrix turn and stretch its eigenvectors.

Owns the covariance of e_kl = v_kᵀ E v_l, what errors E do between two eigenvectors of which the
first is kept. An eigenvalue moves by e_kk and an eigenvector by Σ_l v_l e_kl/(λ_k − λ_l), so that
errors of all loadings are functions of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.rotation import Rotated
from dpcov.answers.rotation_errors import loading_slopes
from dpcov.answers.spectrum import Spectrum

__all__ = ["EigenErrors"]

Array = npt.NDArray[np.float64]

_MOST_STEPS = 1e9
"""Up to so many products, all that is known of how the errors of entries go together is used;
beyond that entries are taken to err independently, which for wide tables is nearly so."""


@dataclass(frozen=True, eq=False)
class EigenErrors:
    """Errors of the first components of a spectrum.

    Parameters
    ----------
    spectrum : Spectrum
        The eigenvalues and eigenvectors as they are seen.
    values : ndarray, shape (n_components,)
        The eigenvalues that are kept, without what noise adds to them.
    """

    spectrum: Spectrum
    values: Array

    @property
    def _size(self) -> int:
        return self.spectrum.block.size

    @cached_property
    def moved(self) -> Array:
        """The variances of e_kl as if entries erred independently, shape (n_components, p)."""
        return np.array([self.spectrum.moved(place) for place in range(len(self.values))])

    @cached_property
    def of_values(self) -> Array:
        """The variances of the eigenvalues, to first order."""
        count = len(self.values)
        if count * self._size**3 > _MOST_STEPS / 10:
            return np.asarray(self.moved[np.arange(count), np.arange(count)])
        kept = self.spectrum.vectors[:, :count]
        return self.spectrum.block.variance_of(np.asarray(np.einsum("ik,jk->kij", kept, kept)))

    def of_shares(self, total: float) -> Array:
        """Return the variances of the shares that eigenvalues have in the sum of all of them."""
        count, block = len(self.values), self.spectrum.block
        if block.standardized or count * self._size**3 > _MOST_STEPS / 10:
            return np.asarray(self.of_values / total**2)
        kept = self.spectrum.vectors[:, :count]
        weights = np.einsum("ik,jk->kij", kept, kept)
        weights -= (self.values / total)[:, None, None] * np.eye(self._size)
        return block.variance_of(weights / total)

    def of_joint_share(self, total: float) -> float:
        """Return the variance of the share that all of them have together.

        Turns among them do not move it, so that it is well known where single ones are not.
        """
        count, block = len(self.values), self.spectrum.block
        kept = self.spectrum.vectors[:, :count]
        weights = np.asarray(kept @ kept.T)
        if not block.standardized:
            weights -= float(self.values.sum()) / total * np.eye(self._size)
        return float(block.variance_of(weights / total))

    def of_loadings(self) -> Array:
        """Return the variances of loadings that are not rotated, shape (p, n_components)."""
        exact = len(self.values) * self._size**4 <= _MOST_STEPS
        result = np.empty((self._size, len(self.values)))
        for place in range(len(self.values)):
            slopes = self._stretched(place)
            if not exact:
                result[:, place] = slopes**2 @ self.moved[place]
                continue
            # Σ_l s_l e_kl is v_kᵀ E (V s): of rank one, whatever the slopes s.
            turned = self.spectrum.vectors @ slopes.T
            weights = np.einsum("i,jl->lij", self.spectrum.vectors[:, place], turned)
            result[:, place] = self.spectrum.block.variance_of(weights)
        return result

    def of_rotated(self, rotated: Rotated) -> Array:
        """Return the variances of rotated loadings, shape (p, n_components)."""
        count = len(self.values)
        free = loading_slopes(rotated).reshape(-1, self._size, count)
        parts = [free[:, :, place] @ self._turned(place) for place in range(count)]
        slopes = np.concatenate(parts, axis=1)
        steps = max(count * self._size**4, (count * self._size**2) ** 2)
        if steps > _MOST_STEPS:
            variances = slopes**2 @ self.moved.ravel()
        else:
            weights = np.concatenate([self._weights(place) for place in range(count)])
            covariance = self.spectrum.block.covariance_of(weights)
            variances = ((slopes @ covariance) * slopes).sum(axis=1)
        return np.asarray(variances).reshape(self._size, count)

    def _weights(self, place: int) -> Array:
        """Return e_kl of one component k as weights of entries, shape (p, p, p)."""
        vectors = self.spectrum.vectors
        return np.asarray(np.einsum("i,jl->lij", vectors[:, place], vectors))

    def _inverse_gaps(self, place: int) -> Array:
        """Return 1/(λ_k − λ_l), and zero for k itself; no gap counts as less than its noise."""
        gaps = self.spectrum.seen[place] - self.spectrum.seen
        size = np.maximum(np.abs(gaps), np.sqrt(self.moved[place]))
        return np.asarray(np.sign(gaps) / np.where(size > 0, size, 1.0))

    def _stretched(self, place: int) -> Array:
        """Return how the loadings √λ v of a component move with its e_kl, shape (p, p)."""
        root = np.sqrt(self.values[place])
        slopes = root * self.spectrum.vectors * self._inverse_gaps(place)
        slopes[:, place] = self.spectrum.vectors[:, place] / (2 * root)
        return np.asarray(slopes)

    def _turned(self, place: int) -> Array:
        """Return how the loadings of a component move with its e_kl but for a turn, shape (p, p).

        Among the components that are kept, what is not a turn is the root of Λ + e, whose
        derivative is e_kl/(√λ_k + √λ_l): it stays small where two of them are alike.
        """
        count, vectors, roots = len(self.values), self.spectrum.vectors, np.sqrt(self.values)
        slopes = roots[place] * vectors * self._inverse_gaps(place)
        slopes[:, :count] = vectors[:, :count] / (roots[place] + roots)
        return np.asarray(slopes)
