"""Pairwise-complete moments: what the rows in which both cells are there say, from one release.

Owns the way from working moments to covariances, means and shares of observed cells, and what is
known of their noise. It follows from what was released, so it costs no privacy.

With v the value of a cell, 0 where it is missing, and m the indicator that it is there, the
averages N = m_i m_j, A = v_i m_j and S = v_i v_j give the covariance of two columns over the rows
in which both are there: S/N − (A_ij/N)(A_ji/N).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.columns.units import Units
from dpcov.releases.noise_scale import NoiseScale
from dpcov.releases.working import WorkingMoments

__all__ = ["Pairwise", "pairwise_moments"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_COMPLETE = 2.5
"""Columns are taken to be complete if their gaps are within so many noise sd of none, one by one
and all together."""
_UNSEEN_GAPS = 0.5
"""… and may have gaps of so many noise sd all the same."""
_TOGETHER = 3.0
"""Two columns are seen together if the share of such rows is so many noise sd above zero."""
_LEAST_ROWS = 10.0
"""… and so many rows."""
_UNTOLD = 10.0
"""The noise of the correlation of two columns that are not, and of the mean of one that is never
seen: they say nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairwise:
    """Moments of the values, in working units, each over the rows in which its cells are there.

    Parameters
    ----------
    matrix, mean : ndarray
        Covariances, and means of the cells that are there.
    noise_variance : ndarray, shape (n_values, n_values)
        The variance of the privacy noise of each covariance.
    mean_error : ndarray, shape (n_values,)
        The sd of the noise of each mean.
    observed : ndarray, shape (n_values, n_values)
        The share of rows in which both cells are there; of one column on the diagonal.
    observed_error : ndarray, shape (n_values, n_values)
        The sd of its noise.
    mean_with : ndarray, shape (n_values, n_values)
        In row i the mean of value i over the rows in which the cell of another is there as well.
    mean_with_variance : ndarray, shape (n_values, n_values)
        The variance of its noise, had the share of these rows none.
    seen : ndarray of bool, shape (n_values, n_values)
        Which pairs are seen together often enough to say something of them.
    """

    matrix: Array
    mean: Array
    noise_variance: Array
    mean_error: Array
    observed: Array
    observed_error: Array
    mean_with: Array
    mean_with_variance: Array
    seen: Mask

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)


def pairwise_moments(
    working: WorkingMoments, noise: NoiseScale, *, n_rows: float, units: Units
) -> Pairwise:
    """Return what the working moments of a release say of each pair of columns.

    Notes
    -----
    Claim P28. A function of what was released, so it costs nothing.
    """
    there = _Presence.of(working, noise, n_rows)
    apart = _Apart.of(working, there)
    share, share_variance = there.pairs(n_rows)
    seen = share > np.maximum(_TOGETHER * np.sqrt(share_variance), _LEAST_ROWS / n_rows)
    safe = np.where(seen, share, 1.0)
    # The mean of column i where column j is there as well, and its covariance with j.
    mean = apart.with_gap / safe
    covariance = apart.products / safe - mean * mean.T
    variance = apart.variance(mean, covariance, there, noise) / safe**2
    # A column of which nothing is seen has the scale that it was read by.
    there_at_all = np.diag(seen)
    diagonal = np.where(there_at_all, np.abs(np.diag(covariance)), 1.0)
    covariance[~seen] = 0.0
    variance = np.where(seen, variance, _UNTOLD**2 * np.outer(diagonal, diagonal))
    own_share = np.diag(share)
    centers = np.where(there_at_all, apart.mean / own_share, 0.0)
    # Of the sum of values, and of the number of cells that it is divided by.
    spread = there.mean_noise * (apart.kept + np.where(there.counted, centers, 0.0) ** 2)
    found = Pairwise(
        matrix=covariance,
        mean=centers,
        noise_variance=variance,
        mean_error=np.where(there_at_all, np.sqrt(spread) / own_share, _UNTOLD),
        observed=share,
        observed_error=np.sqrt(share_variance),
        mean_with=mean,
        mean_with_variance=apart.crossed_variance(there, noise) / safe**2,
        seen=seen,
    )
    return _with_shares(found, working.design, units)


@dataclass(frozen=True, eq=False)
class _Presence:
    """How often the cells of each value are there: those of its column.

    `counted` says of which values that is noisy: columns without an indicator are complete, and so
    are those whose gaps do not stand out.
    """

    share: Array
    about: Array
    counted: Mask
    unseen: Array
    together: Array
    same: Mask
    noise: float
    mean_noise: float

    @classmethod
    def of(cls, working: WorkingMoments, noise: NoiseScale, n_rows: float) -> _Presence:
        design = working.design
        gap, size = design.gap_of, design.n_values
        own = working.observed + working.mean[size:]
        seen = _have_gaps(1 - own, noise.mean)
        has = gap >= 0
        counted = has & _of_gaps(seen, gap, False)
        # Means are divided by it: a column is taken to have a cell, whatever the noise says.
        share = np.where(counted, np.clip(_of_gaps(own, gap, 1.0), 1 / n_rows, 1.0), 1.0)
        unseen = np.where(has & ~counted, _UNSEEN_GAPS * noise.mean, 0.0)
        both = working.matrix[size:, size:]
        together = _shrunk(both, seen, noise.off_diagonal)
        spread = _of_gaps(_of_gaps(together, gap, 0.0, axis=0), gap, 0.0, axis=1)
        spread[~np.logical_and.outer(counted, counted)] = 0.0
        return cls(
            share,
            np.where(counted, _of_gaps(working.observed, gap, 1.0), 1.0),
            counted,
            unseen,
            spread,
            np.equal.outer(design.field_of, design.field_of),
            noise.off_diagonal**2,
            noise.mean**2,
        )

    def pairs(self, n_rows: float) -> tuple[Array, Array]:
        """Return the share of rows in which two cells are there, and the variance of its noise."""
        one = np.maximum(self.share, 1 / n_rows)  # noise may say that there is no cell
        share = np.outer(one, one) + self.together
        low = np.maximum(np.add.outer(one, one) - 1, 1 / n_rows)
        share = np.clip(share, low, np.minimum.outer(one, one))
        share = np.where(self.same, one[:, None], share)
        single = self.mean_noise * np.where(self.counted, 1.0, 0.0)
        weight = np.outer(single, self.about**2) + np.outer(self.about**2, single)
        both = np.logical_and.outer(self.counted, self.counted)
        variance = weight + np.where(both, self.noise, 0.0)
        return share, np.where(self.same, single[:, None], variance)


@dataclass(frozen=True, eq=False)
class _Apart:
    """Averages over all rows: of values, of values where another is there, and of products.

    The levels of a category add up to nothing, so what noise makes of their sum is taken out;
    `kept` is the share of the noise variance that is left, and `shared` what two values share.
    """

    mean: Array
    with_gap: Array
    products: Array
    kept: Array
    shared: Array

    @classmethod
    def of(cls, working: WorkingMoments, there: _Presence) -> _Apart:
        design, size = working.design, working.design.n_values
        projection = _level_projection(design)
        mean = projection @ working.mean[:size]
        values = projection @ working.matrix[:size, :size] @ projection
        crossed = projection @ working.matrix[:size, size:]
        crossed = _of_gaps(crossed, design.gap_of, 0.0, axis=1)
        crossed[:, ~there.counted] = 0.0
        with_gap = crossed + np.outer(mean, there.share)
        # A value is 0 where it is missing: its average with its own indicator is its mean.
        with_gap = np.where(there.same, mean[:, None], with_gap)
        products = (values + values.T) / 2 + np.outer(mean, mean)
        return cls(mean, with_gap, products, np.diag(projection).copy(), projection)

    def variance(
        self, mean: Array, covariance: Array, there: _Presence, noise: NoiseScale
    ) -> Array:
        """Return the variance of the noise of each covariance, times its squared share of rows.

        With a = A_ij/N and b = A_ji/N, a covariance times N moves by
        dS − a dA_ji − b dA_ij + (ab − cov) dN.
        """
        kept = self.kept
        products = noise.off_diagonal**2 * (np.outer(kept, kept) + self.shared**2)
        crossed = self.crossed_variance(there, noise)
        _, share = there.pairs(np.inf)
        rest = (mean * mean.T - covariance) ** 2 * share
        linear = mean**2 * crossed.T + mean.T**2 * crossed
        # On the diagonal both are one number; where means are zero their product is left.
        linear += np.where(np.eye(len(kept), dtype=np.bool_), 2 * mean**2 * crossed, 0.0)
        second = crossed * crossed.T * np.where(np.eye(len(kept), dtype=np.bool_), 2.0, 1.0)
        hidden = covariance**2 * np.add.outer(there.unseen**2, there.unseen**2)
        return np.asarray(products + linear + second + rest + hidden)

    def crossed_variance(self, there: _Presence, noise: NoiseScale) -> Array:
        """Return the variance of the noise of each A_ij.

        It is that of one product if column j has gaps, and of the mean of i.
        """
        tau, single = noise.off_diagonal**2, noise.mean**2
        counted = np.where(there.counted, 1.0, 0.0)
        crossed = np.outer(self.kept, counted * tau + there.about**2 * single)
        return np.where(there.same, self.kept[:, None] * single, crossed)


def _with_shares(found: Pairwise, design: Design, units: Units) -> Pairwise:
    """Return the moments with those between levels of one category as their shares say.

    A row has one level: the covariance of two is −π_k π_l, and the variance of one π (1 − π).
    """
    if not design.groups:
        return found
    matrix, mean, variance = found.matrix.copy(), found.mean.copy(), found.noise_variance.copy()
    for group in design.groups:
        scale, center = units.scale[group], units.center[group]
        error = scale * found.mean_error[group]
        share = np.minimum(_possible_shares(center + scale * mean[group], error / 4), 1 - 1e-6)
        mean[group] = (share - center) / scale
        unit = np.outer(scale, scale)
        block = np.diag(share) - np.outer(share, share)
        noise = np.outer(share**2, error**2) + np.outer(error**2, share**2)
        noise[np.diag_indices(len(share))] = ((1 - 2 * share) * error) ** 2 + 2 * error**4
        matrix[group, group] = block / unit
        variance[group, group] = noise / unit**2
    return replace(found, matrix=matrix, mean=mean, noise_variance=variance)


def _possible_shares(seen: Array, least: Array) -> Array:
    """Return the nearest shares that add up to one, none of them below its least.

    They all give the same amount, or what they have: dividing by their sum would take most from
    the largest share, which is the surest, to make room for what noise put into empty levels.
    """
    least = np.minimum(least, 0.5 / len(seen))
    given = np.sort(seen - least)[::-1]
    room = 1 - least.sum()
    excess = (np.cumsum(given) - room) / np.arange(1, len(seen) + 1)
    lowered = excess[np.flatnonzero(given > excess)[-1]]
    return np.asarray(least + np.maximum(seen - least - lowered, 0.0))


def _level_projection(design: Design) -> Array:
    """Return the projection onto values whose levels add up to nothing in each category."""
    projection = np.eye(design.n_values)
    for group in design.groups:
        projection[group, group] -= 1 / (group.stop - group.start)
    return projection


def _have_gaps(gaps: Array, noise: float) -> Mask:
    """Return which columns have gaps, given the noisy share of them in each.

    Columns whose gaps do not stand out one by one may have them all the same, and reading these
    as complete would make all covariances too small. Together they stand out.
    """
    seen = gaps > _COMPLETE * noise
    rest = gaps[~seen]
    if len(rest) and rest.mean() > _COMPLETE * noise / np.sqrt(len(rest)):
        seen |= gaps > 0
    return np.asarray(seen)


def _shrunk(both: Array, seen: Mask, noise: float) -> Array:
    """Return the covariances of indicators, shrunk by the share of them that noise explains."""
    apart = np.logical_and.outer(seen, seen) & ~np.eye(len(seen), dtype=np.bool_)
    if not apart.any():
        return np.zeros_like(both)
    spread = float(np.mean(both[apart] ** 2))
    return both * (1 - noise**2 / spread if spread > noise**2 else 0.0)


def _of_gaps(array: npt.NDArray[Any], gap: npt.NDArray[np.int64], other: Any, axis: int = 0) -> Any:
    """Return what indicators have, for each value; `other` for values without one."""
    shape = list(array.shape)
    shape[axis] = 1
    # They have the place −1, which is the last.
    rest = np.full(shape, other, dtype=array.dtype)
    return np.take(np.concatenate([array, rest], axis=axis), gap, axis=axis)
