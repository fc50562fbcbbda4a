"""Variances beside the strongest pairs: released with their means, or stated.

Owns what they are and how noisy. They are about the mean: what is about anything else is no
variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.releases.sizes import check_scale, check_sizes

__all__ = ["Variances", "weight_of_means"]

# How far means are from medians, in sd: root mean square of the columns of twenty real tables.
_TYPICAL_MEAN = 0.4


def weight_of_means(row_norm: float, cell_bound: float, n_columns: int) -> float:
    """Return the weight of sums of cells, beside squares, with which variances have least noise.

    A variance S − m² has the noise of S and 2m times that of m. Where S has that of
    √(B² + w²), about what both sums move by, m has a w-th of it; together (B² + w²)(1 + 4m²/w²)
    is least at w² = 2mB. A column's deviation is taken to be R/√p, and m to be as in real tables.
    A mechanism rounds it down to whole steps of its grid.
    """
    typical = _TYPICAL_MEAN * row_norm / math.sqrt(n_columns)
    return min(math.sqrt(2 * typical * cell_bound), cell_bound)


@dataclass(frozen=True, eq=False)
class Variances:
    """The variances of the columns, noisy or public, in working units.

    Parameters
    ----------
    values : ndarray, shape (n_columns,)
        Noisy values may be negative. Read-only.
    noise_scale : float
        The sd of the noise of the mean squares behind them; 0 for public ones.
    means : ndarray, shape (n_columns,), or None
        The noisy means, about the centers, that were taken out of mean squares. None for public
        variances, and for those of differences of rows, which have mean zero. Read-only.
    mean_noise : float, default 0
        The sd of their noise.
    """

    values: npt.NDArray[np.float64]
    noise_scale: float
    means: npt.NDArray[np.float64] | None = None
    mean_noise: float = 0.0

    def __post_init__(self) -> None:
        check_scale("noise scale", self.noise_scale, or_zero=True)
        check_scale("noise of means", self.mean_noise, or_zero=True)
        if self.values.ndim != 1 or self.values.dtype != np.float64:
            raise ParameterError("Variances must be a vector of float64.")
        check_sizes("Variances", self.values, stated=self.noise_scale == 0)
        if self.noise_scale == 0 and not (self.values > 0).all():
            raise ParameterError("Public variances must be positive.")
        self.values.setflags(write=False)
        if (self.means is None) != (self.mean_noise == 0) or (
            self.means is not None and self.noise_scale == 0
        ):
            raise ParameterError("Means belong to noisy variances, and have noise.")
        if self.means is not None:
            if self.means.shape != self.values.shape or self.means.dtype != np.float64:
                raise ParameterError("Means must be a vector of float64, one for each variance.")
            check_sizes("Means", self.means)
            self.means.setflags(write=False)

    @property
    def noise_of_means(self) -> npt.NDArray[np.float64] | float:
        """What the noise of a mean adds to the variance of its variance, divided by four."""
        if self.means is None:
            return 0.0
        # The square of a noisy mean is noisy even where it happens to be released as zero: noise
        # of variance s² is off by 2 s⁴ when squared.
        squared = np.maximum(self.means**2, self.mean_noise**2 / 2)
        return np.asarray(squared * self.mean_noise**2)

    @property
    def noise_sd(self) -> npt.NDArray[np.float64]:
        """The sd of the privacy noise of each variance, that of its mean included."""
        squared = np.full(len(self.values), self.noise_scale**2)
        return np.asarray(np.sqrt(squared + 4 * self.noise_of_means))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variances):
            return NotImplemented
        mine, theirs = ((x.noise_scale, x.mean_noise) for x in (self, other))
        return (
            mine == theirs
            and np.array_equal(self.values, other.values)
            # Where there is no noise of means there are none.
            and (self.means is None or np.array_equal(self.means, other.means))  # type: ignore[arg-type]
        )
