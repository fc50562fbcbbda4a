"""Which columns of a table are read, in which order, and which one says whose row it is.

Owns `select`, `privacy_unit` and `header`. The caller states them; the names in them are public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.likeness import first_value, is_plain
from dpcov.sensitive.tables.names import (
    array_names,
    check_names,
    check_own_names,
    check_repeats,
    check_spelling,
    given_names,
)

__all__ = ["Choice", "Wanted", "choose_from_array", "choose_from_frame", "find_unit"]

_MOST_LISTED = 10
_HIDDEN = (
    "Its own names may be somebody's row, and are not repeated here unless header=True says that "
    "they are names."
)


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for, before a table was looked at.

    Parameters
    ----------
    columns : sequence of str, optional
        Names for all of the table's columns, by place.
    select : sequence of str, optional
        Which columns to read, and in which order.
    privacy_unit : str, optional
        The column that says whose row it is.
    header : bool, optional
        True if the table's own names are names, whatever they look like; False if a CSV file
        has none.
    """

    columns: Sequence[str] | None = None
    select: Sequence[str] | None = None
    privacy_unit: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        if self.header is not None and not isinstance(self.header, bool):
            raise InputError("header must be True, False or None.")
        if self.privacy_unit is not None:
            if not isinstance(self.privacy_unit, str):
                raise InputError("privacy_unit must be the name of a column (a string).")
            check_spelling({0: self.privacy_unit}, of="privacy_unit=")
        if self.select is None:
            return
        if self.columns is not None:
            raise InputError(
                "State names, which rename all columns, or facts, which pick some by their "
                "own names, but not both."
            )
        select = check_names("select", self.select)
        if self.privacy_unit in select:
            raise InputError(
                f"Column {self.privacy_unit!r} says whose row it is (privacy_unit=) and is no "
                "number to read: leave it out of columns=."
            )
        object.__setattr__(self, "select", select)

    @property
    def states_names(self) -> bool:
        """Whether the names of the columns that are read are known from the caller."""
        return self.header is True or self.columns is not None or self.select is not None

    def refuse_no_header(self) -> None:
        """Refuse `header=False` for a table that is no CSV file."""
        if self.header is False:
            raise InputError("header=False is for a CSV file whose first line is a row.")


@dataclass(frozen=True)
class Choice:
    """The columns of one table that are read.

    Parameters
    ----------
    labels : tuple of str
        The names of all of its columns.
    places : tuple of int
        Which of them are numbers to read, in this order.
    privacy_unit : int or None
        Which of them says whose row it is.
    """

    labels: tuple[str, ...]
    places: tuple[int, ...]
    privacy_unit: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are read as numbers."""
        return tuple(self.labels[place] for place in self.places)

    @property
    def unit_column(self) -> tuple[int, str]:
        """The place and the name of the unit column, for a table that has one."""
        if self.privacy_unit is None:
            raise AssertionError("unreachable: nobody asks for a unit column that was not stated")
        return self.privacy_unit, self.labels[self.privacy_unit]

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
    wanted.refuse_no_header()
    return _choose(array_names(wanted.columns, size), wanted, known=range(size))


def choose_from_frame(labels: Sequence[Any], wanted: Wanted, index: Collection[str] = ()) -> Choice:
    """Return the choice for a table that has labels.

    Examples
    --------
    >>> choose_from_frame(["who", "a", "b"], Wanted(privacy_unit="who")).names
    ('a', 'b')
    """
    wanted.refuse_no_header()
    own = tuple(str(label) for label in labels)
    known = range(len(own) if wanted.header is True else 0)
    if wanted.select is not None:
        # Names that the caller does not state are not published, and need not be good ones.
        return _choose(own, wanted, index, known=known)
    data = {place: label for place, label in enumerate(labels) if label not in index}
    if wanted.columns is None:
        stated = {} if wanted.privacy_unit is None else {wanted.privacy_unit: None}
        named = {place: label for place, label in data.items() if label not in stated}
        check_own_names(named, are_names=wanted.header is True)
        check_repeats(own)
        return _choose(own, wanted, index, known=known)
    given = dict(zip(data, given_names(wanted.columns, len(data)), strict=True))
    names = tuple(given.get(place, name) for place, name in enumerate(own))
    check_repeats(names)
    # Those of an index are the table's own.
    return _choose(names, wanted, index, known=known or given)


def find_unit(labels: Sequence[str], privacy_unit: str) -> int:
    """Return the place of a unit column among labels of which no other is used."""
    return _choose(tuple(labels), Wanted(privacy_unit=privacy_unit), known=()).unit_column[0]


def _choose(
    labels: tuple[str, ...],
    wanted: Wanted,
    index: Collection[str] = (),
    *,
    known: Collection[int],
) -> Choice:
    """Return the choice among labels, of which those at `known` places are names for sure."""
    selected = tuple(wanted.select or ())
    unit = () if wanted.privacy_unit is None else (wanted.privacy_unit,)
    place_of = {label: place for place, label in enumerate(labels)}
    for what, names in (("privacy_unit", unit), ("columns", selected)):
        unknown = [name for name in names if name not in place_of]
        if unknown:
            # A stated name among them shows that they are names; else nothing does.
            has_names = known or any(name in place_of for name in (*unit, *selected))
            raise InputError(
                f"{what}= names columns that the table does not have: {_list(map(repr, unknown))}. "
                + (_show(labels, index, known) if has_names else _HIDDEN)
            )
    if len(place_of) < len(labels):
        _refuse_repeats(labels, (*unit, *selected))
    whose = place_of[unit[0]] if unit else None
    if wanted.select is not None:
        return Choice(labels, tuple(place_of[name] for name in selected), whose)
    data = (place for place, label in enumerate(labels) if label not in index and place != whose)
    return Choice(labels, tuple(data), whose)


def _refuse_repeats(labels: tuple[str, ...], stated: Sequence[str]) -> None:
    counts = Counter(labels)
    for name in stated:
        if counts[name] > 1:
            raise InputError(f"Column name {name!r} appears twice; names must differ.")


def _show(labels: tuple[str, ...], index: Collection[str], known: Collection[int]) -> str:
    """Say which columns there are, those that may be somebody's cells by their places."""
    if not labels:
        return "It has no columns."
    if not known and first_value(labels) is not None:
        return _HIDDEN

    def is_shown(place: int, name: str) -> bool:
        return place in known or (not known and name not in index and is_plain(name))

    return (
        "Its columns are "
        + _list(
            [
                repr(name) if is_shown(place, name) else f"number {place + 1}"
                for place, name in enumerate(labels)
            ]
        )
        + "."
    )


def _list(names: Iterable[str]) -> str:
    named = list(names)
    listed = ", ".join(named[:_MOST_LISTED])
    return listed if len(named) <= _MOST_LISTED else f"{listed}, … ({len(named)} in all)"
