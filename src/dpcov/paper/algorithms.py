"""The paper's algorithms, as printed: floating-point noise, no clipping, diagonal thresholded.

Owns the transcription of Wang and Xu (2019). Every result carries the promise that the
paper claims and the one that holds. For data about people use `dpcov.release`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.paper.promises import ActualPromise, actual_promise, noise_multiplier
from dpcov.parameters import check_number
from dpcov.privacy import ApproxDP, Neighbors

__all__ = [
    "PaperResult",
    "dp_thresholding",
    "ldp_thresholding",
    "perturbed_covariance",
    "printed_threshold",
    "symmetric_noise",
    "threshold_and_clip",
]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PaperResult:
    """What an algorithm of the paper returns, with its claimed and its actual promise.

    Parameters
    ----------
    matrix : ndarray, shape (p, p)
        The result: Σ⁺, or Σ̃ for `perturbed_covariance`.
    perturbed : ndarray, shape (p, p)
        Σ̃, the noisy empirical covariance.
    noise_scale : float
        σ₁, the sd of the noise of its entries.
    threshold : float or None
        The threshold, where there is one.
    claimed : ApproxDP
        What the paper claims.
    actual : ActualPromise
        What holds.
    """

    matrix: Array
    perturbed: Array
    noise_scale: float
    threshold: float | None
    claimed: ApproxDP
    actual: ActualPromise


def perturbed_covariance(
    X: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    row_norm: float | None = None,
    seed: int | None = None,
) -> PaperResult:
    """Equation 7: the empirical covariance plus a symmetric Gaussian matrix.

    Parameters
    ----------
    X : array, shape (n, p)
        Rows, used as they are.
    epsilon, delta : float
        As claimed. The paper's formula is proved for epsilon < 1.
    row_norm : float, optional
        The largest norm that a row can have, for the actual promise.
    seed : int, optional
        For repeatable noise.

    Examples
    --------
    >>> result = perturbed_covariance(np.eye(3), epsilon=1.0, delta=0.01, row_norm=1.0, seed=0)
    >>> round(result.noise_scale, 4)
    1.0358
    """
    rows, claimed = _rows(X), ApproxDP(epsilon, delta, Neighbors.REPLACE)
    scale = noise_multiplier(claimed) / len(rows)
    noise = symmetric_noise(rows.shape[1], scale, np.random.default_rng(seed))
    perturbed = rows.T @ rows / len(rows) + noise
    actual = actual_promise(claimed, row_norm)
    return PaperResult(perturbed, perturbed, scale, None, claimed, actual)


def dp_thresholding(
    X: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    gamma: float,
    row_norm: float | None = None,
    seed: int | None = None,
) -> PaperResult:
    """Algorithm 1: perturb, threshold every entry, set negative eigenvalues to zero.

    Parameters
    ----------
    X, epsilon, delta, row_norm, seed
        See `perturbed_covariance`.
    gamma : float
        The constant of the threshold, which the paper leaves open.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(100, 3)) / 3
    >>> result = dp_thresholding(rows, epsilon=1.0, delta=0.01, gamma=0.0, seed=0)
    >>> round(result.threshold, 3)
    0.13
    >>> print(result.actual)
    none: row norms are not bounded
    """
    first = perturbed_covariance(X, epsilon=epsilon, delta=delta, row_norm=row_norm, seed=seed)
    n_rows = len(np.asarray(X))
    threshold = printed_threshold(len(first.matrix), n_rows, first.noise_scale, gamma)
    return _finish(first.perturbed, threshold, first.noise_scale, first.claimed, first.actual)


def ldp_thresholding(
    X: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    gamma: float,
    literal: bool = False,
    row_norm: float | None = None,
    seed: int | None = None,
) -> PaperResult:
    """Algorithm 2: each person perturbs x xᵀ; the server averages, thresholds and clips.

    Parameters
    ----------
    X, epsilon, delta, gamma, row_norm, seed
        See `dp_thresholding`.
    literal : bool, default False
        Simulate every person's noise. Otherwise add the average of n Gaussian matrices,
        which is one Gaussian matrix with an n-th of the variance: the same law.
    """
    rows, claimed = _rows(X), ApproxDP(epsilon, delta, Neighbors.REPLACE)
    n_rows, size = rows.shape
    generator = np.random.default_rng(seed)
    scale = noise_multiplier(claimed)
    perturbed = rows.T @ rows / n_rows
    if literal:
        for _ in range(n_rows):
            perturbed = perturbed + symmetric_noise(size, scale, generator) / n_rows
    else:
        perturbed = perturbed + symmetric_noise(size, scale / math.sqrt(n_rows), generator)
    averaged_scale = scale / math.sqrt(n_rows)
    threshold = printed_threshold(size, n_rows, averaged_scale, gamma)
    actual = actual_promise(claimed, row_norm)
    return _finish(perturbed, threshold, averaged_scale, claimed, actual)


def _rows(X: npt.ArrayLike) -> Array:
    rows = np.asarray(X)
    if rows.ndim != 2 or len(rows) < 1 or rows.shape[1] < 2 or rows.dtype.kind not in "biuf":
        raise InputError("X must be a 2-D array of real numbers with at least two columns.")
    return rows.astype(np.float64, copy=False)


def symmetric_noise(size: int, scale: float, generator: np.random.Generator) -> Array:
    """Draw an i.i.d. upper triangle, diagonal included, and copy it to the lower one."""
    upper = np.triu(generator.normal(scale=scale, size=(size, size)))
    return upper + np.triu(upper, k=1).T


def printed_threshold(size: int, n_rows: int, noise_scale: float, gamma: float) -> float:
    """γ √(log p / n) + 4 σ₁ √(log p), equations 10 and 28."""
    gamma = check_number("gamma", gamma, low=0.0, high=math.inf, open_low=False)
    root = math.sqrt(math.log(size))
    return gamma * root / math.sqrt(n_rows) + 4.0 * noise_scale * root


def threshold_and_clip(perturbed: Array, threshold: float) -> Array:
    """Set small entries to zero, the diagonal's too, then negative eigenvalues: steps 2 and 3."""
    kept = np.where(np.abs(perturbed) > threshold, perturbed, 0.0)
    values, vectors = np.linalg.eigh(kept)
    root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return root @ root.T


def _finish(
    perturbed: Array,
    threshold: float,
    noise_scale: float,
    claimed: ApproxDP,
    actual: ActualPromise,
) -> PaperResult:
    matrix = threshold_and_clip(perturbed, threshold)
    return PaperResult(matrix, perturbed, noise_scale, threshold, claimed, actual)
