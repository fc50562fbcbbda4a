"""Ratios of two noisy numbers: which of them the numbers do not refute.

Owns Fieller's interval.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ratio_interval"]

_LEAST = 1e-3
"""Where the interval would have no end, this share of the squared denominator is left of it."""

Array = npt.NDArray[np.float64]


def ratio_interval(
    top: Array, bottom: Array, top_noise: Array, bottom_noise: Array, width: float
) -> tuple[Array, Array]:
    """Return the ends of the ratios t for which top − t bottom is within so many sd of zero.

    Noise is given as variances, and is not correlated (Fieller 1954). A denominator must stand
    out of its noise by more than `width`, or the interval is too long to say anything.

    Examples
    --------
    >>> low, high = ratio_interval(*np.array([[6.0], [2.0], [0.04], [0.01]]), 1.96)
    >>> low.round(2), high.round(2)
    (array([2.67]), array([3.39]))
    """
    square = np.maximum(bottom**2 - width**2 * bottom_noise, _LEAST * bottom**2)
    middle = top * bottom / square
    inner = middle**2 - (top**2 - width**2 * top_noise) / square
    reach = np.sqrt(np.maximum(inner, 0.0))
    return middle - reach, middle + reach
