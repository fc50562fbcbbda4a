"""What was learned of a table before its moments, and paid for.

Owns these values. Never sees rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.privacy import ApproxDP, gaussian_scale
from dpcov.releases.sizes import check_scale, check_sizes

__all__ = [
    "EXCESS_REACH",
    "MOST_TAIL",
    "RADIUS_NOISE",
    "RADIUS_STEPS",
    "RADIUS_TAIL",
    "Clipping",
    "Known",
    "Learned",
    "is_narrow",
    "tails_are_blurred",
]

Array = npt.NDArray[np.float64]

# By these a file says something that can be computed again; other values need another schema.
RADIUS_TAIL = 4.0
"""The share of rows that are shortened: so many noise multipliers of the moments, times the
number of columns over that of rows."""
RADIUS_NOISE = 2.5
"""… or so many noise sd of a count, if that is more."""
RADIUS_STEPS = 7
"""Halvings of the squared norms among which a radius is sought: of 128 bins, one is left."""
MOST_TAIL = 0.5
"""No larger share is left beyond a quantile, however large the noise is."""
EXCESS_REACH = 2.0
"""How far rows are longer is measured up to so many squared radii."""

_RANGE_SHARE, _RANGE_ANSWERS, _RANGE_NOISE = 0.04, 9, 4.0
"""The search for a range by default: its share of the budget, its answers, and how many noise sd
of a count a tail must have."""
_BLURRED_TAIL = 0.2
"""Narrow bounds are limits as they stand where noise lets no smaller tail be sought."""
_NARROW = 10
"""Bounds between whole numbers no farther apart are those of answers, as 0/1 and 1 to 7 are."""

# Measured on real tables, in units of the wanted share times the squared row norm.
_USUAL_EXCESS, _USUAL_SPREAD = 0.3, 0.25


def tails_are_blurred(
    promise: ApproxDP, *, n_rows: int, n_columns: int, rows_per_unit: int = 1
) -> bool:
    """Return whether only a large tail of a column could be told from noise, by public facts.

    Then a search for limits may end anywhere in a column of which most cells are equal, and
    narrow bounds are limits as they stand.

    Examples
    --------
    >>> promise = ApproxDP(1.0, 1e-6, "replace")
    >>> [tails_are_blurred(promise, n_rows=n, n_columns=12) for n in (4_000, 5_000)]
    [True, False]
    """
    whole = gaussian_scale(epsilon=promise.epsilon, delta=promise.delta)
    noise = rows_per_unit * whole * math.sqrt(n_columns * _RANGE_ANSWERS / _RANGE_SHARE)
    return _RANGE_NOISE * noise > _BLURRED_TAIL * n_rows


def is_narrow(lower: Array, upper: Array) -> npt.NDArray[np.bool_]:
    """Return which bounds are whole numbers at most 10 apart, as those of answers are."""
    whole = (lower == np.rint(lower)) & (upper == np.rint(upper))
    with np.errstate(invalid="ignore"):  # two infinite bounds are no distance apart
        narrow: npt.NDArray[np.bool_] = whole & (upper - lower <= _NARROW)
    return narrow


class Known(IntEnum):
    """How a fact of a column is known."""

    STATED = 0
    LEARNED = 1
    NOT_SEEN = 2
    """It was looked for, and did not stand out of the noise: what is used is a guess."""


@dataclass(frozen=True, kw_only=True)
class Clipping:
    """How many rows were longer than the row norm, and by how much, with the noise of both.

    `wanted` is the share of rows for which the row norm was chosen, from public facts. `share`
    is the share that was found, and `excess` the mean over all rows of how far the squared norm
    exceeds the squared row norm, in working units; either may be negative by its noise. No row
    counts as more than two squared row norms longer: where rows are, `excess` is too small,
    by more than its error says.
    """

    wanted: float
    share: float
    share_error: float
    excess: float
    excess_error: float

    def __post_init__(self) -> None:
        for name in ("share", "excess"):
            check_sizes(name, np.array([getattr(self, name)]))
        for name in ("share_error", "excess_error"):
            check_scale(name, getattr(self, name))
        check_number("wanted", self.wanted, low=0.0, high=1.0)

    @classmethod
    def usual(
        cls, *, wanted: float, row_norm: float, share_error: float, excess_error: float
    ) -> Clipping:
        """Return what real tables have, for a forecast."""
        return cls(
            wanted=wanted,
            share=wanted,
            share_error=share_error,
            excess=_USUAL_EXCESS * wanted * row_norm**2,
            excess_error=excess_error,
        )

    def likely_excess(self, row_norm: float) -> tuple[float, float]:
        """Return the excess and its error, given also what real tables have.

        There the excess is 0.3 ± 0.25 of the share that is longer times the squared norm; both
        are weighted by their precision. That share is the wanted one, unless clearly fewer were
        found: where rows are many the norm is larger than was wanted.
        """
        most = max(self.share, 0.0) + 2 * self.share_error
        usual = min(self.wanted, most) * row_norm**2
        weights = np.array([1 / self.excess_error**2, 1 / (_USUAL_SPREAD * usual) ** 2])
        values = np.array([self.excess, _USUAL_EXCESS * usual])
        likely = float(weights @ values / weights.sum())
        return max(likely, 0.0), float(1 / np.sqrt(weights.sum()))


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """How the cells of each column are limited, and how that is known. Read-only arrays.

    Parameters
    ----------
    lower, upper : ndarray, shape (n_columns,)
        The limits: cells beyond them were read as these. In the data's own units.
    beyond : ndarray, shape (n_columns,)
        The noisy share of the rows whose cell is beyond a limit.
    beyond_error : float
        The sd of its noise.
    known_range, known_center, known_scale : ndarray of int8, shape (n_columns,)
        How each fact is known: 0 if it was stated, 1 if it was learned, and 2 if it was looked
        for and did not stand out of the noise, so that a guess is used.
    clipping : Clipping
        How many rows were longer than the row norm, and by how much.
    """

    lower: Array
    upper: Array
    beyond: Array
    beyond_error: float
    known_range: npt.NDArray[np.int8]
    known_center: npt.NDArray[np.int8]
    known_scale: npt.NDArray[np.int8]
    clipping: Clipping

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "beyond"):
            self._check_vector(name, np.float64)
            check_sizes(name, getattr(self, name), stated=True)
        if not (self.lower < self.upper).all():
            raise ParameterError("lower must be below upper.")
        check_scale("beyond_error", self.beyond_error, or_zero=True)
        for name in ("known_range", "known_center", "known_scale"):
            self._check_vector(name, np.int8)
            if not np.isin(getattr(self, name), list(Known)).all():
                raise ParameterError(f"{name} must hold numbers from 0 to 2.")
        self._check_known()
        if not isinstance(self.clipping, Clipping):
            raise ParameterError("clipping must be a Clipping.")

    def _check_known(self) -> None:
        """Refuse what no column can have: a median is always seen, and ranges serve the rest."""
        if (self.known_center == Known.NOT_SEEN).any():
            raise ParameterError("known_center must be 0 or 1.")
        stated = (self.known_center == Known.STATED) & (self.known_scale == Known.STATED)
        if (self.known_range[stated] != Known.STATED).any():
            raise ParameterError("A range is learned for a center or a scale alone.")

    def _check_vector(self, name: str, kind: type[Any]) -> None:
        vector = getattr(self, name)
        if vector.ndim != 1 or vector.dtype != kind or len(vector) != len(self.lower):
            raise ParameterError(f"{name} must be one number for each column.")
        vector.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Learned):
            return NotImplemented
        names = (field.name for field in fields(self))
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]
