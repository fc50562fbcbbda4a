"""Noise scales on an integer grid, rounded toward more noise.

Owns the rounding: a variance goes in as an exact fraction, and what comes out is a scale
that the sampler draws and whose square is no smaller.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpcov.errors import ParameterError

__all__ = ["MAX_SCALE", "SCALE_BITS", "frobenius_scales", "round_scale_up", "scale_of"]

SCALE_BITS = 32
"""A scale has at most so many significant bits."""
MAX_SCALE = (2**SCALE_BITS - 1) << 24
"""The largest scale: 56 bits, so that a sum of 62 bits plus noise fits a 64-bit integer."""


def round_scale_up(value: int) -> int:
    """Return the smallest scale that the sampler draws and is at least `value`.

    Less than 1e-9 is given away.

    Examples
    --------
    >>> round_scale_up(4), round_scale_up(2**40 + 1) - 2**40
    (4, 512)
    """
    scale = max(1, value)
    shift = max(0, scale.bit_length() - SCALE_BITS)
    rounded = -(-scale >> shift) << shift
    if rounded > MAX_SCALE:
        raise ParameterError("The noise scale is beyond 56 bits; use fewer bits for the grid.")
    return rounded


def scale_of(variance: Fraction) -> int:
    """Return the smallest scale whose square is at least `variance`.

    Examples
    --------
    >>> scale_of(Fraction(100)), scale_of(Fraction(201, 2))
    (10, 11)
    """
    whole = -(-variance.numerator // variance.denominator)
    root = isqrt(whole)
    return round_scale_up(root if root * root == whole else root + 1)


def frobenius_scales(variance: Fraction) -> tuple[int, int]:
    """Return the scales off and on the diagonal whose noise has this variance, or more.

    The variance is that of every coordinate that is orthonormal for the Frobenius norm:
    the entries of the diagonal, and √2 times those above it.

    Examples
    --------
    >>> frobenius_scales(Fraction(200))
    (10, 15)
    """
    return scale_of(variance / 2), scale_of(variance)
