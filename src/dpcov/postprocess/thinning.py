"""Data thinning: two independent copies of a release, from the release alone.

Owns the split and the estimate of risk. With W standard normal, y₁ = y + α √v W and
y₂ = y − √v W / α are independent when y is Gaussian with variance v, and both have the
mean of y. So Σ v (t(z₁)² − 2 t(z₁) z₂), in units of each entry's own sd, is an unbiased
estimate, up to a constant, of the squared error of any rule t applied to y₁: threshold and
rule can be chosen with no privacy cost. All rules at all thresholds follow from one pass
that bins z₁. A part L that is taken out of y₁ first, and put back afterwards, is judged with
them: (L + t)² − 2 (L + t) y₂ is L² − 2 L y₂ plus t² − 2 t (y₂ − L).

References
----------
Neufeld, Dharamshi, Gao and Witten (2024), Data thinning for convolution-closed
distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.low_rank import LowRank
from dpcov.postprocess.noise_model import NoiseModel, row_blocks

__all__ = [
    "ALPHA",
    "INFLATION",
    "MERGED_BINS",
    "BinnedEntries",
    "Part",
    "Taken",
    "ThinnedEntries",
    "ThinnedSums",
    "bin_entries",
    "bin_index",
    "parts",
    "signal_edges",
    "standard_error",
    "thin",
]

ALPHA = 0.5
_REPEATS = 8
INFLATION = (1.0 + ALPHA**2) ** 0.5  # sd of y₁ in units of the sd of y

_MAX_GROUPS = 12
_GROUP_WIDTH = 0.2  # of the logarithm of the signal

MERGED_BINS = 4  # a sixteenth of an sd is fine enough to learn a prior

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
class Taken:
    """The part of y₁ that was taken out of it: its risk, Σ v² l² and, by bins, Σ v² l."""

    risk: float
    square: float
    mixed: Array


@dataclass(frozen=True)
class ThinnedEntries:
    """What is kept of the two copies: sums over the bins of the first.

    Parameters
    ----------
    first : BinnedEntries
        z₁.
    weight, cross, square : ndarray, shape (groups, bins)
        Σ v, Σ v z₂ and Σ v², v being the variance of y₁.
    bins : ndarray of int
        Which bins these are: where all groups are empty, they are left out.
    repeats : int
        How many W there were.
    taken : Taken, optional
        What was taken out of both copies before.
    """

    first: BinnedEntries
    weight: Array
    cross: Array
    square: Array
    bins: npt.NDArray[np.intp]
    repeats: int
    taken: Taken | None = None

    def risk(self, fitted: Array) -> tuple[float, float]:
        """Return the estimated squared error of fitted values less that of zeros, and its se."""
        risk = np.sum(self.weight * fitted * fitted - 2.0 * self.cross * fitted)
        square = np.sum(self.square * fitted * fitted)
        if self.taken is not None:
            risk += self.taken.risk
            square += self.taken.square + 2.0 * np.sum(self.taken.mixed * fitted)
        return float(risk), standard_error(float(square), self.repeats)

    def spread(self, fitted: Array) -> Array:
        """Return fitted values of all bins, those that were left out too: see `bin_index`."""
        result = np.zeros((len(fitted), 2 * _HALF))
        result[:, self.bins] = fitted
        return result


def standard_error(square: float, repeats: int) -> float:
    """Return the se of 2 Σ v t z₂, given Σ v² t²."""
    # The variance of z₂ given z₁, averaged over W: the share of y stays, that of W falls.
    cross_variance = (1.0 + ALPHA**-2 / repeats) / INFLATION**2
    return float(np.sqrt(4.0 * cross_variance * max(0.0, square)))


def bin_entries(matrix: Array, noise: NoiseModel, low_rank: LowRank | None = None) -> BinnedEntries:
    """Bin the entries above the diagonal, less those of a low-rank part."""
    edges = signal_edges(noise)
    whole = _Accumulator(len(edges) + 1)
    for part in parts(noise):
        z = part.of(matrix)
        if low_rank is not None:
            z = z - part.of_low_rank(low_rank)
        whole.add(np.searchsorted(edges, part.signal), z, part.signal)
    return whole.binned(signal_unit=1.0, repeats=1)


def thin(matrix: Array, noise: NoiseModel) -> ThinnedEntries:
    """Split the entries above the diagonal in two, several times, and sum over bins.

    The size of the matrix seeds the split: the same release gives the same answer on any machine,
    also where arithmetic differs in the last bit.
    """
    edges = signal_edges(noise)
    sums = ThinnedSums(len(edges) + 1)
    generator = np.random.default_rng(len(matrix))
    for part in parts(noise):
        group, z = np.searchsorted(edges, part.signal), part.of(matrix)
        for _ in range(_REPEATS):
            w = generator.standard_normal(len(z))
            z1, z2 = (z + ALPHA * w) / INFLATION, (z - w / ALPHA) / INFLATION
            sums.add(group, part, z1, z2)
    return sums.means(_REPEATS)


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
        index = bin_index(z)
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


def bin_index(values: Array) -> npt.NDArray[np.intp]:
    """Return the bin of each value: the negative ones first, then the others."""
    size = np.abs(values)
    index = (np.minimum(size, _LINEAR) * _PER_UNIT).astype(np.intp)
    far = np.flatnonzero(size >= _LINEAR)
    if len(far):
        folds = np.log(np.minimum(size[far], _LARGEST) / _LINEAR)
        index[far] = np.minimum(_NEAR + (folds * _PER_E_FOLD).astype(np.intp), _HALF - 1)
    index += _HALF * (values >= 0)
    return index


@dataclass(frozen=True)
class Part:
    """The entries above the diagonal of some rows: where they are, v, and their signal."""

    rows: slice
    columns: slice
    above: npt.NDArray[np.bool_]
    variance: Array
    signal: Array

    def of(self, matrix: Array) -> Array:
        """Return these entries of a matrix, in units of their sd."""
        return np.asarray(matrix[self.rows, self.columns][self.above] / np.sqrt(self.variance))

    def of_low_rank(self, low_rank: LowRank) -> Array:
        """Return these entries of a low-rank part, in units of their sd."""
        entries = low_rank.block(self.rows, self.columns)[self.above]
        return np.asarray(entries / np.sqrt(self.variance))


def parts(noise: NoiseModel) -> Iterator[Part]:
    """Yield the entries above the diagonal, in order, block by block."""
    for rows in row_blocks(len(noise.variances)):
        columns = slice(rows.start, None)
        variance = noise.block(rows, columns)
        above = np.triu(np.ones(variance.shape, dtype=bool), k=1)
        v = variance[above]
        signal = noise.signal(rows, columns)[above] / np.sqrt(v)
        yield Part(rows, columns, above, v, signal)


class ThinnedSums:
    """Sums over the bins of z₁, of which `means` makes `ThinnedEntries`."""

    def __init__(self, groups: int) -> None:
        self._sums = _Accumulator(groups, "weight", "cross", "square", "mixed")
        self._risk = self._square = 0.0
        self._has_taken = False

    def add(
        self,
        group: npt.NDArray[np.intp],
        part: Part,
        z1: Array,
        z2: Array,
        taken: Array | None = None,
    ) -> None:
        """Add entries of one W, less what is taken out of them."""
        v = part.variance
        if taken is None:
            self._sums.add(group, z1, part.signal, weight=v, cross=v * z2, square=v * v)
            return
        self._has_taken = True
        self._risk += float(np.sum(v * taken * (taken - 2.0 * z2)))
        self._square += float(np.sum((v * taken) ** 2))
        self._sums.add(
            group,
            z1 - taken,
            part.signal,
            weight=v,
            cross=v * (z2 - taken),
            square=v * v,
            mixed=v * v * taken,
        )

    def means(self, repeats: int) -> ThinnedEntries:
        """Return means over the repeats; the variance of y₁ is (1 + α²) v."""
        factor, squared = INFLATION**2 / repeats, INFLATION**4 / repeats
        bins = _occupied(self._sums.sums["count"])
        sums = {name: total[:, bins] for name, total in self._sums.sums.items()}
        first = self._sums.binned(signal_unit=INFLATION, repeats=repeats)
        taken = Taken(self._risk * factor, self._square * squared, sums["mixed"] * squared)
        return ThinnedEntries(
            first=BinnedEntries(first.signal, first.value[:, bins], first.count[:, bins]),
            weight=sums["weight"] * factor,
            cross=sums["cross"] * factor,
            square=sums["square"] * squared,
            bins=bins,
            repeats=repeats,
            taken=taken if self._has_taken else None,
        )


def _occupied(count: Array) -> npt.NDArray[np.intp]:
    """Return the bins to keep, in whole runs of those that are merged to fit a prior."""
    used = np.pad(count.any(axis=0), (0, -count.shape[1] % MERGED_BINS))
    kept = np.repeat(used.reshape(-1, MERGED_BINS).any(axis=1), MERGED_BINS)
    return np.flatnonzero(kept[: count.shape[1]])
