"""Correlations of signs, and how sure they are.

Owns the way from released co-movements to correlations of signs, with mean signs about learned
centers taken into account. Post-processing: it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.detection import pairs_detectable
from dpcov.privacy import Gaussian, Neighbors, sign_sensitivity
from dpcov.releases.pairs import MeanSigns, PairsRelease

__all__ = ["SignCorrelations", "detectable_correlation", "sign_correlations"]

# A sign that is nearly always the same says little: its variance is taken to be no smaller.
_LEAST_VARIANCE = 1 / 16
# In simulations, one search in a thousand is so many standard errors astray.
_ASTRAY = 5.0
_FEW = 0.02

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SignCorrelations:
    """The noisy correlation of the signs of each released pair, which noise may lead beyond ±1.

    `sd` is its standard error, `null_sd` the one it would have if the columns were unrelated, and
    `noise_sd` its part without that of sampling. `few` counts the columns of a pair that are seen
    to have few values.
    """

    values: Array
    sd: Array
    null_sd: Array
    few: Integers
    noise_sd: Array

    def correlations(self, signs: Array) -> Array:
        """Return the correlation of each pair, if that of its signs were this.

        sin(π/2 · that of signs) for two continuous columns. A column of two values is its sign:
        for two of them it is that of the signs itself; for one, Gaussian cut at its median, it
        is √(2/π) of the first.
        """
        inside = np.clip(signs, -1.0, 1.0)
        curved = np.sin(math.pi / 2 * inside)
        cut = math.sqrt(2 / math.pi)
        result: Array = np.choose(self.few, [curved, cut * curved, inside])
        return result

    def slopes(self, signs: Array) -> Array:
        """Return the derivative of that."""
        inside = np.clip(signs, -1.0, 1.0)
        curved = math.pi / 2 * np.cos(math.pi / 2 * inside)
        cut = math.sqrt(2 / math.pi)
        result: Array = np.choose(self.few, [curved, cut * curved, np.ones_like(inside)])
        return result

    @property
    def standard_errors(self) -> Array:
        """The standard errors of the correlations (delta method)."""
        mean = np.clip(np.abs(self.values), 0.0, 1.0)
        # The sine is flat at 1, where noise often leads: take its slope one sd before.
        slope = self.slopes(np.minimum(mean, np.maximum(0.0, 1 - self.sd)))
        return np.asarray(slope * self.sd)


def sign_correlations(release: PairsRelease) -> SignCorrelations:
    """Return what the released pairs say.

    About a stated center, and of differences, signs are taken to have mean zero. About learned
    centers the mean m of a sign is known up to noise: its variance is 1 − m², and the product
    of two means that was taken out is off by the errors of both.
    """
    noise = (release.noise_scale * release.noise_factors) ** 2
    co_movement, n_terms = release.co_movement, release.n_terms
    if release.mean_signs is None:
        inside = np.clip(co_movement, -1.0, 1.0)
        sampling = (1 - inside**2) / n_terms
        none = np.zeros(len(co_movement), dtype=np.int64)
        return SignCorrelations(
            co_movement,
            np.sqrt(sampling + noise),
            np.sqrt(1 / n_terms + noise),
            none,
            np.sqrt(noise),
        )
    means, error = release.mean_signs.values, release.mean_signs.noise_scale
    variance = _variances(release.mean_signs)
    (first, second), (a, b) = means[release.pairs.T], variance[release.pairs.T]
    scale = np.sqrt(a * b)
    values = co_movement / scale
    inside = np.clip(values, -1.0, 1.0) * scale
    sampling, unrelated = (
        _variance_of_products(release.mean_signs, release.pairs, covariance) / n_terms
        for covariance in (inside, np.zeros_like(inside))
    )
    of_scale = values**2 * ((first / a) ** 2 + (second / b) ** 2) * error**2
    left = noise + _error_of_products(release.mean_signs, release.pairs)
    return SignCorrelations(
        values,
        np.sqrt((sampling + left) / (a * b) + of_scale),
        np.sqrt((unrelated + left) / (a * b)),
        _have_few_values(release, release.mean_signs)[release.pairs.T].sum(axis=0),
        np.sqrt(left / (a * b) + of_scale),
    )


def detectable_correlation(release: PairsRelease) -> float:
    """Return the correlation that the release would have shown with probability one half."""
    factor, left = 1.0, 0.0
    if release.mean_signs is not None:
        relation = release.provenance.calibrated_for.neighbors
        factor = _typical_factor(release.mean_signs, relation)
        expected, sd = release.mean_signs.expected
        left = float((expected**2 + sd**2).mean())
    return pairs_detectable(
        n_columns=release.n_columns,
        n_terms=release.n_terms,
        max_pairs=len(release.pairs),
        selection_scale=factor * release.provenance.selection_scale,
        noise_scale=float(np.hypot(factor * release.noise_scale, left)),
    )


def _have_few_values(release: PairsRelease, signs: MeanSigns) -> Integers:
    """Return 1 where a mean sign is farther from zero than the search for a median explains.

    Then many cells are at one value, at which no center can cut them.
    """
    made = release.provenance
    apart = sign_sensitivity(made.calibrated_for.neighbors) * made.rows_per_unit
    (step,) = (event for event in release.events if event.name == "centers")
    multiplier = step.multiplier if isinstance(step, Gaussian) else 0.0
    one = multiplier * apart * math.sqrt(release.n_columns) / release.n_terms
    astray = _ASTRAY * math.hypot(2 * one, signs.noise_scale)
    return (np.abs(signs.values) > max(astray, _FEW)).astype(np.int64)


def _variances(signs: MeanSigns) -> Array:
    """Return the variances of signs; the square of a noisy mean is too large by its noise."""
    error = signs.noise_scale
    least = min(1.0, max(_LEAST_VARIANCE, 2 * error))
    return np.clip(1 - signs.values**2 + error**2, least, 1.0)


def _variance_of_products(
    signs: MeanSigns, pairs: npt.NDArray[np.int32], covariance: Array
) -> Array:
    """Return the variance of (s − a)(t − b) over people, for signs of a known covariance."""
    (a, b), (m, k) = signs.subtracted[pairs.T], signs.values[pairs.T]
    mean = covariance + (m - a) * (k - b)
    square = (
        (1 + a**2) * (1 + b**2)
        - 2 * a * m * (1 + b**2)
        - 2 * b * k * (1 + a**2)
        + 4 * a * b * (covariance + m * k)
    )
    result: Array = np.maximum(0.0, square - mean**2)
    return result


def _error_of_products(signs: MeanSigns, pairs: npt.NDArray[np.int32]) -> Array:
    """Return the variance of the product of two means about the one that was taken out."""
    expected, sd = signs.expected
    (first, second), (one, other) = expected[pairs.T] ** 2, sd[pairs.T] ** 2
    result: Array = first * other + second * one + one * other
    return result


def _typical_factor(signs: MeanSigns, relation: Neighbors) -> float:
    """Return the noise factor of all pairs, selected or not, in the mean."""
    sizes = np.sort(np.abs(signs.subtracted))
    if relation is Neighbors.ADD_REMOVE:
        return 1 + 2 * float(sizes.mean())
    # The k-th smallest is the larger one in k − 1 pairs.
    places = np.arange(len(sizes))
    return 1 + float((sizes * places).sum() / places.sum())
