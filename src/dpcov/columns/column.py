"""Column: what is known of one column without looking at the data.

Owns the facts of a column and which of them go together. Nothing in it is ever read from a
table.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

from dpcov.columns.codes import Code, check_codes, codes_as_text
from dpcov.columns.levels import OF_TYPE, Level, check_levels, check_numbers, check_other, name_of
from dpcov.columns.moments import UNITS, as_moment, count_units
from dpcov.columns.spelling import has_hidden_characters
from dpcov.columns.units import LARGEST_FACT
from dpcov.columns.written import check_form
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_number

__all__ = ["FACTS", "NUMBER_FACTS", "Column"]

NUMBER_FACTS = ("lower", "upper", "center", "scale")
"""Facts that are numbers in the column's own units."""

_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True, repr=False)
class Column:
    """The public facts of one column: as many as are known.

    Parameters
    ----------
    name : str
        As in the table. In `Columns` it may be a pattern, with ``*`` or ``?``.
    lower, upper : float or date, optional
        Bounds, in the column's own units. Cells beyond them are read as the bound. An infinite
        one says nothing.
    center, scale : float, optional
        A typical value, between the bounds, and a typical deviation.
    levels : sequence or "dtype", optional
        All answers of a category, as they stand in the table: 2 to 1,000 texts, numbers or truth
        values. A cell that is none of them is missing. ``"dtype"`` says that the levels that are
        part of the column's type are public: they were not made from the rows.
    ordered : bool, optional
        The levels stand for 1, 2, 3, …: the column is a number.
    numbers : sequence of float, optional
        … or for these numbers. They are its bounds, unless others are stated.
    other : str, optional
        Cells that are none of the levels count as this level, which may be one more.
    missing : sequence of float or str, optional
        Codes that mean that there is no answer. They are missing cells.
    complete : bool, optional
        True if no cell is missing, False if some may be. By default the type says it.
    limit : {"bounds"}, optional
        The stated bounds are the limits of the release, however far they are: no cell between them
        is cut, and noise grows with them. By default they are if they are not far, and limits
        within them are learned otherwise.
    mostly_empty : bool, optional
        True if nearly all cells may be missing, or most levels nearly unused. A release stops at
        such a column if this is not stated.
    unit : str, optional
        Dates, moments and durations count in ``"seconds"``, ``"minutes"``, ``"hours"``,
        ``"days"``, ``"weeks"`` or ``"years"`` (of 365.2425 days). Bounds may then be dates.
    since : date, optional
        … since this date, instead of 1970-01-01 UTC.
    text : str, optional
        Cells are texts that say numbers, in this form: ``"1234.5"``, ``"1.234,5"``, ….

    Examples
    --------
    >>> age = Column("age", lower=0, upper=100)
    >>> age.center is None, age.known_center, age.known_scale
    (True, 50.0, 50.0)
    >>> Column("income", lower=0, upper=float("inf"), missing=[-9])
    Column('income', lower=0.0, missing=(-9.0,))
    >>> Column("health", levels=["poor", "fair", "good"], ordered=True).upper
    3.0
    >>> Column("born", unit="days", since="2000-01-01", lower="1999-12-31").lower
    -1.0
    """

    name: str
    lower: float | None = None
    upper: float | None = None
    center: float | None = None
    scale: float | None = None
    levels: tuple[Level, ...] | str | None = None
    ordered: bool | None = None
    numbers: tuple[float, ...] | None = None
    other: str | None = None
    missing: tuple[Code, ...] = ()
    complete: bool | None = None
    limit: str | None = None
    mostly_empty: bool | None = None
    unit: str | None = None
    since: datetime.date | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        if _states_nothing(self):
            return
        for fact in ("ordered", "complete", "mostly_empty"):
            if not isinstance(getattr(self, fact), (bool, type(None))):
                raise ParameterError(f"{fact} of column {self.name!r} must be true or false.")
        self._check_time()
        self._set("missing", check_codes(f"missing of column {self.name!r}", self._counted_codes()))
        if self.text is not None:
            check_form(self.name, self.text)
        self._check_levels()
        self._check_bounds()
        self._check_together()

    def _set(self, fact: str, value: Any) -> None:
        object.__setattr__(self, fact, value)

    def _check_time(self) -> None:
        if self.unit is None:
            if self.since is not None:
                raise ParameterError(f'since of column {self.name!r} needs a unit, such as "days".')
            return
        check_choice(f"unit of column {self.name!r}", self.unit, UNITS)
        if self.since is not None and as_moment(self.since) is None:
            raise ParameterError(f"since of column {self.name!r} must be a date, as 2000-01-31.")
        for fact in ("lower", "upper", "center"):
            moment = as_moment(getattr(self, fact))
            if moment is not None:
                self._set(fact, self.count(*moment))

    def _counted_codes(self) -> Any:
        """Return the codes, dates among them as numbers if there is a unit."""
        codes: Any = self.missing
        if self.unit is None or not isinstance(codes, (list, tuple)):
            return codes
        moments = [(code, as_moment(code)) for code in codes]
        return [code if moment is None else self.count(*moment) for code, moment in moments]

    def count(self, days: Any, rest: Any) -> Any:
        """Return days since 1970-01-01 and nanoseconds of the day as numbers of the unit."""
        since = as_moment(_EPOCH if self.since is None else self.since)
        return count_units(days, rest, self.unit or "days", since or (0, 0))

    def _check_levels(self) -> None:
        if self.levels in (None, OF_TYPE):
            for fact in ("ordered", "numbers", "other"):
                if getattr(self, fact) not in (None, False):
                    raise ParameterError(
                        f"{fact} of column {self.name!r} needs levels, as a list of all answers."
                    )
            return
        self._set("levels", check_levels(self.name, self.levels))
        levels = self.levels or ()
        if self.numbers is not None:
            if self.ordered is False:
                raise ParameterError(
                    f"Column {self.name!r} has numbers for its levels, which makes them ordered, "
                    "and says that they are not."
                )
            self._set("ordered", True)
            self._set("numbers", check_numbers(self.name, self.numbers, len(levels)))
        if self.other is not None:
            check_other(self.name, self.other)
            if self.ordered:
                raise ParameterError(
                    f"Column {self.name!r} has ordered levels, and other has no place among them. "
                    "Leave it out: other cells are missing."
                )
        if len(self.level_names) < 2:
            raise ParameterError(
                f"Column {self.name!r} has one level only: nothing can vary. State all answers, or "
                'other = "other" for the rest.'
            )
        both = codes_as_text(self.missing) & set(map(name_of, levels))
        if both:
            raise ParameterError(
                f"Column {self.name!r} has {min(both)!r} both as a level and as a code of missing "
                "cells."
            )

    def _check_bounds(self) -> None:
        for fact, nothing in (("lower", -math.inf), ("upper", math.inf)):
            value = getattr(self, fact)
            if isinstance(value, Real) and value == nothing:
                self._set(fact, None)
        for fact in NUMBER_FACTS:
            if getattr(self, fact) is not None:
                self._set(fact, self._checked(fact))
        if self.is_category and any(getattr(self, fact) is not None for fact in NUMBER_FACTS):
            raise ParameterError(
                f"Column {self.name!r} is a category, and has no bounds, center or scale. Say "
                "ordered = true if its levels stand for numbers."
            )
        if self.level_numbers is not None:
            for fact, end in (("lower", min), ("upper", max)):
                if getattr(self, fact) is None:
                    self._set(fact, end(self.level_numbers))
        self._check_order()

    def _check_order(self) -> None:
        low, high = self.limits
        if not low < high:
            raise ParameterError(
                f"Column {self.name!r} has lower = {low:g} and upper = {high:g}; lower must be "
                "below upper, or nothing can vary between them."
            )
        if self.center is not None and not low <= self.center <= high:
            raise ParameterError(
                f"Column {self.name!r} has center = {self.center:g}, which is not between its "
                "bounds."
            )

    def _check_together(self) -> None:
        if self.limit is not None:
            check_choice(f"limit of column {self.name!r}", self.limit, ("bounds",))
            if self.lower is None or self.upper is None:
                raise ParameterError(
                    f'limit = "bounds" of column {self.name!r} needs both bounds: state lower and '
                    "upper."
                )
        if self.complete and self.mostly_empty:
            raise ParameterError(
                f"Column {self.name!r} is stated to be complete and to be mostly empty."
            )
        if self.complete and self.missing:
            raise ParameterError(
                f"Column {self.name!r} is stated to be complete, and has codes of missing cells."
            )
        for first, second in (("levels", "text"), ("levels", "unit"), ("text", "unit")):
            if getattr(self, first) is not None and getattr(self, second) is not None:
                raise ParameterError(
                    f"Column {self.name!r} has {first} and {second}; state one of them."
                )

    @property
    def is_category(self) -> bool:
        """Whether it has levels that are no numbers; those of a type are not known yet."""
        return self.levels not in (None, OF_TYPE) and not self.ordered

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of all levels in their order, that of `other` among them."""
        names = tuple(name_of(level) for level in self.levels or ())
        more = self.other is not None and self.other not in names
        return (*names, str(self.other)) if more else names

    @property
    def level_numbers(self) -> tuple[float, ...] | None:
        """What ordered levels stand for; None for other columns."""
        if self.levels is None or not self.ordered:
            return None
        return self.numbers or tuple(float(place) for place in range(1, len(self.levels) + 1))

    @property
    def known_center(self) -> float | None:
        """The center as stated, or the middle of both bounds; None if neither is known."""
        if self.center is None and self.lower is not None and self.upper is not None:
            return (self.lower + self.upper) / 2
        return self.center

    @property
    def known_scale(self) -> float | None:
        """The scale as stated, or half the distance of both bounds; None if neither is known."""
        if self.scale is None and self.lower is not None and self.upper is not None:
            return max((self.upper - self.lower) / 2, 1 / LARGEST_FACT)
        return self.scale

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds, infinite where none is stated."""
        return (
            -math.inf if self.lower is None else self.lower,
            math.inf if self.upper is None else self.upper,
        )

    @property
    def working_center(self) -> float:
        """Where zero is put if nothing is learned: the center, else a bound, else 0."""
        known = (self.known_center, self.lower, self.upper, 0.0)
        return next(value for value in known if value is not None)

    @property
    def working_scale(self) -> float:
        """What counts as one if nothing is learned: the scale, else 1."""
        return 1.0 if self.known_scale is None else self.known_scale

    def _checked(self, fact: str) -> float:
        value = getattr(self, fact)
        if as_moment(value) is not None and not isinstance(value, str):
            raise ParameterError(
                f'{fact} of column {self.name!r} is a date; state a unit, such as "days", in '
                "which dates are counted."
            )
        smallest = 1 / LARGEST_FACT if fact == "scale" else -LARGEST_FACT
        return check_number(
            f"{fact} of column {self.name!r}",
            value,
            low=smallest,
            high=LARGEST_FACT,
            open_low=False,
            open_high=False,
        )

    def __repr__(self) -> str:
        stated = (
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)[1:]
            if getattr(self, each.name) not in (None, ())
        )
        return f"Column({', '.join([repr(self.name), *stated])})"


FACTS = tuple(each.name for each in fields(Column))[1:]
"""The names of all facts."""


def _states_nothing(column: Column) -> bool:
    """Return whether there is nothing to check, as for most columns of a wide table."""
    facts = list(vars(column).values())[1:]
    return all(fact is None or (isinstance(fact, tuple) and not fact) for fact in facts)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ParameterError("The name of a column must be a string.")
    if has_hidden_characters(name):
        raise ParameterError(
            "The name of a column has a line break, a control character, or is no valid Unicode "
            "text. Rename it."
        )
