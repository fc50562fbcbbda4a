"""Weights: what is known of the weights of rows, with noise.

Owns that value, and the number of rows that weigh as much as all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcov.parameters import check_number
from dpcov.releases.noise_scale import NoiseScale
from dpcov.releases.sizes import check_scale

__all__ = ["Weights"]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much the rows of a table count, in units of the public bound of a weight.

    Parameters
    ----------
    bound : float
        The bound of a weight. Weights beyond it were read as the bound, and others than numbers
        above zero as 0.
    mean, mean_square : float
        The noisy averages over all rows of the weights and of their squares, in units of the
        bound; the first is positive.
    error : float
        The sd of the noise of both.
    constant : float
        The constant that stands in every row beside its working cells, for the mean.

    Examples
    --------
    >>> weights = Weights(bound=10, mean=0.2, mean_square=0.08, error=0.001, constant=1.0)
    >>> round(weights.effective_rows(1000))
    500
    """

    bound: float
    mean: float
    mean_square: float
    error: float
    constant: float

    def __post_init__(self) -> None:
        for name in ("bound", "mean", "constant"):
            check_number(name, getattr(self, name), low=0.0, high=1e100)
        check_number("mean_square", self.mean_square, low=-1e100, high=1e100)
        check_scale("error", self.error)

    def noise_scale(self, noise: NoiseScale) -> NoiseScale:
        """Return the noise of weighted averages, given that of sums over all rows."""
        return NoiseScale(
            noise.off_diagonal / self.mean,
            noise.diagonal / self.mean,
            mean=noise.off_diagonal / (self.mean * self.constant),
        )

    @property
    def may_count(self) -> bool:
        """Whether all weights may be 0 or 1, so that they count the complete rows.

        Their average is then that of their squares, up to its noise.
        """
        return self.bound == 1 and abs(self.mean - self.mean_square) <= 4 * 2**0.5 * self.error

    def effective_rows(self, n_rows: int) -> float:
        """Return how many rows of equal weight have the same sampling error: n w̄² / mean of w².

        No more than all of them, and no fewer than two.
        """
        # Squares average to at least the squared average, whatever the noise says.
        square = max(self.mean_square, self.mean**2)
        return float(max(2.0, n_rows * self.mean**2 / square))
