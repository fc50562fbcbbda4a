"""How large the numbers of a release can be.

Owns these ranges. `dpcov.release` takes norms from 1e-20 to 1e20, and everything that is
released follows from them; a file that states others was not written by it. Within the ranges
no product that checks a promise is rounded to a subnormal number, or to infinity.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_number

__all__ = ["MOST_ROWS", "MOST_ROWS_PER_UNIT", "check_norm", "check_scale", "check_sizes"]

MOST_ROWS = 1 << 62
"""More rows than any sum has room for."""
MOST_ROWS_PER_UNIT = 10**6
"""What `dpcov.release` takes."""

_SMALLEST_NORM, _LARGEST_NORM = 1e-20, 1e20
# Variances of variances are their fourth powers.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-75, 1e70
# Of numbers that are not zero: the product of two small means is far below any noise.
_SMALLEST, _LARGEST = 1e-120, 1e70
_FARTHEST = 1e240  # of what a caller stated, in units that a caller stated


def check_norm(name: str, value: object) -> float:
    """Return a clipping norm or the bound of a cell, if `dpcov.release` takes it.

    Examples
    --------
    >>> check_norm("row_norm", 2)
    2.0
    """
    low, high = _SMALLEST_NORM, _LARGEST_NORM
    return check_number(name, value, low=low, high=high, open_low=False, open_high=False)


def check_scale(name: str, value: object, *, or_zero: bool = False) -> float:
    """Return the scale of noise, or a squared norm, if a release can have it.

    Examples
    --------
    >>> check_scale("noise scale", 0, or_zero=True)
    0.0
    """
    number = check_number(name, value, low=0, high=_LARGEST_SCALE, open_low=not or_zero)
    if 0 < number < _SMALLEST_SCALE:
        raise ParameterError(f"{name} must be at least {_SMALLEST_SCALE:g}.")
    return number


def check_sizes(name: str, values: npt.NDArray[np.float64], *, stated: bool = False) -> None:
    """Refuse numbers that are not finite, or of a size that no release has.

    Those that a caller stated may be larger and smaller.

    Examples
    --------
    >>> check_sizes("matrix", np.array([0.0, -1.5, 1e20]))
    """
    low, high = (1 / _FARTHEST, _FARTHEST) if stated else (_SMALLEST, _LARGEST)
    size = np.abs(values)
    if not ((size == 0) | ((size >= low) & (size <= high))).all():
        raise ParameterError(f"{name} must be finite, and zero or of size {low:g} to {high:g}.")
