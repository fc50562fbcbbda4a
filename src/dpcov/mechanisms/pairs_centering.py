"""Co-movements corrected for mean signs that were released: near zero for unrelated columns.

Owns the exact, centered sums and the factor by which each is divided so that all of them move
equally far. Sensitive: there is no noise on them yet.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dpcov.mechanisms.pairs_calibration import FINER_BITS
from dpcov.privacy import Neighbors
from dpcov.releases.pairs import centered_sign_factor
from dpcov.sensitive.sums.signs import CoMovement

__all__ = ["MEAN_BITS", "CenteredSums", "PlainSums"]

MEAN_BITS = FINER_BITS // 2
"""Mean signs are whole multiples of 2^-10, which is far below their noise."""

Integers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.integer]


class PlainSums:
    """The sums Σ s_i s_j as they are, for signs about a stated center or of differences."""

    def __init__(self, sums: CoMovement) -> None:
        self._triangle = sums.triangle

    def scores(self) -> Iterator[Scores]:
        """Yield the sizes of all sums above the diagonal, in counts. Sensitive."""
        return map(np.abs, self._triangle.above_diagonal())

    def values(self, pairs: npt.NDArray[np.int32]) -> Integers:
        """Return the sums of some pairs, in counts / 2^20. Sensitive."""
        found = self._triangle.at(pairs[:, 0], pairs[:, 1]).astype(np.int64)
        return found << FINER_BITS

    def factors(self, pairs: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return what the values of some pairs are to be multiplied with. Public."""
        return np.ones(len(pairs))


class CenteredSums:
    """The sums Σ (s_i − a_i)(s_j − a_j) − n r_i r_j, each divided by its factor.

    `subtracted` are a · 2^10, `expected` r · 2^10: from mean signs that were released.

    Notes
    -----
    Claim P31. One row moves a sum by no more than its factor times what it moves Σ s_i s_j:
    divided by the factor, the sums have the sensitivity of plain ones. Rounding down keeps
    it, because it is a whole number of the steps to which they are rounded.
    """

    def __init__(
        self, sums: CoMovement, subtracted: Integers, expected: Integers, neighbors: Neighbors
    ) -> None:
        self._triangle, self._totals, self._n_terms = sums.triangle, sums.totals, sums.n_terms
        self._means, self._expected, self._neighbors = subtracted, expected, neighbors

    def scores(self) -> Iterator[Scores]:
        """Yield the sizes of all sums above the diagonal, in whole counts. Sensitive."""
        size = self._triangle.size
        for start, panel in self._triangle.panels():
            first = np.arange(start, start + len(panel))[:, None]
            second = np.arange(start, size)[None, :]
            factor = self._factor(first, second) << MEAN_BITS
            score = np.abs(self._centered(panel.astype(np.int64), first, second)) // factor
            yield np.concatenate([score[row, row + 1 :] for row in range(len(panel))])

    def values(self, pairs: npt.NDArray[np.int32]) -> Integers:
        """Return the sums of some pairs, in counts / 2^20. Sensitive."""
        first, second = pairs.astype(np.int64).T
        plain = self._triangle.at(first, second).astype(np.int64)
        # At most 2^31 terms of size 4, times 2^30: within 63 bits.
        centered = self._centered(plain, first, second) << MEAN_BITS
        return centered // self._factor(first, second)

    def factors(self, pairs: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return what the values of some pairs are to be multiplied with. Public."""
        first, second = pairs.astype(np.int64).T
        return self._factor(first, second) / 2.0**MEAN_BITS

    def _centered(self, plain: Integers, first: Integers, second: Integers) -> Integers:
        """Return (Σ (s_i − a_i)(s_j − a_j) − n r_i r_j) · 2^20, exactly."""
        means, totals, expected = self._means, self._totals, self._expected
        crossed = means[first] * totals[second] + means[second] * totals[first]
        public = means[first] * means[second] - expected[first] * expected[second]
        result: Integers = (plain << FINER_BITS) - (crossed << MEAN_BITS) + self._n_terms * public
        return result

    def _factor(self, first: Integers, second: Integers) -> Integers:
        sizes = np.abs(self._means)
        return centered_sign_factor(
            self._neighbors, sizes[first], sizes[second], one=1 << MEAN_BITS
        )
