"""Correlations as released, and how sure they are.

Owns the error of a correlation: that of the covariance and that of the two standard deviations
it is divided by. An interval holds the correlations ρ that the release does not speak against:
|r − ρ| ≤ z √v(ρ), with the error at ρ and not at r, so that it stays within ±1 and covers
there too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.noise_model import NoiseModel

__all__ = [
    "CorrelationErrors",
    "Released",
    "is_told",
    "released_at",
    "stands_out",
    "unshrunk_deviations",
    "variances_of_correlations",
]

# The width of an interval, of at most 2, beyond which it says nothing of use.
_WIDEST_TOLD = 1.5
# A variance of so many standard errors stands out of its noise.
_STANDS_OUT = 3.0
# A variance that noise has halved or worse is taken as the variances of others say.
_LEAST_OWN = 0.5
# Each settles a share of 1/n of what the one before left open.
_STEPS = 6

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class Released(NamedTuple):
    """Correlations of some pairs as released, and what is known of them: see `Pairs`."""

    values: Array
    standard_error: Array
    low: Array
    high: Array
    told: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CorrelationErrors:
    """The error of some correlations, as it depends on the correlation itself.

    `sampling` is the variance that the choice of rows gives an unrelated pair, `noise` what
    privacy noise and clipping give the covariance in units of both standard deviations, and
    `scale` a quarter of the relative variances of both variances, sampling left out. `cross` is
    how far the errors of the covariance and of both variances go together: nothing, where
    they are entries of a release. `known` says where both variances stand out of their noise:
    elsewhere what was divided by says nothing, and no correlation is excluded.
    """

    sampling: Array
    noise: Array
    scale: Array
    cross: Array | float = 0.0
    known: npt.NDArray[np.bool_] | bool = True

    @classmethod
    def of(cls, noise: NoiseModel, rows: slice, columns: slice = slice(None)) -> CorrelationErrors:
        """Return the errors of a block of entries."""
        table = noise.of_table
        unit = np.outer(noise.variances[rows], noise.variances[columns])
        without = table.block(rows, columns)
        relative, known = relative_variances(noise), stands_out(noise)
        return cls(
            sampling=(noise.block(rows, columns) - without) / unit,
            noise=without / unit,
            scale=np.add.outer(relative[rows], relative[columns]) / 4,
            known=np.logical_and.outer(known[rows], known[columns]),
        )

    @classmethod
    def at(cls, noise: NoiseModel, first: Places, second: Places) -> CorrelationErrors:
        """Return the errors of some pairs, or of all between places that broadcast."""
        nothing = np.zeros(())
        unit = noise.variances[first] * noise.variances[second]
        without = noise.of_table.pair_error(first, second, nothing) ** 2
        relative, known = relative_variances(noise), stands_out(noise)
        return cls(
            sampling=(noise.pair_error(first, second, nothing) ** 2 - without) / unit,
            noise=without / unit,
            scale=(relative[first] + relative[second]) / 4,
            known=known[first] & known[second],
        )

    def about_table(self) -> CorrelationErrors:
        """Return the errors about the table itself."""
        return replace(self, sampling=np.zeros_like(self.sampling))

    def variance(self, correlation: Array) -> Array:
        """Return the variance of a released correlation, if this were the true one.

        That of sampling is (1 − ρ²)²/n for Gaussian rows: variances move with the covariance.
        Their privacy noise does not (delta method).
        """
        square = correlation**2
        fixed = self.noise - self.cross * correlation + self.scale * square
        return np.asarray(self.sampling * (1 - square) ** 2 + fixed)

    def interval(self, released: Array, width: float) -> tuple[Array, Array]:
        """Return the ends of intervals of so many standard errors, within ±1.

        They are ±1 where a variance is within its noise.
        `released` lies within ±1. What noise led beyond was brought back first, toward every
        possible truth, so that no interval covers less for it, and none is empty.
        """
        spread = width**2 * self.scale
        open_ended = (spread >= 1) | ~np.asarray(self.known)
        spread = np.where(open_ended, 0.0, spread)
        shift = width**2 * self.cross / 2
        ends = []
        for sign in (-1.0, 1.0):
            end = released
            for _ in range(_STEPS):
                # (r − ρ)² = z² v(ρ) is a quadratic equation but for the part of sampling.
                rest = width**2 * (self.sampling * (1 - end**2) ** 2 + self.noise)
                square = spread * released**2 + (1 - spread) * rest
                root = np.sqrt(np.maximum(square - shift * (2 * released - shift), 0.0))
                end = np.clip((released - shift + sign * root) / (1 - spread), -1.0, 1.0)
            ends.append(np.where(open_ended, sign, end))
        return ends[0], ends[1]


def unshrunk_deviations(matrix: Array, noise: NoiseModel) -> Array:
    """Return what released covariances are divided by: deviations of their own, not shrunk.

    A shrunk one is nearer to the truth on average, and off in a direction that no error says: it
    would move all correlations of an unusual column.
    """
    return np.asarray(np.sqrt(np.maximum(np.diag(matrix), _LEAST_OWN * noise.variances)))


def variances_of_correlations(
    noise: NoiseModel, covariance: Array, rows: Places, columns: Places
) -> Array:
    """Return how well the correlations between some rows and columns of a matrix are known."""
    deviation = np.sqrt(noise.variances)
    values = covariance[np.ix_(rows, columns)]
    values = values / np.outer(deviation[rows], deviation[columns])
    errors = CorrelationErrors.at(noise, rows[:, None], columns)
    return errors.variance(np.clip(values, -1.0, 1.0))


def relative_variances(noise: NoiseModel) -> Array:
    """Return the variance of each variance relative to its square, sampling left out.

    What a column lost in far cells is left out, too: its covariances lost as much.
    """
    table = noise.of_table.without_tails
    return np.asarray(table.diagonal_variance() / noise.variances**2)


def stands_out(noise: NoiseModel) -> npt.NDArray[np.bool_]:
    """Return which columns have a variance that stands out of its noise."""
    return np.asarray(relative_variances(noise) <= _STANDS_OUT**-2)


def released_at(values: Array, errors: CorrelationErrors, width: float) -> Released:
    """Return correlations, within ±1, with intervals of so many standard errors."""
    low, high = errors.interval(values, width)
    return Released(values, np.sqrt(errors.variance(values)), low, high, is_told(low, high))


def is_told(low: Array, high: Array) -> npt.NDArray[np.bool_]:
    """Return which intervals are short enough to say something."""
    return np.asarray(high - low < _WIDEST_TOLD)
