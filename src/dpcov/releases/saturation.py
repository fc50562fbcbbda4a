"""Saturation: how much of its bound on row norms a release uses, and a warning when it is all.

Owns both. They read the release alone, so they cost no privacy.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcov.errors import SaturationWarning

if TYPE_CHECKING:
    from dpcov.releases.release import Release

__all__ = ["BoundInUse", "bound_in_use", "is_saturated", "warn_of_saturation"]

# Rows that are not clipped rarely use as much; two errors below is still far more than usual.
_NEARLY, _AT_LEAST = 0.9, 0.8
_UNKNOWN = 0.25  # with a larger error than this, nothing can be told


@dataclass(frozen=True)
class BoundInUse:
    """The mean squared norm of clipped rows, as a share of what the bound allows.

    Parameters
    ----------
    value : float
        An unbiased estimate of it, which noise may bring below 0 or above 1. The truth is 1 when
        all rows are as long as the bound, as when all were clipped to it.
    standard_error : float
        The sd of the noise of `value`, with independent noise of the variances.
    """

    value: float
    standard_error: float


def bound_in_use(release: Release) -> BoundInUse:
    """Return what share of its bound a release uses; see `Release.bound_in_use`."""
    noise, bound = release.noise_scale, release.provenance.row_norm**2
    # Of the rows as they were clipped, before what that took away was made up for.
    matrix, mean = release.raw
    diagonal = np.diag(matrix) / release.factor
    # About zero instead of the mean; the square of a noisy mean was made unbiased before.
    total = float(diagonal.sum())
    if mean is not None:
        total += float(mean @ mean) - len(mean) * noise.mean**2
    growing = 4 * noise.signal * float(np.maximum(diagonal, 0).sum())
    error = math.sqrt(len(diagonal) * (noise.diagonal / release.factor) ** 2 + growing)
    return BoundInUse(total / bound, error / bound)


def is_saturated(release: Release) -> bool:
    """Return whether nearly all of the bound is in use, so that most rows were clipped to it.

    If noise does not let tell, it is not.
    """
    used = release.bound_in_use
    if used.standard_error > _UNKNOWN or used.value <= _NEARLY:
        return False
    return used.value - 2 * used.standard_error >= _AT_LEAST


def warn_of_saturation(release: Release) -> None:
    """Warn when nearly all of the bound is in use, if that can be told.

    Examples
    --------
    >>> import dpcov
    >>> rows = np.random.default_rng(0).normal(size=(2800, 25))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=0.5)
    >>> caught[0].category.__name__
    'SaturationWarning'
    """
    if is_saturated(release):
        used = release.bound_in_use
        warnings.warn(
            f"Nearly all rows are as long as row_norm = {release.provenance.row_norm:g} allows: "
            f"their mean squared norm is {used.value:.2f} ± {used.standard_error:.2g} of its "
            "square. Most were clipped to it, and variances are too small, unless all rows are "
            "meant to have this norm. This was read from the release, for free. State a larger "
            "row_norm from knowledge, or none, to have it learned.",
            SaturationWarning,
            stacklevel=3,
        )
