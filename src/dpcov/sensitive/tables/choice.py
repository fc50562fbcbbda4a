"""Which columns of a table are read, in which order, and which one says whose row it is.

Owns `select`, `privacy_unit` and `header`. The caller states them; the names in them are public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpcov.columns import Column, Columns
from dpcov.columns.codes import Code
from dpcov.columns.csv_form import COMMAS, CsvForm
from dpcov.columns.fields import Field
from dpcov.columns.identifiers import USING_ALL, is_identifier
from dpcov.columns.levels import OF_TYPE, name_of
from dpcov.columns.stated import did_you_mean
from dpcov.errors import InputError
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.likeness import first_value, is_plain
from dpcov.sensitive.tables.names import (
    array_names,
    check_names,
    check_order,
    check_own_names,
    check_repeats,
    check_spelling,
    given_names,
    names_a_person,
)

__all__ = [
    "Choice",
    "Wanted",
    "choose_from_array",
    "choose_from_frame",
    "find_unit",
    "shown_names",
]

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
    weight : str, optional
        The column that says how much a row counts. It is read last.
    facts : Columns, optional
        Public facts of the columns to read, instead of `select`. Its patterns are resolved
        when a table's names are known.
    missing_codes : tuple
        Codes of missing cells in all columns.
    csv : CsvForm
        How CSV files are written.
    keeps_identifiers : bool
        Whether columns that nobody named are read also if they are identifiers by their names.
    """

    columns: Sequence[str] | None = None
    select: Sequence[str] | None = None
    privacy_unit: str | None = None
    header: bool | None = None
    weight: str | None = None
    facts: Columns | None = None
    missing_codes: tuple[Code, ...] = ()
    csv: CsvForm = COMMAS
    keeps_identifiers: bool = False

    def __post_init__(self) -> None:
        if self.header is not None and not isinstance(self.header, bool):
            raise InputError("header must be True, False or None.")
        for what in ("privacy_unit", "weight"):
            name = getattr(self, what)
            if name is not None:
                if not isinstance(name, str):
                    raise InputError(f"{what} must be the name of a column (a string).")
                check_spelling({0: name}, of=f"{what}=")
        if self.weight is not None and self.weight == self.privacy_unit:
            raise InputError(
                f"Column {self.weight!r} cannot say both whose row it is (privacy_unit=) and how "
                "much it counts (weight=)."
            )
        if self.select is not None:
            if self.columns is not None or self.facts is not None:
                raise InputError(
                    "State names, which rename all columns, or facts, which pick some by their "
                    "own names, but not both."
                )
            object.__setattr__(self, "select", check_names("select", self.select))
        select = self.stated_names
        if self.privacy_unit in select:
            raise InputError(
                f"Column {self.privacy_unit!r} says whose row it is (privacy_unit=) and is no "
                "number to read: leave it out of columns=."
            )
        if self.weight in select:
            raise InputError(
                f"Column {self.weight!r} says how much a row counts (weight=) and is not released: "
                "leave it out of columns=."
            )

    @property
    def stated_names(self) -> tuple[str, ...]:
        """The columns that are picked by their names; patterns are among them."""
        if self.facts is not None:
            return self.facts.names
        return tuple(self.select or ())

    @property
    def picks(self) -> bool:
        """Whether some columns are picked; all are read otherwise."""
        return self.facts is not None or self.select is not None

    def states(self, name: str) -> bool:
        """Return whether a name of a column that is read is known from the caller."""
        if self.header is True or self.columns is not None:
            return True
        return name in self._known

    @cached_property
    def _known(self) -> frozenset[str | None]:
        return frozenset((*self.stated_names, self.weight))

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
        Which of them are numbers to read, in this order; the weight, if there is one, last.
    privacy_unit : int or None
        Which of them says whose row it is.
    weight : int or None
        Which of them is the weight.
    facts : tuple of Column
        What is stated of each column that is read.
    rules : tuple of CellRule
        How the cells of each become numbers, once their types are known.
    left_out : tuple of str
        Columns that nobody named, and that are identifiers by their names.
    person : str or None
        A column that is called like one that says whose row it is, where none is stated.
    """

    labels: tuple[str, ...]
    places: tuple[int, ...]
    privacy_unit: int | None = None
    weight: int | None = None
    facts: tuple[Column, ...] = ()
    rules: tuple[CellRule, ...] = ()
    left_out: tuple[str, ...] = ()
    person: str | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """What the columns that are read are."""
        return tuple(rule.field for rule in self.rules)

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
    if wanted.picks and wanted.columns is None:
        # Names that the caller does not state are not published, and need not be good ones.
        choice = _choose(own, wanted, index, known=known)
        published = {*choice.names, *choice.left_out}
        matched = {
            place: labels[place]
            for place, name in enumerate(own)
            if name in published and not wanted.states(name)
        }
        check_own_names(matched, are_names=False)
        return choice
    data = {place: label for place, label in enumerate(labels) if label not in index}
    if wanted.columns is None:
        stated = {name for name in (wanted.privacy_unit, wanted.weight) if name is not None}
        named = {place: label for place, label in data.items() if label not in stated}
        check_own_names(named, are_names=wanted.header is True)
        check_repeats(own)
        return _choose(own, wanted, index, known=known)
    given = dict(zip(data, given_names(wanted.columns, len(data)), strict=True))
    check_order(tuple(given.values()), tuple(own[place] for place in data))
    names = tuple(given.get(place, name) for place, name in enumerate(own))
    check_repeats(names)
    # Those of an index are the table's own.
    return _choose(names, wanted, index, known=known or given)


def find_unit(labels: Sequence[str], privacy_unit: str) -> int:
    """Return the place of a unit column among labels of which no other is used."""
    return _find_places(tuple(labels), ((privacy_unit,), (), ()), (), ())[privacy_unit]


def _choose(
    labels: tuple[str, ...],
    wanted: Wanted,
    index: Collection[str] = (),
    *,
    known: Collection[int],
) -> Choice:
    """Return the choice among labels, of which those at `known` places are names for sure."""
    selected = wanted.stated_names
    unit, weight = (
        () if name is None else (name,) for name in (wanted.privacy_unit, wanted.weight)
    )
    facts, apart = wanted.facts, {*unit, *weight, *index}
    data = [label for label in labels if label not in apart]
    left_out = _identifiers(data, wanted)
    if facts is not None:
        facts = facts.resolve([label for label in data if label not in left_out])
        selected = facts.names
    place_of = _find_places(labels, (unit, weight, selected), index, known)
    whose = place_of[unit[0]] if unit else None
    last = place_of[weight[0]] if weight else None
    if wanted.picks:
        places = tuple(place_of[name] for name in selected)
    else:
        unread = {*apart, *left_out}
        places = tuple(place for place, label in enumerate(labels) if label not in unread)
    if last is not None:
        places = (*places, last)
    stated = {} if facts is None else {column.name: column for column in facts}
    read = tuple(
        _with_codes(stated.get(labels[place]) or Column(labels[place]), wanted.missing_codes)
        for place in places
    )
    # A name that may be somebody's cell is neither looked at nor shown.
    named = () if unit else filter(names_a_person, shown_names(labels, index, known))
    person = next(iter(named), None)
    return Choice(labels, places, whose, last, read, left_out=left_out, person=person)


def _identifiers(labels: Sequence[str], wanted: Wanted) -> tuple[str, ...]:
    """Return the columns that are left out: identifiers by their names, which nobody named."""
    facts, named = wanted.facts, (wanted.select, wanted.columns)
    names_some = named != (None, None) or (facts is not None and not facts.is_about_all)
    if names_some or wanted.keeps_identifiers:
        return ()
    found = tuple(dict.fromkeys(filter(is_identifier, labels)))
    if found and len(found) == len(set(labels)):
        raise InputError(
            "Each column of the table is an identifier by its name, and none is left to release. "
            f"To use them all the same, {USING_ALL}."
        )
    return found


def _find_places(
    labels: tuple[str, ...],
    stated: tuple[Sequence[str], Sequence[str], Sequence[str]],
    index: Collection[str],
    known: Collection[int],
) -> dict[str, int]:
    """Return the place of each label; refuse stated ones that are not there, or there twice."""
    unit, weight, selected = stated
    place_of = {label: place for place, label in enumerate(labels)}
    for what, names in (
        ("privacy_unit= names", unit),
        ("weight= names", weight),
        ("There are stated", selected),
    ):
        unknown = [name for name in names if name not in place_of]
        if unknown:
            # A stated name among them shows that they are names; else nothing does.
            has_names = known or any(name in place_of for name in (*unit, *weight, *selected))
            raise InputError(
                f"{what} columns that the table does not have: "
                + (
                    f"{_list(_with_guesses(unknown, labels, index, known))}. "
                    f"{_show(labels, index, known)}"
                    if has_names
                    else f"{_list(map(repr, unknown))}. {_HIDDEN}"
                )
            )
    if len(place_of) < len(labels):
        _refuse_repeats(labels, (*unit, *weight, *selected))
    return place_of


def _with_codes(column: Column, codes: tuple[Code, ...]) -> Column:
    """Return a column with the codes that hold for all: what it states itself goes before."""
    if not codes or column.complete:
        return column
    listed = () if column.levels == OF_TYPE else column.levels or ()
    levels = set(map(name_of, listed))
    more = [code for code in codes if name_of(code) not in levels]
    return replace(column, missing=(*column.missing, *more))


def _refuse_repeats(labels: tuple[str, ...], stated: Sequence[str]) -> None:
    counts = Counter(labels)
    for name in stated:
        if counts[name] > 1:
            raise InputError(f"Column name {name!r} appears twice; names must differ.")


def _show(labels: tuple[str, ...], index: Collection[str], known: Collection[int]) -> str:
    """Say which columns there are, those that may be somebody's cells by their places."""
    if not labels:
        return "It has no columns."
    shown = shown_names(labels, index, known)
    if not shown:
        return _HIDDEN
    places = set(shown.values())
    return (
        "Its columns are "
        + _list(
            [
                repr(name) if place in places else f"number {place + 1}"
                for place, name in enumerate(labels)
            ]
        )
        + "."
    )


def _with_guesses(
    unknown: Iterable[str], labels: tuple[str, ...], index: Collection[str], known: Collection[int]
) -> list[str]:
    """Return unknown names, each with the one that may be meant, if that may be shown."""
    shown = shown_names(labels, index, known)
    return [f"{name!r}{did_you_mean(name, shown)}" for name in unknown]


def shown_names(
    labels: tuple[str, ...], index: Collection[str], known: Collection[int]
) -> dict[str, int]:
    """Return the names that may be shown, with their places."""
    if not known and first_value(labels) is not None:
        return {}
    return {
        name: place
        for place, name in enumerate(labels)
        if place in known or (not known and name not in index and is_plain(name))
    }


def _list(names: Iterable[str]) -> str:
    named = list(names)
    listed = ", ".join(named[:_MOST_LISTED])
    return listed if len(named) <= _MOST_LISTED else f"{listed}, … ({len(named)} in all)"
