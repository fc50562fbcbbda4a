"""A block of correlations, or of covariances, with the errors of all of its linear functions.

Owns the step from moments to correlations: their values without what noise of the variances adds
to them on average, and what they make of errors of the moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.entry_covariance import EntryCovariance
from dpcov.postprocess.correlations import CorrelationErrors, relative_variances, stands_out
from dpcov.postprocess.noise_model import NoiseModel, published_deviations
from dpcov.releases import Release

__all__ = ["Block", "EntryNoise"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_EXCESS = 0.75
"""1/√M of a noisy variance M is too large by 3/8 of its relative variance, so ¾ is added to M."""


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """Variances of the entries of a block, as if their errors were independent.

    `pairs` is of those off the diagonal, and zero on it; `own` of those on it; `rows` is the
    number of rows behind them, infinite for answers about the table.
    """

    pairs: Array
    own: Array
    rows: float


@dataclass(frozen=True, eq=False)
class Block:
    """Correlations of some columns of a release, or their covariances.

    Parameters
    ----------
    release : Release
        Where they come from.
    places : ndarray of int
        Which columns.
    about : {"population", "table"}
        Of whom errors are.
    standardized : bool
        Whether they are correlations; else they are covariances in the columns' own units.
    """

    release: Release
    places: Places
    about: str
    standardized: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.release.columns[place] for place in self.places.tolist())

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.places)

    @cached_property
    def _noise(self) -> NoiseModel:
        return NoiseModel.of(self.release)

    @cached_property
    def covariance(self) -> Array:
        """Their covariances in own units, as released."""
        scale = self.release.units.scale[self.places]
        block = self.release.matrix[np.ix_(self.places, self.places)]
        return np.asarray(block * np.outer(scale, scale))

    @cached_property
    def deviations(self) -> Array:
        """Their standard deviations in own units."""
        relative = relative_variances(self._noise)[self.places]
        # A variance that noise has halved or worse is taken as the variances of others say.
        least = self._noise.variances[self.places] * self.release.units.scale[self.places] ** 2 / 2
        return np.sqrt(np.maximum(self.covariance.diagonal(), least) * (1 + _EXCESS * relative))

    @property
    def published_deviations(self) -> Array:
        """Those that every view of the release shows, which are shrunk."""
        return published_deviations(self.release, self._noise)[self.places]

    @property
    def varies(self) -> npt.NDArray[np.bool_]:
        """Which columns have a variance that stands out of its noise."""
        return stands_out(self._noise)[self.places]

    @cached_property
    def location(self) -> Array:
        """Their means in own units."""
        return np.asarray(self.release.location[self.places])

    @cached_property
    def unit(self) -> Array:
        """What columns are divided by: standard deviations, or one."""
        return self.deviations if self.standardized else np.ones(self.size)

    @cached_property
    def matrix(self) -> Array:
        """The correlations or covariances."""
        matrix = self.covariance / np.outer(self.unit, self.unit)
        if self.standardized:
            np.fill_diagonal(matrix, 1.0)
        return np.asarray((matrix + matrix.T) / 2)

    @cached_property
    def entry_noise(self) -> EntryNoise:
        """Variances of the entries, sampling left out."""
        errors = CorrelationErrors.at(self._noise, self.places[:, None], self.places[None, :])
        unit = self.deviations / self.unit
        pairs = np.broadcast_to(errors.noise, (self.size, self.size)) * np.outer(unit, unit) ** 2
        pairs = np.where(np.eye(self.size, dtype=np.bool_), 0.0, pairs)
        own = relative_variances(self._noise)[self.places] * unit**4
        return EntryNoise(pairs, own, self._rows)

    @property
    def _rows(self) -> float:
        """The number of rows behind an entry; those of the middling entry where gaps are."""
        if self.about == "table":
            return float("inf")
        found = self.release.pairwise
        if found is None:
            return self.release.n_terms
        observed = found.observed[np.ix_(self.places, self.places)]
        return float(self.release.n_terms * np.median(observed))

    @property
    def clipping_doubt(self) -> float:
        """The relative variance that clipping of rows leaves in a variance along a direction.

        Rows that were clipped are long ones, and lie along the first components: what a common
        factor does not make up for goes the same way in all entries.
        """
        return self._noise.clipping.covariance

    @property
    def clipped(self) -> float:
        """The squared share by which clipping made moments too small, its own error included."""
        factor, error = self.release.factor, self.release.factor_error
        return ((factor - 1) ** 2 + error**2) / factor**2

    @property
    def sum_doubt(self) -> float:
        """… and in the variance of a sum of columns that all go together, which is hit most.

        For answers to 5 to 20 items that have one factor in common, half of what is allowed for
        variances more was needed: see the measured coverage of α.
        """
        return 1.5 * self._noise.clipping.variance

    @cached_property
    def errors(self) -> EntryCovariance:
        """How the errors of the moments go together."""
        return EntryCovariance(self.release, self.places, self.about)

    def to_moments(self, weights: Array, *, variances: Array | None = None) -> Array:
        """Return weights of moments for weights of entries of the block, shape (..., p, p).

        With d the standard deviations, dR_ij = dM_ij/(d_i d_j) − ½ R_ij (dM_ii/d_i² + dM_jj/d_j²).
        `variances`, shape (..., p), are weights of relative errors of the standard deviations.
        """
        weights = (weights + np.swapaxes(weights, -1, -2)) / 2
        moments = weights / np.outer(self.unit, self.unit)
        order = np.arange(self.size)
        if self.standardized:
            moments[..., order, order] -= (weights * self.matrix).sum(axis=-1) / self.unit**2
        if variances is not None:
            moments[..., order, order] += variances / (2 * self.deviations**2)
        return moments

    def variance_of(self, weights: Array) -> Array:
        """Return the variances of Σ C_ij R_ij for weights C, shape (..., p, p)."""
        return self.errors.variance(self.to_moments(weights))

    def covariance_of(self, weights: Array) -> Array:
        """Return the covariance of such functions, shape (n_functions, p, p)."""
        return self.errors.covariance(self.to_moments(weights))

    def standardize(self, cells: Sequence[Array]) -> Array:
        """Return new rows in units of the block, shape (n_rows, n_columns)."""
        rows = np.column_stack([np.asarray(column, dtype=np.float64) for column in cells])
        return np.asarray((rows - self.location) / self.unit)
