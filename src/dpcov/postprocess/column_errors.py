"""How sure means, standard deviations and covariances are, in the columns' own units.

Owns these errors as they are published: privacy noise, sampling, and what clipping of rows leaves
uncertain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.pairs_estimate import PairsEstimate
from dpcov.postprocess.pairs_table import Pairs

__all__ = ["covariances_of", "deviation_errors", "mean_errors"]

Array = npt.NDArray[np.float64]


def mean_errors(estimate: Estimate | PairsEstimate) -> Array | None:
    """Return the standard error of each released mean; None if none was released.

    Of privacy noise, of sampling, and of what clipping of rows leaves uncertain.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> bool((mean_errors(estimate) > 20_000**-0.5).all())
    True
    """
    scale = estimate.release.units.scale
    if not estimate.release.has_mean:
        return None
    if isinstance(estimate, Estimate):
        return np.asarray(np.sqrt(estimate.noise.mean_variance()) * scale)
    release = estimate.release
    noise = 0.0 if release.variances is None else release.variances.mean_noise
    sampling = estimate.released_deviations**2 / release.n_rows
    return np.asarray(np.sqrt((scale * noise) ** 2 + sampling))


def deviation_errors(estimate: Estimate | PairsEstimate) -> Array | None:
    """Return the standard error of each standard deviation (delta method).

    None if variances were not released; zeros if they were stated.
    """
    kind = estimate.release.variances_are
    if kind == "not released":
        return None
    deviation = estimate.released_deviations
    if kind == "stated":
        return np.zeros_like(deviation)
    if not isinstance(estimate, Estimate):
        return np.asarray(estimate.relative_deviation_errors * deviation)
    noise = estimate.noise
    return np.asarray(np.sqrt(noise.diagonal_variance()) / (2 * noise.variances) * deviation)


def covariances_of(estimate: Estimate | PairsEstimate, pairs: Pairs) -> tuple[Array, Array]:
    """Return the covariances of some pairs as released, and their standard errors.

    Of a release without variances these are correlations.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> value, error = covariances_of(estimate, estimate.pairs())
    >>> bool(np.allclose(value, estimate.release.matrix[[0, 0, 1], [1, 2, 2]]))
    True
    """
    first, second = pairs.first, pairs.second
    if isinstance(estimate, Estimate):
        scale = estimate.release.units.scale
        own = scale[first] * scale[second]
        error = estimate.noise.pair_error(first, second, estimate.covariance[first, second] / own)
        return estimate.release.matrix[first, second] * own, error * own
    deviation, relative = estimate.released_deviations, estimate.relative_deviation_errors
    unit = deviation[first] * deviation[second]
    both = relative[first] ** 2 + relative[second] ** 2
    error = np.sqrt(pairs.standard_error**2 + pairs.released**2 * both)
    return pairs.released * unit, error * unit
