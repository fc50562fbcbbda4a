"""Copies of a whole matrix: where a rule looks at more than one entry at a time.

Owns the comparison of answers with and without a low-rank part. The split is that of
`dpcov.postprocess.thinning`; y₁ is kept as a matrix, so that its factors can be found and the
answers be made positive semi-definite before they are judged by y₂. That matters: it takes
much of the noise out of entries that were shrunk one by one, and finds nothing in factors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.low_rank import LowRank, find_low_rank
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.psd import make_psd
from dpcov.postprocess.thinning import (
    ALPHA,
    INFLATION,
    Part,
    ThinnedEntries,
    ThinnedSums,
    bin_index,
    parts,
    signal_edges,
    standard_error,
)

__all__ = ["Copies", "copy_matrix"]

# Fewer copies of wide matrices, whose entries average out.
_MOST_COPIES, _COPIED_ENTRIES = 4, 100_000

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of a matrix, without and with their low-rank parts taken out.

    What W does to one it does to the other, so that differences of their risks are sharp.

    Parameters
    ----------
    matrix : ndarray, shape (n_columns, n_columns)
        What was copied.
    noise : NoiseModel
        The variances of its entries.
    firsts : tuple of (ndarray, LowRank)
        Each y₁, and its low-rank part.
    plain, rest : ThinnedEntries
        Sums over the entries of y₁, and over what is left of them.
    """

    matrix: Array
    noise: NoiseModel
    firsts: tuple[tuple[Array, LowRank], ...]
    plain: ThinnedEntries
    rest: ThinnedEntries

    def gain(self, plain: Array, rest: Array) -> tuple[float, float]:
        """Return by how much the low-rank answer is better, and the se of that.

        What is fitted to the bins of entries and of rests is put into matrices, and these are
        made positive semi-definite.
        """
        gain, square, repeats = 0.0, 0.0, len(self.firsts)
        for first, low_rank in self.firsts:
            one = self._answer(first, self.plain.spread(plain))
            other = self._answer(first, self.rest.spread(rest), low_rank)
            for part in parts(self.noise):
                _, y2 = _both(part, self.matrix, first)
                a, b = part.of(one), part.of(other)
                gain += float(np.sum(part.variance * (a - b) * (a + b - 2.0 * y2))) / repeats
                square += float(np.sum((part.variance * (a - b)) ** 2)) / repeats
        return gain, standard_error(square * INFLATION**2, repeats)

    def _answer(self, first: Array, fitted: Array, low_rank: LowRank | None = None) -> Array:
        edges = signal_edges(self.noise)
        result = np.diag(self.noise.variances)
        for part in parts(self.noise):
            z = part.of(first)
            taken = np.zeros(len(z)) if low_rank is None else part.of_low_rank(low_rank)
            place = np.searchsorted(edges, part.signal), bin_index((z - taken) / INFLATION)
            _put(result, part, (taken + fitted[place] * INFLATION) * np.sqrt(part.variance))
        return make_psd(result, method="clip")


def copy_matrix(matrix: Array, noise: NoiseModel) -> Copies | None:
    """Split the whole matrix in two, and take the low-rank part of the first copy out of both.

    None if no copy has one.
    """
    repeats = int(np.clip(_COPIED_ENTRIES // matrix.size, 1, _MOST_COPIES))
    generator = np.random.default_rng([len(matrix), repeats])
    firsts = tuple(_noisy_copy(matrix, noise, generator) for _ in range(repeats))
    low_ranks = tuple(find_low_rank(first, noise, variance=INFLATION**2) for first in firsts)
    if not any(low_rank.rank for low_rank in low_ranks):
        return None
    edges = signal_edges(noise)
    plain, rest = ThinnedSums(len(edges) + 1), ThinnedSums(len(edges) + 1)
    for part in parts(noise):
        group = np.searchsorted(edges, part.signal)
        for first, low_rank in zip(firsts, low_ranks, strict=True):
            z1, z2 = (y / INFLATION for y in _both(part, matrix, first))
            plain.add(group, part, z1, z2)
            rest.add(group, part, z1, z2, part.of_low_rank(low_rank) / INFLATION)
    pairs = tuple(zip(firsts, low_ranks, strict=True))
    return Copies(matrix, noise, pairs, plain.means(repeats), rest.means(repeats))


def _both(part: Part, matrix: Array, first: Array) -> tuple[Array, Array]:
    """Return y₁ and the y₂ of the same W, in units of the sd of y."""
    y, y1 = part.of(matrix), part.of(first)
    return y1, y - (y1 - y) / ALPHA**2


def _noisy_copy(matrix: Array, noise: NoiseModel, generator: np.random.Generator) -> Array:
    """Return y₁, the diagonal as it was."""
    result = matrix.copy()
    for part in parts(noise):
        w = generator.standard_normal(len(part.variance))
        _put(result, part, (part.of(matrix) + ALPHA * w) * np.sqrt(part.variance))
    return result


def _put(matrix: Array, part: Part, entries: Array) -> None:
    """Write entries above the diagonal, and below it."""
    matrix[part.rows, part.columns][part.above] = entries
    matrix[part.columns, part.rows].T[part.above] = entries
