"""Units: where the zero of each column is, and what counts as one.

Owns the way from the data's own units to working units and back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError

__all__ = ["LARGEST_FACT", "Units"]

LARGEST_FACT = 1e100
"""No center, bound or scale is larger, and no scale smaller than its inverse."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Units:
    """A cell x of a column stands for (x − center) / scale.

    Parameters
    ----------
    center, scale : ndarray of float64, shape (n_columns,)
        In the data's own units. Read-only; scales are positive.

    Examples
    --------
    >>> units = Units(np.array([40.0, 0.0]), np.array([20.0, 1.0]))
    >>> units.to_own(np.array([[0.5, 0.1], [0.1, 1.0]]))
    array([[200.,   2.],
           [  2.,   1.]])
    """

    center: Array
    scale: Array

    def __post_init__(self) -> None:
        for name in ("center", "scale"):
            vector = getattr(self, name)
            if vector.ndim != 1 or vector.dtype != np.float64 or len(vector) != len(self.scale):
                raise ParameterError(f"{name} must be one number for each column.")
            if not (np.abs(vector) <= LARGEST_FACT).all():
                raise ParameterError(f"{name} must be finite.")
            vector.setflags(write=False)
        if not (self.scale >= 1 / LARGEST_FACT).all():
            raise ParameterError("scale must be positive.")

    @classmethod
    def plain(cls, n_columns: int) -> Units:
        """Return the units of data that are taken as they are."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    @property
    def is_plain(self) -> bool:
        """Whether one is one in all columns."""
        return bool((self.scale == 1).all())

    def to_own(self, matrix: Array, rows: slice = slice(None)) -> Array:
        """Return second moments, or some rows of them, in the data's own units."""
        # The product of two scales is the same number for (i, j) and (j, i).
        return matrix if self.is_plain else matrix * np.outer(self.scale[rows], self.scale)

    def to_working(self, matrix: Array, rows: slice = slice(None)) -> Array:
        """Return second moments, or some rows of them, in working units."""
        return matrix if self.is_plain else matrix / np.outer(self.scale[rows], self.scale)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Units):
            return NotImplemented
        return np.array_equal(self.center, other.center) and np.array_equal(self.scale, other.scale)

    __hash__ = None  # type: ignore[assignment]
