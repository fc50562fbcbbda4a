"""Moments of columns of which all pairs were released, out of a release of the strongest pairs.

Owns them and their errors. The privacy noise of pairs is independent from pair to pair; errors of
sampling go together, as those of signs do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.cliques import find_pairs
from dpcov.answers.lifting import Lifted, lift_correlations
from dpcov.answers.tangents import Independent
from dpcov.postprocess.pairs_deviations import own_deviations, relative_deviation_errors
from dpcov.postprocess.sign_correlations import SignCorrelations, sign_correlations
from dpcov.releases import PairsRelease

__all__ = ["PairsMoments"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PairsMoments:
    """Moments of some columns of a release of pairs: see `Moments`.

    `found` has, for each two of the columns, the place of their pair in the release. Without
    released or stated variances the columns have unit variance.
    """

    release: PairsRelease
    places: Places
    found: Places
    signs: SignCorrelations
    about: str

    @classmethod
    def of(cls, release: PairsRelease, places: Places, about: str) -> PairsMoments:
        """Return the moments; refuse columns of which not all pairs were released."""
        found = find_pairs(release, places)
        return cls(release, places, found, sign_correlations(release), about)

    @property
    def sampled(self) -> bool:
        """Whether errors of sampling count."""
        return self.about == "population"

    @property
    def rows(self) -> None:
        """Sampling is that of signs: `variance` knows what it does."""
        return

    @cached_property
    def correlations(self) -> Array:
        """The correlations, with ones on the diagonal."""
        return self._square(self.signs.correlations(self.signs.values), 1.0)

    @cached_property
    def deviations(self) -> Array:
        """The standard deviations in the columns' own units, or ones."""
        return own_deviations(self.release)[self.places]

    @cached_property
    def _unit(self) -> Array:
        return np.outer(self.deviations, self.deviations)

    @property
    def matrix(self) -> Array:
        """The covariances."""
        return np.asarray(self.correlations * self._unit)

    @property
    def location(self) -> Array | None:
        """The means, if they were released beside variances."""
        return self.release.location[self.places] if self.release.has_mean else None

    @cached_property
    def _noise(self) -> Array:
        return self._square((self._slopes * self.signs.noise_sd) ** 2, 0.0)

    @property
    def noise(self) -> Array:
        """The variance of each covariance, sampling and errors of the deviations left out."""
        return np.asarray(self._noise * self._unit**2)

    @property
    def independent(self) -> tuple[Independent, ...]:
        """The same: noise is independent from pair to pair."""
        return (Independent(None, self.noise),)

    @property
    def of_unrelated(self) -> Array:
        """The variances of correlations of unrelated pairs."""
        sd = self.signs.null_sd if self.sampled else self.signs.noise_sd
        return self._square((self.signs.slopes(np.zeros_like(sd)) * sd) ** 2, 0.0)

    @cached_property
    def lifted(self) -> Lifted:
        """The block with eigenvalues of at least a floor."""
        return lift_correlations(self.correlations, self._noise, self.deviations)

    def variance(self, moments: Array, means: Array | None = None) -> Array:
        """Return the variances of linear functions: see `EntryCovariance.variance`."""
        size = len(self.places)
        batch = np.asarray(moments, dtype=np.float64).reshape(-1, size, size)
        vectors = None if means is None else np.asarray(means).reshape(-1, size)
        added, taken = self._features(batch, vectors)
        total = sum(np.einsum("ai,ai->a", each, each) for each in added)
        sampling = sum(sign * np.einsum("ai,ai->a", each, each) for sign, each in taken)
        result = np.asarray(total + np.maximum(sampling, 0.0))
        return result.reshape(np.shape(moments)[:-2])

    def covariance(self, moments: Array, means: Array | None = None) -> Array:
        """Return the covariance of linear functions: see `EntryCovariance.covariance`."""
        added, taken = self._features(np.asarray(moments, dtype=np.float64), means)
        total = np.zeros((len(moments), len(moments)))
        for each in added:
            total += each @ each.T
        if taken:
            sampling = sum(sign * (each @ each.T) for sign, each in taken)
            values, vectors = np.linalg.eigh(np.asarray(sampling))
            total += (vectors * np.maximum(values, 0.0)) @ vectors.T
        return total

    def of_product(self, weights: Array) -> Array:
        """Return the errors of S w and of the mean of w: see `EntryCovariance.of_product`."""
        size = len(weights)
        moments, means = np.zeros((size + 1, size, size)), np.zeros((size + 1, size))
        moments[np.arange(size), np.arange(size)] = weights
        means[-1] = weights
        return self.covariance(moments, means)

    @property
    def stands_out(self) -> npt.NDArray[np.bool_]:
        """Which columns have a variance that stands out of its noise; stated ones have none."""
        error = relative_deviation_errors(self.release, sampled=False)[self.places]
        return np.asarray(error <= 1 / 6)

    def _features(
        self, moments: Array, means: Array | None
    ) -> tuple[list[Array], list[tuple[float, Array]]]:
        """Return numbers whose products add up to the covariance of linear functions.

        Those of sampling of signs come with a sign.
        """
        symmetric = (moments + moments.transpose(0, 2, 1)) / 2
        relative = symmetric * self.matrix  # what errors of variances move, as shares of them
        added = [math.sqrt(2) * _flat(symmetric * np.sqrt(self.noise))]
        added += self._of_variances(relative.sum(axis=2))
        if means is not None and self.location is not None:
            added += self._of_means(means)
        if not self.sampled:
            return added, []
        return added, self._of_signs(symmetric * self._unit * self._square(self._slopes, 0.0))

    def _of_variances(self, relative: Array) -> list[Array]:
        error = relative_deviation_errors(self.release, sampled=False)[self.places]
        if not error.any():
            return []
        found = [2 * error * relative]
        if self.sampled:
            # The variances of two columns go together as 2 r² does.
            root = np.linalg.cholesky(self.lifted_correlations**2)
            found.append(math.sqrt(2 / self.release.n_terms) * (relative @ root))
        return found

    def _of_means(self, means: Array) -> list[Array]:
        released = self.release.variances
        noise = 0.0 if released is None else released.mean_noise
        found = [noise * self.release.units.scale[self.places] * means]
        if self.sampled:
            found.append((means @ self.lifted.root) / math.sqrt(self.release.n_terms))
        return found

    def _of_signs(self, weights: Array) -> list[tuple[float, Array]]:
        """Return what sampling makes of functions Σ w_ij s_ij of correlations of signs.

        Products s_i s_j and s_i s_k go together as s_jk − s_ij s_ik, with s_i² = 1; those of four
        columns nearly as those of Gaussian ones, s_ik s_jl + s_il s_jk.
        """
        signs = self._square(np.clip(self.signs.values, -1.0, 1.0), 1.0)
        values, vectors = np.linalg.eigh(signs)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        scale = 1 / math.sqrt(self.release.n_terms)
        along = weights * signs
        return [
            (1.0, math.sqrt(2) * scale * _flat(root.T @ weights @ root)),
            (-1.0, 2 * math.sqrt(2) * scale * along.sum(axis=2)),
            (1.0, 2 * scale * _flat(along)),
        ]

    @cached_property
    def lifted_correlations(self) -> Array:
        """Correlations that are positive definite, with ones on the diagonal."""
        lifted = self.lifted.covariance
        deviations = np.sqrt(lifted.diagonal())
        return np.asarray(lifted / np.outer(deviations, deviations))

    @property
    def _slopes(self) -> Array:
        """The derivatives of correlations by those of signs; one sd before ±1, where it is flat."""
        signs = self.signs
        return signs.slopes(np.minimum(np.abs(signs.values), np.maximum(0.0, 1 - signs.sd)))

    def _square(self, of_pairs: Array, diagonal: float) -> Array:
        result = of_pairs[self.found]
        np.fill_diagonal(result, diagonal)
        return result


def _flat(weights: Array) -> Array:
    return weights.reshape(len(weights), -1)
