"""Variances: the noisy diagonal, shrunk toward its mean and kept positive.

Owns the diagonal. It is never thresholded: a variance of zero is not a finding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["diagonal_variance", "kept_shares", "shrink_diagonal", "within_limits"]

Numbers = npt.NDArray[np.float64] | float

# Below a tenth of its noise a variance cannot be told from zero.
_FLOOR_IN_NOISE = 0.1


def diagonal_variance(
    variances: npt.NDArray[np.float64],
    *,
    noise: Numbers,
    sampling: Numbers,
    signal_noise: float = 0.0,
    mean_noise: Numbers = 0.0,
    clipping: float = 0.0,
) -> npt.NDArray[np.float64]:
    """Return the variance of each released variance: privacy noise, sampling and clipping.

    `noise` is the variance of the first. A Gaussian variance σ² estimated from n rows has sampling
    variance 2σ⁴/n, `sampling` being 1/n; clipping of rows leaves it uncertain by a share of σ².
    """
    relative = (2.0 * sampling + clipping) * variances**2
    # A noisy variance may be negative; noise that grows with it never is.
    growing = signal_noise * np.maximum(variances, 0.0) + mean_noise
    return np.asarray(noise + 4.0 * growing + relative)


def shrink_diagonal(
    noisy: npt.NDArray[np.float64],
    *,
    noise: Numbers,
    sampling: Numbers,
    signal_noise: float = 0.0,
    mean_noise: Numbers = 0.0,
    clipping: float = 0.0,
) -> npt.NDArray[np.float64]:
    """Return positive variances: James–Stein shrinkage toward their mean, floored.

    Examples
    --------
    >>> noisy = np.array([1.0, 1.2, 0.6, 0.4, 0.8])
    >>> shrink_diagonal(noisy, noise=1.0, sampling=0.01).round(2)
    array([0.8, 0.8, 0.8, 0.8, 0.8])
    >>> shrink_diagonal(np.array([1.0, 2.0, 9.0]), noise=1e-4, sampling=1e-6).round(2)
    array([1., 2., 9.])
    """
    kept = kept_shares(
        noisy,
        noise=noise,
        sampling=sampling,
        signal_noise=signal_noise,
        mean_noise=mean_noise,
        clipping=clipping,
    )
    mean = noisy.mean()
    shrunk = mean + kept * (noisy - mean)
    floored: npt.NDArray[np.float64] = np.maximum(shrunk, _FLOOR_IN_NOISE * np.sqrt(noise))
    return floored


def kept_shares(
    noisy: npt.NDArray[np.float64],
    *,
    noise: Numbers,
    sampling: Numbers,
    signal_noise: float = 0.0,
    mean_noise: Numbers = 0.0,
    clipping: float = 0.0,
) -> npt.NDArray[np.float64]:
    """Return which share of its distance from their mean each variance keeps when it is shrunk."""
    size = len(noisy)
    spread = noisy.var(ddof=1) if size > 1 else 0.0
    # James and Stein's estimator is better than none from four columns on, with this factor or
    # up to twice as much. Equal variances show a spread as well, with a relative sd of
    # √(2/(size − 1)): counting that much of it as noise halves the largest error when noise is
    # all there is. A weight for each column keeps huge variances from dragging small ones along.
    factor = max(0, size - 3) / (size - 1) * (1 + (2 / (size - 1)) ** 0.5) if size > 1 else 0.0
    error = factor * diagonal_variance(
        noisy,
        noise=noise,
        sampling=sampling,
        signal_noise=signal_noise,
        mean_noise=mean_noise,
        clipping=clipping,
    )
    weight = np.divide(error, spread, out=np.ones(size), where=error < spread)
    return np.asarray(1.0 - np.where(error > 0, weight, 0.0))


def within_limits(
    deviations: npt.NDArray[np.float64],
    limits: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None,
) -> npt.NDArray[np.float64]:
    """Return standard deviations, none above half of the range that cells were limited to.

    No column within a range can have a larger one (Popoviciu 1935). `limits` is None if none are
    known.

    Examples
    --------
    >>> within_limits(np.array([0.565, 0.3]), (np.array([1.0, 1.0]), np.array([2.0, 2.0])))
    array([0.5, 0.3])
    """
    if limits is None:
        return deviations
    lower, upper = limits
    return np.asarray(np.fmin(deviations, (upper - lower) / 2))
