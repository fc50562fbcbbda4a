"""Data thinning: two independent copies of a release, from the release alone.

Owns the split and the estimate of risk. With W standard normal, y₁ = y + α √v W and
y₂ = y − √v W / α are independent when y is Gaussian with variance v, and both have the
mean of y. So Σ v (t(z₁)² − 2 t(z₁) z₂), in units of each entry's own sd, is an unbiased
estimate, up to a constant, of the squared error of any rule t applied to y₁: level and
rule can be chosen with no privacy cost. All rules at all levels follow from one pass
that bins z₁.

References
----------
Neufeld, Dharamshi, Gao and Witten (2024), Data thinning for convolution-closed
distributions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.noise_model import NoiseModel, row_blocks

__all__ = ["BinnedEntries", "ThinnedEntries", "signal_edges", "thin"]

_ALPHA = 0.5
_REPEATS = 8
_INFLATION = (1.0 + _ALPHA**2) ** 0.5  # sd of y₁ in units of the sd of y
# The variance of z₂ given z₁, averaged over the repeats: the share of y stays, that of W falls.
_CROSS_VARIANCE = (1.0 + _ALPHA**-2 / _REPEATS) / _INFLATION**2

_MAX_GROUPS = 12
_GROUP_WIDTH = 0.2  # of the logarithm of the signal

# Bins: equal ones up to _LINEAR sd, then in proportion to the size.
_LINEAR, _PER_UNIT, _PER_E_FOLD, _LARGEST = 12, 64, 32, 1e12
_NEAR = _LINEAR * _PER_UNIT
_HALF = _NEAR + int(np.log(_LARGEST / _LINEAR) * _PER_E_FOLD) + 1

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BinnedEntries:
    """Standardized entries, binned by value within groups of similar signal strength.

    Parameters
    ----------
    signal : ndarray, shape (groups,)
        What a correlation of 1 would be worth, in sd of an entry.
    value, count : ndarray, shape (groups, bins)
        Mean and number of the entries in a bin.
    """

    signal: Array
    value: Array
    count: Array


@dataclass(frozen=True)
class ThinnedEntries:
    """What is kept of the two copies: sums over the bins of the first.

    Parameters
    ----------
    first : BinnedEntries
        z₁.
    weight, cross, square : ndarray, shape (groups, bins)
        Σ v, Σ v z₂ and Σ v², v being the variance of y₁.
    whole : BinnedEntries
        The entries themselves, before they were split.
    """

    first: BinnedEntries
    weight: Array
    cross: Array
    square: Array
    whole: BinnedEntries

    def risk(self, fitted: Array) -> tuple[float, float]:
        """Return the estimated squared error of fitted values less that of zeros, and its se.

        Parameters
        ----------
        fitted : ndarray, shape (groups, bins)
            t(z₁) for each bin.
        """
        risk = np.sum(self.weight * fitted * fitted - 2.0 * self.cross * fitted)
        variance = 4.0 * _CROSS_VARIANCE * np.sum(self.square * fitted * fitted)
        return float(risk), float(np.sqrt(variance))


def thin(matrix: Array, noise: NoiseModel) -> ThinnedEntries:
    """Split the entries above the diagonal in two, several times, and sum over bins.

    Parameters
    ----------
    matrix : ndarray, shape (n_columns, n_columns)
        The released matrix. Its bytes seed the split: the same release always gives the
        same answer.
    noise : NoiseModel
        The variances of its entries.
    """
    edges = signal_edges(noise)
    whole = _Accumulator(len(edges) + 1)
    first = _Accumulator(len(edges) + 1, "weight", "cross", "square")
    generator = np.random.default_rng(_seed(matrix))
    for z, v, signal in _standardized_blocks(matrix, noise):
        group = np.searchsorted(edges, signal)
        whole.add(group, z, signal)
        for _ in range(_REPEATS):
            w = generator.standard_normal(len(z))
            z1, z2 = (z + _ALPHA * w) / _INFLATION, (z - w / _ALPHA) / _INFLATION
            first.add(group, z1, signal, weight=v, cross=v * z2, square=v * v)
    # The variance of y₁ is (1 + α²) v; the sums become means over the repeats.
    factor = _INFLATION**2 / _REPEATS
    return ThinnedEntries(
        first=first.binned(signal_unit=_INFLATION, repeats=_REPEATS),
        weight=first.sums["weight"] * factor,
        cross=first.sums["cross"] * factor,
        square=first.sums["square"] * (_INFLATION**4 / _REPEATS),
        whole=whole.binned(signal_unit=1.0, repeats=1),
    )


def signal_edges(noise: NoiseModel) -> Array:
    """Return the borders between groups of entries of similar signal strength."""
    variances = (float(noise.variances.min()), float(noise.variances.max()))
    ends = [variance / np.sqrt(noise.pair_variance(variance)) for variance in variances]
    groups = min(_MAX_GROUPS, 1 + int(np.log(ends[1] / ends[0]) / _GROUP_WIDTH))
    return np.geomspace(ends[0], ends[1], groups + 1)[1:-1]


class _Accumulator:
    """Sums over (group, bin): the entries themselves, and whatever weights are added."""

    def __init__(self, groups: int, *weights: str) -> None:
        self.shape = (groups, 2 * _HALF)
        self.sums = {name: np.zeros(self.shape) for name in ("value", "count", *weights)}
        self._signal, self._members = np.zeros((2, groups))

    def add(self, group: npt.NDArray[np.intp], z: Array, signal: Array, **weights: Array) -> None:
        index = _bin_index(z)
        index += group * self.shape[1]
        for name, weight in {"value": z, "count": None, **weights}.items():
            total = self.sums[name]
            total += np.bincount(index, weight, total.size).reshape(self.shape)
        self._signal += np.bincount(group, signal, len(self._signal))
        self._members += np.bincount(group, None, len(self._members))

    def binned(self, *, signal_unit: float, repeats: int) -> BinnedEntries:
        value, count = self.sums["value"], self.sums["count"]
        return BinnedEntries(
            signal=self._signal / np.maximum(self._members, 1.0) / signal_unit,
            value=np.divide(value, count, np.zeros(self.shape), where=count > 0),
            count=count / repeats,
        )


def _bin_index(values: Array) -> npt.NDArray[np.intp]:
    """Return the bin of each value: the negative ones first, then the others."""
    size = np.abs(values)
    index = (np.minimum(size, _LINEAR) * _PER_UNIT).astype(np.intp)
    far = np.flatnonzero(size >= _LINEAR)
    if len(far):
        folds = np.log(np.minimum(size[far], _LARGEST) / _LINEAR)
        index[far] = np.minimum(_NEAR + (folds * _PER_E_FOLD).astype(np.intp), _HALF - 1)
    index += _HALF * (values >= 0)
    return index


def _standardized_blocks(matrix: Array, noise: NoiseModel) -> Iterator[tuple[Array, Array, Array]]:
    """Yield (z, v, signal) of the entries above the diagonal, in order, block by block."""
    for rows in row_blocks(len(matrix)):
        columns = slice(rows.start, None)
        variance = noise.block(rows, columns)
        above = np.triu(np.ones(variance.shape, dtype=bool), k=1)
        v = variance[above]
        deviation = np.sqrt(v)
        signal = noise.signal(rows, columns)[above] / deviation
        yield matrix[rows, columns][above] / deviation, v, signal


def _seed(matrix: Array) -> int:
    digest = hashlib.sha256(np.ascontiguousarray(matrix, dtype="<f8").data)
    return int.from_bytes(digest.digest(), "little")
