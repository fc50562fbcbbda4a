"""Co-movements corrected for mean signs that were released: near zero for unrelated columns.

Owns the exact, centered sums and the factor by which each is divided so that all of them move
equally far. Sensitive: there is no noise on them yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
Scores = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[Any]
Places = int | slice | Integers

# Sums of so many terms of size 5 or less, in counts / 2^20, are below 2^53.
_IN_FLOATS = 1 << 30


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
        self._triangle, self._n_terms, self._neighbors = sums.triangle, sums.n_terms, neighbors
        self._known = np.stack([subtracted, sums.totals, expected, np.abs(subtracted)])

    def scores(self) -> Iterator[Scores]:
        """Yield the sizes of all sums above the diagonal, in whole counts. Sensitive."""
        known = self._known.astype(np.float64 if self._n_terms <= _IN_FLOATS else np.int64)
        for start, panel in self._triangle.panels():
            rows = (self._row_scores(start + row, each, known) for row, each in enumerate(panel))
            yield np.concatenate(list(rows))

    def _row_scores(self, first: int, row: Scores, known: Numbers) -> Scores:
        """Return the scores of one row of a panel, of which the last cells are above the diagonal.

        Floats are faster, and exact: all numbers are whole and below 2^53, and a quotient that is
        rounded correctly reaches no whole number that the exact one does not.
        """
        second = slice(first + 1, None)
        plain = row[len(row) - known.shape[1] + first + 1 :].astype(known.dtype)
        size = np.abs(self._centered(plain, first, second, known))
        factor = self._factor(first, second, known) * 2**MEAN_BITS
        score: Scores = size // factor if known.dtype == np.int64 else size / factor
        return score.astype(np.int64, copy=False)

    def values(self, pairs: npt.NDArray[np.int32]) -> Integers:
        """Return the sums of some pairs, in counts / 2^20. Sensitive."""
        first, second = pairs.astype(np.int64).T
        plain = self._triangle.at(first, second).astype(np.int64)
        # At most 2^31 terms of size 4, times 2^30: within 63 bits.
        centered = self._centered(plain, first, second, self._known) << MEAN_BITS
        return centered // self._factor(first, second, self._known)

    def factors(self, pairs: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return what the values of some pairs are to be multiplied with. Public."""
        first, second = pairs.astype(np.int64).T
        return self._factor(first, second, self._known) / 2.0**MEAN_BITS

    def _centered(self, plain: Numbers, first: Places, second: Places, known: Numbers) -> Numbers:
        """Return (Σ (s_i − a_i)(s_j − a_j) − n r_i r_j) · 2^20, exactly."""
        means, totals, expected, _ = known
        # From sums of one column with factors of the other, since one of them may be a single one.
        by_mean = means[first] * self._n_terms - totals[first] * 2**MEAN_BITS
        by_total, by_expected = means[first] * 2**MEAN_BITS, expected[first] * self._n_terms
        crossed = by_mean * means[second] - by_total * totals[second]
        result: Numbers = plain * 2**FINER_BITS + crossed - by_expected * expected[second]
        return result

    def _factor(self, first: Places, second: Places, known: Numbers) -> Numbers:
        sizes = known[-1]
        return centered_sign_factor(
            self._neighbors, sizes[first], sizes[second], one=1 << MEAN_BITS
        )
