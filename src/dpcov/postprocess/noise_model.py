"""The variance of every entry of a release, from the release alone.

Owns what is known about error: privacy noise, whose scale is public, plus sampling
error, from the estimated variances. Works by blocks of rows, so that no matrix of
variances is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.multiplicity import count_pairs
from dpcov.postprocess.clipped import Clipped
from dpcov.postprocess.diagonal import (
    diagonal_variance,
    kept_shares,
    shrink_diagonal,
    within_limits,
)
from dpcov.releases import CAP_CONSTANT, Release
from dpcov.releases.pairwise import Pairwise

__all__ = ["NoiseModel", "published_deviations", "row_blocks"]

_BLOCK_ENTRIES = 1 << 18

Array = npt.NDArray[np.float64]
Place = slice | npt.NDArray[np.intp]


@dataclass(frozen=True)
class NoiseModel:
    """Variances of the columns and of the entries of a release.

    Parameters
    ----------
    variances : ndarray, shape (n_columns,)
        Shrunk, positive column variances.
    n_rows : float
        The number of rows behind the release; infinite for errors without those of sampling.
    off_diagonal, diagonal : float
        The sd of the privacy noise.
    signal_noise : float, default 0
        How the privacy noise grows with the variances: see `dpcov.NoiseScale`.
    mean_noise : ndarray, shape (n_columns,), or 0
        For each column, what a noisy mean adds to the variance of the entries of its row:
        the squared mean, at least half the variance of its noise, times that variance.
    clipping : Clipped
        What clipping of rows leaves uncertain, in squares of the entries.
    released_mean_noise : ndarray, shape (n_columns,), or float, default 0
        The sd of the privacy noise of the released means.
    pairwise : Pairwise, optional
        Where noise and numbers of rows differ from pair to pair: both of them.
    field_of : ndarray of int, optional
        For each column, which column of the table it is a value of: levels of one category have
        the same. All differ, if it is not stated.
    is_level : ndarray of bool, optional
        Which columns are levels of categories; none, if it is not stated.
    kept : ndarray, shape (n_columns,), or float, default 1
        Which share of its distance from the mean of all each variance kept when it was shrunk.

    Examples
    --------
    >>> model = NoiseModel(np.array([1.0, 4.0]), n_rows=100, off_diagonal=0.1, diagonal=0.14)
    >>> model.block(slice(0, 1))
    array([[0.02, 0.05]])
    """

    variances: Array
    n_rows: float
    off_diagonal: float
    diagonal: float
    signal_noise: float = 0.0
    mean_noise: Array | float = 0.0
    clipping: Clipped = field(default_factory=lambda: Clipped())
    released_mean_noise: Array | float = 0.0
    pairwise: Pairwise | None = None
    field_of: npt.NDArray[np.int64] | None = None
    is_level: npt.NDArray[np.bool_] | None = None
    kept: Array | float = 1.0

    def __post_init__(self) -> None:
        self.variances.setflags(write=False)

    @classmethod
    def of(cls, release: Release) -> NoiseModel:
        """Return the noise model of a release."""
        noise = release.noise_scale
        mean = np.zeros(release.n_columns) if release.mean is None else release.mean
        # Noise e of variance s² makes m_i m_j off by m_i e_j + m_j e_i + e_i e_j: by s⁴ in
        # variance, and a square by 2 s⁴, where means are zero. This is what half of s² gives.
        of_means = _variance_of_means(release)
        squared = np.maximum(mean**2, of_means / 2)
        mean_noise = squared * of_means * release.factor**2
        mean_noise += noise.signal * mean**2  # it grows with moments about the center
        model = cls(
            np.diag(release.matrix).copy(),
            release.n_terms,
            noise.off_diagonal,
            noise.diagonal,
            noise.signal,
            0.0 if release.pairwise is not None else mean_noise,
            Clipped.of(release),
            np.sqrt(of_means),
            release.pairwise,
            release.design.field_of if release.design.groups else None,
            ~release.design.is_number if release.design.groups else None,
        )
        facts = model._diagonal_facts()
        variances = shrink_diagonal(model.variances, **facts)
        kept = kept_shares(model.variances, **facts)
        clipping = model.clipping.with_tails(release, variances)
        return replace(model, variances=variances, clipping=clipping, kept=kept)

    def are_apart(self, rows: slice, columns: slice = slice(None)) -> npt.NDArray[np.bool_]:
        """Return which pairs are of different columns of the table, and not of one category."""
        if self.field_of is None:
            shape = len(self.variances[rows]), len(self.variances[columns])
            return np.ones(shape, dtype=np.bool_)
        return np.not_equal.outer(self.field_of[rows], self.field_of[columns])

    @property
    def n_pairs(self) -> int:
        """The number of pairs that are of different columns of the table."""
        every = count_pairs(len(self.variances))
        if self.field_of is None:
            return every
        return every - sum(map(count_pairs, np.bincount(self.field_of).tolist()))

    @property
    def n_number_pairs(self) -> int:
        """The number of pairs without a level of a category."""
        levels = 0 if self.is_level is None else int(self.is_level.sum())
        return count_pairs(len(self.variances) - levels)

    @property
    def of_table(self) -> NoiseModel:
        """The errors about the table itself: without those of sampling rows from a population."""
        return replace(self, n_rows=math.inf)

    @property
    def without_tails(self) -> NoiseModel:
        """The errors of correlations, which what a column lost in far cells does not change."""
        return replace(self, clipping=replace(self.clipping, tails=0.0))

    def _sampling(self, rows: Place = slice(None), columns: Place = slice(None)) -> Array | float:
        """Return one over the number of rows behind each entry."""
        if self.pairwise is None:
            return 1 / self.n_rows
        return np.asarray(1 / (self.n_rows * self.pairwise.observed[rows, columns]))

    def _privacy(self, rows: Place, columns: Place) -> Array | float:
        """Return the variance of the privacy noise that does not grow with what is measured."""
        if self.pairwise is None:
            return self.off_diagonal**2
        return self.pairwise.noise_variance[rows, columns]

    def _diagonal_facts(self) -> dict[str, Any]:
        """Return what the errors of variances depend on."""
        found = self.pairwise
        return {
            "noise": self.diagonal**2 if found is None else np.diag(found.noise_variance),
            "sampling": self._sampling() if found is None else np.diag(self._sampling()),
            "signal_noise": self.signal_noise,
            "mean_noise": self.mean_noise,
            "clipping": self.clipping.variance + self.clipping.tails,
        }

    def block(self, rows: slice, columns: slice = slice(None)) -> Array:
        """Return the variances of unrelated pairs: σ_i² σ_j² / n + τ² + signal (σ_i² + σ_j²).

        Clipping of rows adds a share of σ_i² σ_j². An entry whose covariance is not zero has
        σ_ij² / n more: see `interval_variance`.
        """
        # The product comes first: it is the same number for (i, j) and (j, i).
        product = np.outer(self.variances[rows], self.variances[columns])
        product *= self._sampling(rows, columns) + self.clipping.covariance
        product += self._privacy(rows, columns)
        growing = self._growing_noise()
        if growing.any():
            product += np.add.outer(growing[rows], growing[columns])
        return product

    def row_sums(self, weight: Array) -> Array:
        """Return Σ_j v_ij w_j for every row i, the diagonal counted like any other entry."""
        if self.pairwise is not None:
            blocks = (self.block(rows) @ weight for rows in row_blocks(len(self.variances)))
            return np.concatenate(list(blocks))
        growing = self._growing_noise()
        total = weight.sum()
        relative = 1 / self.n_rows + self.clipping.covariance
        sampling = self.variances * (self.variances @ weight) * relative
        constant = self.off_diagonal**2 * total + growing @ weight
        return np.asarray(sampling + constant + growing * total)

    def _growing_noise(self) -> Array:
        """Return what each column adds to the variance of the entries of its row."""
        return np.asarray(self.signal_noise * self.variances + self.mean_noise)

    def pair_error(
        self, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp], covariance: Array
    ) -> Array:
        """Return the standard errors of some entries at their estimated covariances."""
        a, b = self.variances[first], self.variances[second]
        growing = self._growing_noise()
        rows = self._sampling(first, second)
        sampling = a * b * (rows + self.clipping.covariance)
        common = self.clipping.factor + self._tails(first) + self._tails(second)
        sampling = sampling + covariance**2 * (rows + common)
        privacy = self._privacy(first, second) + growing[first] + growing[second]
        return np.asarray(np.sqrt(sampling + privacy))

    def _tails(self, places: Place) -> Array:
        """Return the relative variance of deviations that far cells leave uncertain."""
        return np.broadcast_to(np.asarray(self.clipping.tails) / 4, self.variances.shape)[places]

    def privacy_variance(self, variance: float) -> float:
        """Return the privacy noise of the entry of two middling columns of equal variance."""
        growing = self.signal_noise * variance + float(np.median(self.mean_noise))
        if self.pairwise is not None:
            apart = ~np.eye(len(self.variances), dtype=np.bool_)
            noise = self.pairwise.noise_variance[apart]
            return float(np.median(noise)) if noise.size else self.off_diagonal**2
        return self.off_diagonal**2 + 2 * growing

    def pair_variance(self, variance: float) -> float:
        """Return the variance of the entry of two unrelated columns of equal variance."""
        relative = float(np.median(self._sampling())) + self.clipping.covariance
        return float(variance**2 * relative + self.privacy_variance(variance))

    def signal(self, rows: slice, columns: slice = slice(None)) -> Array:
        """Return what a correlation of 1 would be in the units of the matrix: σ_i σ_j."""
        deviations = np.sqrt(self.variances)
        return np.outer(deviations[rows], deviations[columns])

    @property
    def typical_deviation(self) -> float:
        """The sd of an entry between two columns of middling variance."""
        return float(np.sqrt(self.pair_variance(float(np.median(self.variances)))))

    def diagonal_variance(self) -> Array:
        """Return the variances of the released diagonal."""
        return diagonal_variance(self.variances, **self._diagonal_facts())

    def mean_variance(self) -> Array:
        """Return the variances of the released means: privacy noise, sampling and clipping.

        Clipped rows are shorter, and what that does to a mean is uncertain as it is for a pair.
        """
        found = self.pairwise
        noise = self.released_mean_noise**2 if found is None else found.mean_error**2
        facts = self._diagonal_facts()
        return np.asarray(noise + self.variances * (facts["sampling"] + self.clipping.covariance))

    def interval_variance(self, rows: slice, covariance: Array) -> Array:
        """Return the variances of the entries of some rows at an estimated covariance."""
        relative = self._sampling(rows) + self.clipping.factor
        tails = np.add.outer(self._tails(rows), self._tails(slice(None)))
        variance = self.block(rows) + covariance**2 * (relative + tails)
        start = rows.indices(len(self.variances))[0]
        local = np.arange(len(variance))
        variance[local, start + local] = self.diagonal_variance()[rows]
        return variance


def _variance_of_means(release: Release) -> Array | float:
    """Return the variances of the privacy noise of released means.

    The noise of cap reports grows with a column's second moment about the center. The scale that
    a release states allows for that of an average column; one that fills the rows has more.
    """
    noise = release.noise_scale
    if release.mean is None or not (noise.signal and noise.mean):
        return noise.mean**2
    largest = release.provenance.row_norm**2
    second = np.minimum(np.diag(release.matrix) + release.mean**2, largest)
    more = np.maximum(second - largest / release.n_columns, 0.0)
    return np.asarray(noise.mean**2 + noise.signal * more / (CAP_CONSTANT**2 * largest))


def published_deviations(release: Release, noise: NoiseModel) -> Array:
    """Return the standard deviations of a release in own units, as every view shows them.

    They are those of the released variances, shrunk, and never above what the limits allow.
    """
    return within_limits(np.sqrt(noise.variances) * release.units.scale, release.limits)


def row_blocks(n_columns: int) -> Iterator[slice]:
    """Yield slices of rows of about a quarter of a million entries each."""
    height = max(1, _BLOCK_ENTRIES // n_columns)
    for start in range(0, n_columns, height):
        yield slice(start, min(start + height, n_columns))
