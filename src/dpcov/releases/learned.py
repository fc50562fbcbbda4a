"""What was learned of a table before its moments, and paid for.

Owns these values. Never sees rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.releases.sizes import check_scale, check_sizes

__all__ = ["Clipping", "Known", "Learned"]

Array = npt.NDArray[np.float64]


class Known(IntEnum):
    """How a fact of a column is known."""

    STATED = 0
    LEARNED = 1
    NOT_SEEN = 2
    """It was looked for, and did not stand out of the noise: what is used is a guess."""


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """How many rows were longer than the row norm, and by how much, with the noise of both.

    `share` is of the rows, and `excess` the mean over all rows of how far the squared norm
    exceeds the squared row norm, in working units; either may be negative by its noise. No row
    counts as more than two squared row norms longer: where rows are, `excess` is too small,
    by more than its error says.
    """

    share: float
    share_error: float
    excess: float
    excess_error: float

    def __post_init__(self) -> None:
        for name in ("share", "excess"):
            check_sizes(name, np.array([getattr(self, name)]))
        for name in ("share_error", "excess_error"):
            check_scale(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """How the cells of each column are limited, and how that is known. Read-only arrays.

    Cells beyond `lower` and `upper` are read as these limits, in the data's own units; they are
    infinite where there is none. `beyond` is the noisy share of the rows whose cell is at or
    beyond a limit, and `beyond_error` the sd of its noise; they are None if all facts were
    stated and nothing was asked. `known_range`, `known_center` and `known_scale` say how each
    fact is known, as numbers of `Known`.
    """

    lower: Array
    upper: Array
    beyond: Array | None
    beyond_error: float | None
    known_range: npt.NDArray[np.int8]
    known_center: npt.NDArray[np.int8]
    known_scale: npt.NDArray[np.int8]
    clipping: Clipping

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            self._check_vector(name, np.float64)
            limits = getattr(self, name)
            check_sizes(name, limits[~np.isinf(limits)], stated=True)
        if not (self.lower < self.upper).all():
            raise ParameterError("lower must be below upper.")
        if (self.beyond is None) != (self.beyond_error is None):
            raise ParameterError("beyond has an error, or neither is known.")
        if self.beyond is not None:
            self._check_vector("beyond", np.float64)
            check_sizes("beyond", self.beyond)
            check_scale("beyond_error", self.beyond_error)
        for name in ("known_range", "known_center", "known_scale"):
            self._check_vector(name, np.int8)
            if not np.isin(getattr(self, name), list(Known)).all():
                raise ParameterError(f"{name} must hold numbers from 0 to 2.")
        if not isinstance(self.clipping, Clipping):
            raise ParameterError("clipping must be a Clipping.")

    def _check_vector(self, name: str, kind: type[Any]) -> None:
        vector = getattr(self, name)
        if vector.ndim != 1 or vector.dtype != kind or len(vector) != len(self.lower):
            raise ParameterError(f"{name} must be one number for each column.")
        vector.setflags(write=False)
