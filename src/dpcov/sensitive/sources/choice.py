"""Which columns of a table are read, in which order, and which one says whose row it is.

Owns `select` and `unit`. Both are names that the caller states; names are public.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dpcov.errors import InputError
from dpcov.sensitive.sources.names import (
    array_names,
    check_names,
    frame_names,
    look_like_cells,
    unique_names,
)

__all__ = ["Choice", "Wanted", "choose_from_array", "choose_from_frame"]

_MOST_LISTED = 10


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for, before a table was looked at.

    Parameters
    ----------
    columns : sequence of str, optional
        Names for all of the table's columns, by place.
    select : sequence of str, optional
        Which columns to read, and in which order.
    unit : str, optional
        The column that says whose row it is.
    """

    columns: Sequence[str] | None = None
    select: Sequence[str] | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.unit is not None and not isinstance(self.unit, str):
            raise InputError("unit must be the name of a column (a string).")
        if self.select is None:
            return
        if self.columns is not None:
            raise InputError(
                "State columns=, which renames all columns, or select=, which picks some by their "
                "own names, but not both."
            )
        select = check_names("select", self.select)
        if self.unit in select:
            raise InputError(
                f"Column {self.unit!r} says whose row it is (unit=) and is no number to read: "
                "leave it out of select=."
            )
        object.__setattr__(self, "select", select)


@dataclass(frozen=True)
class Choice:
    """The columns of one table that are read.

    Parameters
    ----------
    labels : tuple of str
        The names of all of its columns.
    places : tuple of int
        Which of them are numbers to read, in this order.
    unit : int or None
        Which of them says whose row it is.
    """

    labels: tuple[str, ...]
    places: tuple[int, ...]
    unit: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are read as numbers."""
        return tuple(self.labels[place] for place in self.places)

    @property
    def unit_column(self) -> tuple[int, str]:
        """The place and the name of the unit column, for a table that has one."""
        if self.unit is None:
            raise AssertionError("unreachable: nobody asks for a unit column that was not stated")
        return self.unit, self.labels[self.unit]

    @property
    def is_whole(self) -> bool:
        """Whether all columns are read, in the table's order."""
        return self.places == tuple(range(len(self.labels)))


def choose_from_array(size: int, wanted: Wanted) -> Choice:
    """Return the choice for a table of `size` columns that has no names of its own.

    Examples
    --------
    >>> choose_from_array(3, Wanted(select=("x2", "x0"))).places
    (2, 0)
    """
    return _choose(array_names(wanted.columns, size), wanted)


def choose_from_frame(labels: Sequence[Any], wanted: Wanted, index: Collection[str] = ()) -> Choice:
    """Return the choice for a table that has labels.

    Parameters
    ----------
    labels : sequence
        The table's own.
    wanted : Wanted
        What the caller asked for.
    index : collection of str
        Labels of columns that are no data unless they are asked for by name.

    Examples
    --------
    >>> choose_from_frame(["who", "a", "b"], Wanted(unit="who")).names
    ('a', 'b')
    """
    own = tuple(str(label) for label in labels)
    if wanted.select is not None:
        # Names that the caller does not state are not published, and need not be good ones.
        return _choose(own, wanted, index)
    named = iter(frame_names([label for label in labels if label not in index], wanted.columns))
    names = [name if name in index else next(named) for name in own]
    return _choose(unique_names(names), wanted, index)


def _choose(labels: tuple[str, ...], wanted: Wanted, index: Collection[str] = ()) -> Choice:
    unit = None if wanted.unit is None else _find([wanted.unit], labels, "unit")[0]
    if wanted.select is not None:
        return Choice(labels, _find(wanted.select, labels, "select"), unit)
    data = (place for place, label in enumerate(labels) if label not in index and place != unit)
    return Choice(labels, tuple(data), unit)


def _find(wanted: Sequence[str], labels: tuple[str, ...], what: str) -> tuple[int, ...]:
    place_of = {label: place for place, label in enumerate(labels)}
    unknown = [name for name in wanted if name not in place_of]
    if not unknown:
        for name in wanted:
            if len(place_of) < len(labels) and labels.count(name) > 1:
                raise InputError(f"Column name {name!r} appears twice; names must differ.")
        return tuple(place_of[name] for name in wanted)
    if look_like_cells(list(labels)):
        there = "Most of its column names are numbers or empty, and may be somebody's row."
    else:
        there = f"Its columns are {_list(labels)}." if labels else "It has no columns."
    raise InputError(f"{what}= names columns that X does not have: {_list(unknown)}. {there}")


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:_MOST_LISTED])
    return listed if len(names) <= _MOST_LISTED else f"{listed}, … ({len(names)} in all)"
