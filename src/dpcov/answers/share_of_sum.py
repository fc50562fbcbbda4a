"""Shares of the variance of a sum: the ratio behind Cronbach's α, and its interval.

Owns the ratio of two noisy numbers whose errors go together, and Fieller's interval for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["SharesOfSums"]

Array = npt.NDArray[np.float64]

_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class SharesOfSums:
    """Sums of variances of items over the variances of their sums, for several sets of items.

    Parameters
    ----------
    counts : ndarray of int
        How many items a set has.
    parts, wholes : ndarray
        The sums of the items' variances, and the variance of their sum.
    variances : ndarray, shape (n_sets, 2, 2)
        The covariances of the errors of these two.
    """

    counts: npt.NDArray[np.int_]
    parts: Array
    wholes: Array
    variances: Array

    @property
    def is_told(self) -> npt.NDArray[np.bool_]:
        """Where the variance of the sum stands out of its noise by three standard errors."""
        return np.asarray(self.wholes > 3 * np.sqrt(self.variances[:, 1, 1]))

    @property
    def alpha(self) -> Array:
        """Cronbach's α of each set: k/(k − 1) (1 − part/whole); nan where it cannot be told."""
        wholes = np.where(self.is_told, self.wholes, np.nan)
        return np.asarray(self._scale * (1 - self.parts / wholes))

    @property
    def alpha_error(self) -> Array:
        """Its standard error, by the delta method."""
        wholes = np.where(self.is_told, self.wholes, np.nan)
        share = self.parts / wholes
        first, both, second = self._terms
        variance = first - 2 * share * both + share**2 * second
        return np.asarray(self._scale * np.sqrt(variance) / wholes)

    def interval(self, width: float) -> tuple[Array, Array]:
        """Return the ends of intervals for α, of so many standard errors.

        They hold the shares t for which part − t whole is within its error of zero (Fieller).
        """
        first, both, second = self._terms
        square = width**2
        top = self.parts * self.wholes - square * both
        bottom = np.maximum(self.wholes**2 - square * second, _LEAST * self.wholes**2)
        rest = self.parts**2 - square * first
        reach = np.sqrt(np.maximum(top**2 - bottom * rest, 0.0))
        low = self._scale * (1 - (top + reach) / bottom)
        high = self._scale * (1 - (top - reach) / bottom)
        told = self.is_told
        return np.where(told, low, -np.inf), np.where(told, np.minimum(high, 1.0), 1.0)

    @property
    def _scale(self) -> Array:
        return np.asarray(self.counts / (self.counts - 1))

    @property
    def _terms(self) -> tuple[Array, Array, Array]:
        return self.variances[:, 0, 0], self.variances[:, 0, 1], self.variances[:, 1, 1]
