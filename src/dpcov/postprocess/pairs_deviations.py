"""Standard deviations beside the strongest pairs: released, stated, or ones; and their errors.

Owns what is known of them. Correlations do not depend on them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.diagonal import diagonal_variance, shrink_diagonal
from dpcov.releases.pairs import PairsRelease

__all__ = ["own_deviations", "relative_deviation_errors"]

Array = npt.NDArray[np.float64]


def own_deviations(release: PairsRelease) -> Array:
    """Return standard deviations in the columns' own units, or ones."""
    deviation = np.sqrt(_variances(release))
    return deviation if release.variances is None else deviation * release.units.scale


def relative_deviation_errors(release: PairsRelease, *, sampled: bool = True) -> Array:
    """Return the standard error of each standard deviation, as a share of it."""
    released = release.variances
    if released is None or released.noise_scale == 0:
        return np.zeros(release.n_columns)
    variances = _variances(release)
    error = diagonal_variance(
        variances,
        noise=released.noise_scale**2,
        sampling=1 / release.n_terms if sampled else 0.0,
        mean_noise=released.noise_of_means,
    )
    return np.asarray(np.sqrt(error) / (2 * variances))


def _variances(release: PairsRelease) -> Array:
    """Return positive variances in working units: public ones, shrunk noisy ones, or ones."""
    released = release.variances
    if released is None:
        return np.ones(release.n_columns)
    if released.noise_scale == 0:
        return released.values
    return shrink_diagonal(
        released.values,
        noise=released.noise_scale**2,
        sampling=1 / release.n_terms,
        mean_noise=released.noise_of_means,
    )
