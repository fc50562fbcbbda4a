"""One side of a comparison: correlations, covariances, deviations and means of a release.

Owns these numbers with their errors, in the columns' own units, for some columns and for those of
whom they are asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.correlations import (
    CorrelationErrors,
    Released,
    released_at,
    stands_out,
    unshrunk_deviations,
)
from dpcov.postprocess.joint import check_about
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import Release

__all__ = ["Compared", "WithErrors"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


class WithErrors(NamedTuple):
    """Numbers, their standard errors, and which of them can be told."""

    values: Array
    standard_error: Array
    told: Mask


@dataclass(frozen=True, eq=False)
class Compared:
    """Numbers of some columns of a release.

    `noise` has errors of sampling or not: see `Compared.of`. Pairs are places among `places`.
    """

    release: Release
    places: Places
    noise: NoiseModel

    @classmethod
    def of(cls, release: Release, places: Places, about: str) -> Compared:
        """Return the numbers of some columns, about a population or about the table itself."""
        noise = NoiseModel.of(release)
        return cls(release, places, noise if check_about(about) else noise.of_table)

    def correlations(self, first: Places, second: Places, width: float) -> Released:
        """Return the correlations of some pairs, with intervals of so many standard errors."""
        i, j = self.places[first], self.places[second]
        deviation = unshrunk_deviations(self.release.matrix, self.noise)
        values = self.release.matrix[i, j] / (deviation[i] * deviation[j])
        values = np.clip(values, -1.0, 1.0)
        return released_at(values, CorrelationErrors.at(self.noise, i, j), width)

    def covariances(self, first: Places, second: Places) -> WithErrors:
        """Return the covariances of some pairs as released."""
        i, j = self.places[first], self.places[second]
        own = self._scale[first] * self._scale[second]
        released = self.release.matrix[i, j]
        error = self.noise.pair_error(i, j, released)
        return WithErrors(released * own, error * own, self._seen(i, j))

    @cached_property
    def deviations(self) -> WithErrors:
        """The standard deviations, with errors by the delta method.

        Of the variances as released. Shrunk ones are better guesses of each, but what changed in
        one column alone would be shrunk away.
        """
        noise, places = self.noise, self.places
        released = np.diag(self.release.matrix)
        variance = np.where(released > 0, released, noise.variances)[places]
        values = np.sqrt(variance) * self._scale
        relative = np.sqrt(noise.diagonal_variance())[places] / (2 * variance)
        return WithErrors(values, relative * values, stands_out(noise)[places])

    @cached_property
    def means(self) -> WithErrors:
        """The means; of levels of categories they are shares."""
        error = np.sqrt(self.noise.mean_variance())[self.places] * self._scale
        values = self.release.location[self.places]
        return WithErrors(values, error, self._seen(self.places, self.places))

    @property
    def _scale(self) -> Array:
        return self.release.units.scale[self.places]

    def _seen(self, first: Places, second: Places) -> Mask:
        found = self.release.pairwise
        if found is None:
            return np.ones(len(first), dtype=np.bool_)
        return np.asarray(found.seen[first, second])
