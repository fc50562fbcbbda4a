"""Empirical Bayes: a prior on correlations learned from the release, and posterior means.

Owns the rule that learns how to shrink. The prior is the non-parametric maximum
likelihood estimate on a grid (Kiefer and Wolfowitz 1956), by EM on binned entries: an
entry of z sd, for which a correlation of 1 would be worth s sd, has mean ρ s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.bisection import bracket
from dpcov.postprocess.thinning import MERGED_BINS, BinnedEntries

__all__ = ["EmpiricalBayes", "fit_prior"]

_GRID_HALF = 60
_ITERATIONS = 120
_COMMON_WEIGHT = 100.0
# Beyond this an entry speaks for itself, and the prior's grid would be too coarse for it.
_FAR = 10.0
_FITTED = 13.0  # the prior must know what lies beyond, or it would pull large entries back

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EmpiricalBayes:
    """A discrete prior on correlations for each group of entries.

    Parameters
    ----------
    correlation : ndarray, shape (points,)
        The points of the prior.
    probability : ndarray, shape (groups, points)
        Their probabilities.
    signal : ndarray, shape (groups,)
        What a correlation of 1 is worth, in sd of an entry.

    Examples
    --------
    >>> prior = EmpiricalBayes(np.array([0, 0.5]), np.array([[0.9, 0.1]]), np.array([10.0]))
    >>> prior.posterior_mean(np.array([0.0, 5.0]), group=0).round(3)
    array([0., 5.])
    """

    correlation: Array
    probability: Array
    signal: Array

    def posterior_mean(self, z: Array, group: int) -> Array:
        """Return the posterior mean of entries of a group, both in units of their sd."""
        means = self.correlation * self.signal[group]
        posterior = _likelihood(z, means) * self.probability[group]
        fitted: Array = (posterior @ means) / posterior.sum(axis=-1)
        return np.where(np.abs(z) < _FAR, fitted, z)


def fit_prior(entries: BinnedEntries) -> EmpiricalBayes:
    """Fit a prior to binned entries: one for all, then one for each group that departs from it.

    Columns of similar variance often share how many relations they have. Each group's
    prior starts as the common one, which counts like `_COMMON_WEIGHT` of its entries.
    """
    grid = _grid(float(entries.signal.max()))
    groups = []
    for value, count, signal in zip(*_merge(entries), entries.signal, strict=True):
        used = (count > 0) & (np.abs(value) < _FITTED)
        groups.append((_likelihood(value[used], signal * grid), count[used]))
    everything = [np.concatenate(part) for part in zip(*groups, strict=True)]
    flat = np.full(len(grid), 1.0 / len(grid))
    common = _maximize(everything[0], everything[1], flat, weight=0.0)
    own = [_maximize(*group, common, weight=_COMMON_WEIGHT) for group in groups]
    return EmpiricalBayes(grid, np.array(own), entries.signal)


def _maximize(likelihood: Array, count: Array, start: Array, *, weight: float) -> Array:
    """EM for the probabilities of the grid, with `weight` entries that look like `start`."""
    if not len(count):
        return start
    probability = start
    total = count.sum() + weight
    for _ in range(_ITERATIONS):
        responsible = probability * ((count / (likelihood @ probability)) @ likelihood)
        probability = (responsible + weight * start) / total
    return probability


def _merge(entries: BinnedEntries) -> tuple[Array, Array]:
    """Merge neighboring bins: value and count."""
    groups, bins = entries.count.shape
    padding = ((0, 0), (0, -bins % MERGED_BINS))
    count = np.pad(entries.count, padding)
    total = np.pad(entries.count * entries.value, padding)
    count = count.reshape(groups, -1, MERGED_BINS).sum(axis=2)
    total = total.reshape(groups, -1, MERGED_BINS).sum(axis=2)
    return np.divide(total, count, np.zeros_like(total), where=count > 0), count


def _likelihood(z: Array, means: Array) -> Array:
    distance = z[:, None] - means
    # The floor keeps every entry possible when it lies between two points of the grid.
    return np.exp(-0.5 * np.minimum(distance * distance, 600.0))


def _grid(signal: float) -> Array:
    """Correlations from −1 to 1: half an sd apart near 0, wider further out."""
    bend = _bend(min(0.5 / signal, 1.0 / _GRID_HALF))
    positions = np.arange(-_GRID_HALF, _GRID_HALF + 1) / _GRID_HALF
    grid: Array = np.sinh(bend * positions) / np.sinh(bend)
    return grid


def _bend(first_step: float) -> float:
    """Return the bend at which a sinh-spaced grid has a given first step."""

    def is_fine(bend: float) -> bool:
        return bool(np.sinh(bend / _GRID_HALF) / np.sinh(bend) <= first_step)

    return bracket(is_fine, 1e-6, 50.0)[1]
