"""Working moments: of the values and the indicators of gaps, as they came out of the mechanism.

Owns that value. What a reader wants follows from it: `dpcov.releases.pairwise`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.errors import ParameterError
from dpcov.releases.sizes import check_sizes

__all__ = ["WorkingMoments"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkingMoments:
    """Noisy moments of all working columns of a table with categories or gaps.

    Parameters
    ----------
    design : Design
        Which working columns there are.
    matrix : ndarray, shape (n_working, n_working)
        Their noisy second moments about their mean. Read-only.
    mean : ndarray, shape (n_working,)
        Their noisy mean. Read-only.
    observed : ndarray, shape (n_gaps,)
        The shares that indicators are about: those of learning, or 1.
    """

    design: Design
    matrix: Array
    mean: Array
    observed: Array

    def __post_init__(self) -> None:
        size = self.design.n_working
        shapes = {"matrix": (size, size), "mean": (size,), "observed": (self.design.n_gaps,)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.float64:
                raise ParameterError(f"{name} must be float64 and have the shape {shape}.")
            check_sizes(name, array)
            array.setflags(write=False)
        if not ((self.observed > 0) & (self.observed <= 1)).all():
            raise ParameterError("observed must be shares of cells.")
        if not np.array_equal(self.matrix, self.matrix.T):
            raise ParameterError("matrix must be symmetric.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkingMoments):
            return NotImplemented
        return self.design == other.design and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("matrix", "mean", "observed")
        )

    __hash__ = None  # type: ignore[assignment]
