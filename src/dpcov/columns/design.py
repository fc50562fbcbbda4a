"""Design: which working columns the columns of a table become.

Owns their order and their names. A number is one working column, a category one for each of its
levels, and a column whose cells may be missing has one more, last: whether the cell is there.
All of it is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.columns.fields import Field
from dpcov.errors import ParameterError
from dpcov.multiplicity import count_pairs

__all__ = ["Design"]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Design:
    """How columns of a table become working columns: values first, then indicators of gaps.

    Parameters
    ----------
    fields : tuple of Field
        The columns of the table, in order.

    Examples
    --------
    >>> design = Design((Field("age"), Field("sex", ("f", "m"), may_be_missing=False)))
    >>> design.names
    ('age', 'sex=f', 'sex=m')
    >>> design.n_working, design.gap_of.tolist()
    (4, [0, -1, -1])
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if not self.fields:
            raise ParameterError("A table needs at least one column.")
        if len(set(self.names)) != len(self.names):
            raise ParameterError(
                "Two columns have the same name once categories are taken apart (column=level): "
                "rename one of them."
            )

    @classmethod
    def numbers_of(cls, names: Iterable[str]) -> Design:
        """Return the design of columns that are numbers without gaps."""
        return cls(tuple(Field(name, may_be_missing=False) for name in names))

    @classmethod
    def of(cls, fields: Iterable[Field], *, gaps: bool) -> Design:
        """Return the design of the columns of a table, with or without indicators of gaps."""
        return cls(
            tuple(
                replace(field, may_be_missing=gaps and field.may_be_missing, facts=None)
                for field in fields
            )
        )

    @property
    def is_plain(self) -> bool:
        """Whether the working columns are those of the table."""
        return self.n_working == len(self.fields) and not len(self.categories)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the values: of numbers, and column=level for categories."""
        return tuple(
            name
            for field in self.fields
            for name in (
                (field.name,)
                if field.levels is None
                else tuple(f"{field.name}={level}" for level in field.levels)
            )
        )

    @property
    def working_names(self) -> tuple[str, ...]:
        """The names of all working columns."""
        gaps = (f"observed({self.fields[place].name})" for place in self.with_gaps.tolist())
        return (*self.names, *gaps)

    @cached_property
    def numbers(self) -> Integers:
        """The places of the columns of the table that are numbers."""
        return _places(field.levels is None for field in self.fields)

    @cached_property
    def categories(self) -> Integers:
        """The places of those that are categories."""
        return _places(field.levels is not None for field in self.fields)

    @cached_property
    def with_gaps(self) -> Integers:
        """The places of those whose cells may be missing, in the order of their indicators."""
        return _places(field.may_be_missing for field in self.fields)

    @cached_property
    def field_of(self) -> Integers:
        """For each value, the place of its column in the table."""
        sizes = [1 if field.levels is None else len(field.levels) for field in self.fields]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)

    @cached_property
    def value_of(self) -> Integers:
        """For each column of the table, the place of its value, or of the first of its levels."""
        return np.searchsorted(self.field_of, np.arange(len(self.fields)))

    @cached_property
    def is_number(self) -> npt.NDArray[np.bool_]:
        """Which values are numbers, and not levels."""
        return np.array([field.levels is None for field in self.fields])[self.field_of]

    @cached_property
    def gap_of(self) -> Integers:
        """For each value, the place of its indicator among the indicators; −1 if it has none."""
        place = np.full(len(self.fields), -1, dtype=np.int64)
        place[self.with_gaps] = np.arange(len(self.with_gaps))
        return place[self.field_of]

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """The values of each category."""
        starts = self.value_of[self.categories].tolist()
        return tuple(
            slice(start, start + self.n_levels(place))
            for start, place in zip(starts, self.categories.tolist(), strict=True)
        )

    def n_levels(self, place: int) -> int:
        """Return the number of levels of a category."""
        levels = self.fields[place].levels
        return 0 if levels is None else len(levels)

    @property
    def n_values(self) -> int:
        """The number of values."""
        return len(self.names)

    @property
    def n_pairs(self) -> int:
        """The number of pairs of values that are not levels of one category.

        Those of one category have nothing to find: they exclude each other.

        Examples
        --------
        >>> Design((Field("age"), Field("sex", ("f", "m", "x")))).n_pairs
        3
        """
        sizes = (group.stop - group.start for group in self.groups)
        return count_pairs(self.n_values) - sum(count_pairs(size) for size in sizes)

    @property
    def n_gaps(self) -> int:
        """The number of indicators."""
        return len(self.with_gaps)

    @property
    def n_working(self) -> int:
        """The number of working columns."""
        return self.n_values + self.n_gaps


def _places(chosen: Iterable[bool]) -> Integers:
    return np.flatnonzero(np.fromiter(chosen, dtype=np.bool_)).astype(np.int64)
