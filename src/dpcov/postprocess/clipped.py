"""What clipping of rows leaves uncertain in second moments, from the release alone.

Owns how much that is: for pairs, for variances, and for columns whose cells can lie far out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from dpcov.releases import Release

__all__ = ["Clipped"]

# Measured: see docs/methods.md.
_PAIR_CLIPPING, _VARIANCE_CLIPPING = 0.35, 0.7
_TAIL_CLIPPING, _PLAIN_REACH, _MOST_CLIPPING = 0.6, 12.0, 0.1
_FARTHEST = 1e6  # squares of deviations; beyond it all columns have the most

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clipped:
    """What clipping of rows leaves uncertain after all moments were lengthened alike.

    Rows of another length may have other directions. On real tables the covariances that one
    factor gives are off by about 0.35 (16/p)^(1/4), and variances by 0.7, of the share by which
    the moments were too small. `covariance` and `variance` are the squares of that, relative to
    what they are about; `factor` is that of the factor's own error. `tails` is how much more
    that is for the variance of each column whose cells can lie far out: its standard deviation
    may be off by half of it, and its covariances with it.
    """

    covariance: float = 0.0
    variance: float = 0.0
    factor: float = 0.0
    tails: Array | float = field(default=0.0, compare=False)

    @classmethod
    def of(cls, release: Release) -> Clipped:
        """Return what is uncertain in a release; nothing is, if nothing is known of clipping."""
        return cls.after(release.factor, release.factor_error, release.n_columns)

    @classmethod
    def after(cls, factor: float, factor_error: float, n_columns: int) -> Clipped:
        """Return what is uncertain after moments were multiplied by a factor with an error."""
        share = (factor - 1) / factor
        error = factor_error / factor
        uncertain = share**2 + error**2
        pair = _PAIR_CLIPPING**2 * math.sqrt(16 / n_columns)
        return cls(pair * uncertain, _VARIANCE_CLIPPING**2 * uncertain + error**2, error**2)

    def with_tails(self, release: Release, variances: Array) -> Clipped:
        """Return the same with what a column may have lost in which cells lie far out.

        Notes
        -----
        A clipped row loses the share 1 − R²/q of its squared norm q > R², and of the square of
        each of its cells, which is at most m. Over all rows that is e and at most e m/R², so a
        column of variance d may have lost e m/(R² d) of it. The row norm R lets a row have one
        such cell, and m/d is 12 or so in columns without tails, which lose what others do.
        """
        if release.learned is None or not self.variance:
            return self
        mean, scale = release.location, release.units.scale
        farthest = np.maximum(release.learned.upper - mean, mean - release.learned.lower) / scale
        squares = np.minimum(farthest**2, _FARTHEST) / np.maximum(variances, 1 / _FARTHEST)
        times = max(release.bound_in_use.value, 0.0) * np.maximum(squares - _PLAIN_REACH, 0.0)
        common = self.variance - self.factor
        most = (_TAIL_CLIPPING / _VARIANCE_CLIPPING * times) ** 2 * common
        more = np.maximum(np.minimum(most, _MOST_CLIPPING**2) - common, 0.0)
        return replace(self, tails=np.where(release.design.is_number, more, 0.0))
