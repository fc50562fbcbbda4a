"""How the cells of the columns that are read become numbers: the decision.

Owns what a declared type and stated facts come to together, and the refusals where they come to
nothing. No cell is read for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpcov.columns.column import Column
from dpcov.columns.levels import OF_TYPE, Level, name_of
from dpcov.columns.written import PLAIN
from dpcov.errors import InputError, ParameterError
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.choice import Choice, Wanted
from dpcov.sensitive.tables.likeness import is_plain
from dpcov.sensitive.tables.names import call_column

__all__ = ["with_rules"]

_LEVELS, _NUMBERS, _UNIT = 'levels = ["…", "…"]', f'text = "{PLAIN}"', 'unit = "days"'
_LEVELS_OF_TYPE = f'levels = "{OF_TYPE}"'
_LEAVE_OUT = "or leave it out by columns=."
_TEXTS = ("text", "category", "object", "unknown")


@dataclass(frozen=True)
class _Called:
    """What a column is called in a message, which few of them need."""

    name: str
    place: int
    wanted: Wanted
    has_numbers: bool
    of: str

    @property
    def is_known(self) -> bool:
        return self.wanted.states(self.name) or (self.has_numbers and is_plain(self.name))

    def __str__(self) -> str:
        called = call_column(self.name, self.place, is_known=self.is_known)
        return called + (self.of and f" of {self.of}")


def with_rules(
    choice: Choice, types: Sequence[CellType], wanted: Wanted, *, of: str = "", form: str = PLAIN
) -> Choice:
    """Return the choice with how its cells are read, or refuse a column by its declared type."""
    has_numbers = any(types[each].is_numeric for each in choice.places)
    rules = []
    for place, column in zip(choice.places, choice.facts, strict=True):
        called = _Called(column.name, place, wanted, has_numbers, of)
        if place == choice.weight:
            rules.append(_weight_rule(column, types[place], called))
        elif types[place].kind == "other":
            raise InputError(
                f"{called} is of type {types[place].called}, not a number. Drop it first, "
                "leave it out by columns=, or convert it by a public rule."
            )
        else:
            rules.append(_rule(column, types[place], called, form))
    return replace(choice, rules=tuple(rules))


def _weight_rule(column: Column, declared: CellType, called: _Called) -> CellRule:
    if not declared.is_numeric and declared.kind != "unknown":
        raise InputError(
            f"{called} is of type {declared.called}, and a weight must be a number: weight= names "
            "a numeric column."
        )
    return CellRule(column, declared.nullable or bool(column.missing))


def _rule(column: Column, declared: CellType, called: _Called, form: str) -> CellRule:
    """Return how the cells of a column are read that is no weight."""
    form = column.text or form
    if column.levels == OF_TYPE:
        column = _with_levels_of_type(column, declared, called)
    may_be_missing = _may_be_missing(column, declared)
    if column.levels is not None:
        return CellRule(column, may_be_missing, _mode_of_levels(column, declared, called), form)
    if declared.is_numeric:
        return CellRule(_as_number(column, declared, called), may_be_missing)
    if declared.kind in ("date", "duration"):
        _check_time(column, declared, called)
        return CellRule(column, may_be_missing, "time")
    says_how = column.text is not None or column.unit is not None
    if declared.kind == "unknown" and not says_how:
        return CellRule(column, may_be_missing)
    if not says_how:
        raise _refuse_text(column, declared, called)
    return CellRule(column, may_be_missing, "text", form)


def _as_number(column: Column, declared: CellType, called: _Called) -> Column:
    """Return the facts of a numeric column: truth values lie between 0 and 1."""
    if column.unit is not None:
        raise InputError(
            f"{called} is of type {declared.called}, a number already: unit is for dates and "
            "durations. Leave it out."
        )
    return _within_truth(column) if declared.kind == "boolean" else column


def _may_be_missing(column: Column, declared: CellType) -> bool:
    if column.complete is not None:
        return not column.complete
    # What cannot be read as a level, a number or a time is missing, whatever the type.
    translated = column.levels is not None or column.text is not None
    return declared.nullable or bool(column.missing) or (translated and column.other is None)


def _with_levels_of_type(column: Column, declared: CellType, called: _Called) -> Column:
    """Return a category with the levels of its type, which the caller says are public.

    Notes
    -----
    Claim P8. Only the order of a type that is declared to be ordered is part of what was said. Any
    other may be the order in which levels came first among the rows: they are sorted.
    """
    found = None if declared.levels is None else declared.levels()
    if found is None:
        raise InputError(
            f"{called} is of type {declared.called}, and no levels are part of it. State them from "
            f"knowledge: {_line(called, column, _LEVELS)}; {_LEAVE_OUT}"
        )
    codes = {"", *map(name_of, column.missing)}
    kept = [level for level in found if not _is_gap(level) and name_of(level) not in codes]
    if not {type(level) for level in kept} <= {str, int, float, bool} or not kept:
        raise InputError(
            f"{called} is a category whose type has no levels that are texts, numbers or truth "
            f"values. State its levels as texts, {_LEAVE_OUT}"
        )
    ordered = declared.ordered and column.ordered is not False
    if not ordered:
        kept.sort(key=lambda level: (isinstance(level, str), level))
    levels: tuple[Level, ...] = tuple(kept)  # type: ignore[arg-type]
    try:
        return replace(column, levels=levels, ordered=ordered or None)
    except ParameterError as error:
        problem = str(error)
    raise InputError(f"{called} is a category whose type says its levels. {problem}")


def _is_gap(level: object) -> bool:
    """Return whether a level stands for a missing cell: an encoder may have made one of it."""
    return level is None or (isinstance(level, float) and not math.isfinite(level))


def _mode_of_levels(column: Column, declared: CellType, called: _Called) -> str:
    """Return how cells are read that are compared with levels."""
    first = (column.levels or ("",))[0]
    if declared.kind in _TEXTS:
        return "text"
    # A truth value is a number to Python, and none to a reader.
    fits = declared.kind == "boolean" or not isinstance(first, bool)
    if declared.is_numeric and fits and not isinstance(first, str):
        return "number"
    stated = {str: "texts", bool: "truth values"}.get(type(first), "numbers")
    raise InputError(
        f"{called} is of type {declared.called}, and its stated levels are {stated}. State them as "
        f"they stand in the table, {_LEAVE_OUT}"
    )


def _within_truth(column: Column) -> Column:
    """Return a column of truth values with the bounds that these have."""
    low = 0.0 if column.lower is None else column.lower
    high = 1.0 if column.upper is None else column.upper
    center = column.center
    fits = low < high and (center is None or low <= center <= high)
    return replace(column, lower=low, upper=high) if fits else column


def _check_time(column: Column, declared: CellType, called: _Called) -> None:
    """Refuse a date without a unit, and a duration with a beginning."""
    if column.text is not None or column.unit is None:
        raise InputError(
            f"{called} is of type {declared.called}. To read it as a number state its unit: "
            f"{_line(called, column, _UNIT)}; {_LEAVE_OUT}"
        )
    if declared.kind == "duration" and column.since is not None:
        raise InputError(
            f"{called} is of type {declared.called}, a duration, which has no beginning: leave out "
            "since."
        )


def _refuse_text(column: Column, declared: CellType, called: _Called) -> InputError:
    """Return the refusal of a text of which nobody said what it can be."""
    if declared.levels is not None:
        return InputError(
            f"{called} is of type {declared.called}, and its levels may have been made from the "
            "rows: then one of them tells that somebody has it. State them from knowledge: "
            f"{_line(called, column, _LEVELS)}; or say that those of the type are public: "
            f"{_line(called, column, _LEVELS_OF_TYPE)}; {_LEAVE_OUT}"
        )
    is_category = declared.kind == "category"
    why = " whose levels are no part of its type" if is_category else ", not a number"
    return InputError(
        f"{called} is of type {declared.called}{why}. State its levels from knowledge: "
        f"{_line(called, column, _LEVELS)}; or how its numbers are written, if it holds such: "
        f"{_line(called, column, _NUMBERS)}; {_LEAVE_OUT}"
    )


def _line(called: _Called, column: Column, fact: str) -> str:
    """Return what to write in a file of columns, with the name if it may be shown."""
    name = column.name if called.is_known else "NAME"
    return f'"{name}" = {{{fact}}}'
