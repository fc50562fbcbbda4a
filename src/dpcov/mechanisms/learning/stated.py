"""What is stated of columns, and which facts are left to be learned.

Owns the public side of learning: which columns each step asks, and the ruler they are
measured by. Nothing in it comes from a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpcov.columns import Column
from dpcov.columns.design import Design
from dpcov.columns.units import LARGEST_FACT
from dpcov.errors import ParameterError
from dpcov.exact.ruler import TOP, Ruler, ruler_bits
from dpcov.releases.learned import is_narrow

__all__ = ["Stated"]

# Where center and scale are stated, cells up to a million scales away are told apart.
_ROOM = 20

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Stated:
    """Public facts of the columns that are numbers, in their own units, and which others there are.

    `lower` and `upper` are infinite, `center` and `scale` NaN, where nothing is stated.
    `trusts_narrow` says that narrow bounds are limits as they stand, and `weight_bound` that rows
    have weights up to that bound. `facts` are those of all columns, where any are stated.
    `counted` are the places of the columns whose cells are counted first, by default those with
    gaps in the design. `moments_only` says that nothing else is learned, and `complete_rows` that
    a row has all of its cells or none, so that those of one column are counted for all.
    """

    lower: Array
    upper: Array
    center: Array
    scale: Array
    design: Design
    trusts_narrow: bool = False
    weight_bound: float | None = None
    facts: tuple[Column | None, ...] = ()
    counted: tuple[int, ...] | None = None
    moments_only: bool = False
    complete_rows: bool = False

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "center", "scale"):
            vector = np.array(getattr(self, name), dtype=np.float64)
            if vector.ndim != 1 or len(vector) != len(self.design.numbers):
                raise ParameterError(f"{name} must be one number for each column.")
            known = vector[np.isfinite(vector)]
            if (np.abs(known) > LARGEST_FACT).any():
                raise ParameterError(f"{name} must be at most {LARGEST_FACT:g} in size.")
            # What is learned near smaller ones would leave the range of a release.
            if ((known != 0) & (np.abs(known) < 1 / LARGEST_FACT)).any():
                raise ParameterError(f"{name} must be zero or at least {1 / LARGEST_FACT:g}.")
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)
        # A comparison with NaN is false, so that unknown bounds are refused as well.
        if not (self.lower < self.upper).all():
            raise ParameterError("lower must be below upper in every column.")
        if np.isinf(self.center).any() or np.isinf(self.scale).any():
            raise ParameterError("center and scale must be finite where they are stated.")
        if (self.scale <= 0).any():
            raise ParameterError("scale must be positive.")
        if ((self.center < self.lower) | (self.center > self.upper)).any():
            raise ParameterError("center must lie within the bounds.")

    @classmethod
    def of(
        cls, facts: Sequence[Column | None], design: Design, weight_bound: float | None = None
    ) -> Stated:
        """Return what is stated of the columns of a table, None where nothing is."""
        lower, upper, center, scale = (np.empty(len(design.numbers)) for _ in range(4))
        for place, number in enumerate(design.numbers.tolist()):
            column = facts[number]
            known = (None, None) if column is None else (column.center, column.scale)
            lower[place], upper[place] = (-np.inf, np.inf) if column is None else column.limits
            center[place], scale[place] = (math.nan if fact is None else fact for fact in known)
        return cls(
            lower=lower,
            upper=upper,
            center=center,
            scale=scale,
            design=design,
            weight_bound=weight_bound,
            facts=tuple(facts),
        )

    @property
    def places_counted(self) -> npt.NDArray[np.int64]:
        """The places of the columns of the table whose cells are counted before all else."""
        if self.counted is None:
            return self.design.with_gaps
        return np.array(self.counted, dtype=np.int64)

    def is_mostly_empty(self, place: int) -> bool:
        """Return whether a column of the table is stated to be mostly empty."""
        column = self.facts[place] if self.facts else None
        return column is not None and bool(column.mostly_empty)

    def other_level(self, place: int) -> list[int]:
        """Return the place of the level of other cells among those of a category, if it has one."""
        column = self.facts[place] if self.facts else None
        if column is None or column.other is None:
            return []
        return [column.level_names.index(column.other)]

    @classmethod
    def nothing(cls, n_columns: int) -> Stated:
        """Return what is stated if nothing is, of numbers without gaps."""
        design = Design.numbers_of(f"x{place}" for place in range(n_columns))
        return cls.of([None] * n_columns, design)

    @property
    def n_columns(self) -> int:
        """The number of columns that are numbers."""
        return len(self.lower)

    @property
    def without_center(self) -> Mask:
        """Columns whose center is learned."""
        return np.isnan(self.center)

    @property
    def without_scale(self) -> Mask:
        """Columns whose scale is learned."""
        return np.isnan(self.scale)

    @property
    def without_limit(self) -> Mask:
        """Columns whose mean or mean square is learned, within a limit that is."""
        return self.without_center | self.without_scale

    @property
    def with_limit_sought(self) -> Mask:
        """Columns whose limit is sought, unless narrow bounds are trusted."""
        return self.without_limit & ~self.is_narrow if self.trusts_narrow else self.without_limit

    @property
    def is_narrow(self) -> Mask:
        """Columns whose bounds are those of answers."""
        return is_narrow(self.lower, self.upper)

    def trusting_narrow(self) -> Stated:
        """Return the same facts, with narrow bounds as limits."""
        return replace(self, trusts_narrow=True)

    @property
    def keeps_bounds(self) -> Mask:
        """Columns whose stated bounds are their limits, whatever it costs.

        Those of which that is stated, and answers between whole numbers that are not far apart.
        """
        return self.asks_for_bounds | self.is_narrow

    @property
    def asks_for_bounds(self) -> Mask:
        """Columns of which it is stated that their bounds are the limits."""
        asked = np.zeros(self.n_columns, dtype=np.bool_)
        for place, number in enumerate(self.design.numbers.tolist()):
            column = self.facts[number] if self.facts else None
            asked[place] = column is not None and column.limit == "bounds"
        return asked

    @property
    def is_closed(self) -> Mask:
        """Columns with both bounds."""
        return np.isfinite(self.lower) & np.isfinite(self.upper)

    def ruler(self) -> Ruler:
        """Return the ruler: about the center if it is stated, else about the bound nearest to zero.

        It reaches as far as both bounds, or as center and scale, let it.
        """
        zero_within = (self.lower <= 0) & (self.upper >= 0)
        bound = np.where(self.lower > 0, self.lower, self.upper)
        origin = np.where(zero_within, 0.0, bound)
        origin = np.where(self.without_center, origin, self.center)
        top = np.full(self.n_columns, TOP, dtype=np.int64)
        known = ~self.without_limit
        top[known] = np.frexp(self.scale[known])[1] + _ROOM
        far = np.maximum(self.upper - origin, origin - self.lower)
        closed = np.isfinite(far)
        top[closed] = np.frexp(far[closed])[1]
        return Ruler(origin, top, ruler_bits(self.n_columns))
