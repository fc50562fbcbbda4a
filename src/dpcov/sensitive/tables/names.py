"""Column names and shapes: public facts, and how they are refused.

Names that a caller states are repeated in messages. Those of a table may be somebody's row,
and are called by their place unless they are known to be names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dpcov.columns.spelling import has_hidden_characters
from dpcov.errors import InputError
from dpcov.sensitive.tables.likeness import first_value

__all__ = [
    "array_names",
    "call_column",
    "check_names",
    "check_order",
    "check_own_names",
    "check_repeats",
    "check_shape",
    "check_spelling",
    "given_names",
    "names_a_person",
]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_IDENTIFIERS = {"id", "ids", "idno", "uid", "uuid", "guid", "pid", "ssn"}
_PEOPLE = {"person", "subject", "respondent", "participant", "patient", "individual"}
_NUMBERS = {"no", "nr", "num", "number", "key", "code"}


def array_names(given: Sequence[str] | None, size: int) -> tuple[str, ...]:
    """Return the names of a table that has none of its own."""
    if given is None:
        return tuple(f"x{index}" for index in range(size))
    return given_names(given, size)


def given_names(columns: Any, expected: int) -> tuple[str, ...]:
    """Return names that a caller states for all columns."""
    names = check_names("columns", columns)
    if len(names) != expected:
        raise InputError(
            f"columns has {len(names)} names; the table has {expected} columns. A list names all "
            "of them, in order. To use some of them, state a mapping of names to facts; a fact "
            "need not be known: {'age': (18, 110), 'income': {}}."
        )
    return names


def check_order(given: tuple[str, ...], own: tuple[str, ...]) -> None:
    """Refuse names that a caller states for all columns and that are theirs in another order."""
    if given != own and sorted(given) == sorted(own):
        raise InputError(
            "columns has the names of the table's own columns in another order. A list gives names "
            "to columns in the order in which they stand, and would exchange them. To use them by "
            "their names, state a mapping of names to facts: {'age': (18, 110), 'income': {}}."
        )


def check_names(what: str, given: Any) -> tuple[str, ...]:
    """Return names that a caller states in order, or refuse what is no sequence of them."""
    try:
        names = [] if isinstance(given, (str, set, frozenset, dict)) else list(given)
    except TypeError:
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} must be a sequence of names (strings).")
    stated = tuple(str(name) for name in names)  # numpy has strings of its own
    check_spelling(dict(enumerate(stated)), of=f"{what}=")
    twice = [name for name, count in Counter(stated).items() if count > 1]
    if twice:
        raise InputError(f"Column name {twice[0]!r} appears twice; names must differ.")
    return stated


def check_own_names(labels: Mapping[int, Any], *, are_names: bool) -> None:
    """Refuse names of a table that cannot be published, by their places."""
    names = {place: str(label) for place, label in labels.items()}
    check_spelling(names, of="the table")
    found = None if are_names else first_value(labels.values())
    if found is not None:
        # A file without a header, read as if it had one: its first person would be public.
        raise InputError(
            f"The name of column {list(labels)[found] + 1} of the table looks like a value, as "
            "when a file without a header was read: then the names are somebody's row, and they "
            "are not repeated here. Read it again or rename them; state the names with columns=; "
            "or say header=True if they are names."
        )


def check_repeats(names: Sequence[str]) -> None:
    """Refuse two columns of the same name, by their places."""
    place_of: dict[str, int] = {}
    for place, name in enumerate(names):
        if name in place_of:
            raise InputError(
                f"Columns {place_of[name] + 1} and {place + 1} of the table have the same name; "
                "names must differ."
            )
        place_of[name] = place


def check_spelling(names: Mapping[int, str], *, of: str) -> None:
    """Refuse characters that are not seen, or cannot be saved, by the place of the name."""
    for place, name in names.items():
        if has_hidden_characters(name):
            raise InputError(
                f"The name of column {place + 1} of {of} has a line break, a control character, "
                "or is no valid Unicode text. Rename it."
            )


def names_a_person(name: str) -> bool:
    """Return whether a column is called like one that says whose row it is.

    Examples
    --------
    >>> [names_a_person(name) for name in ("pid", "Patient", "subjectID", "case_id", "person no")]
    [True, True, True, True, True]
    >>> [names_a_person(name) for name in ("ideology", "patient_age", "pid7", "kids", "number")]
    [False, False, False, False, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    last = words[-1]
    people = _PEOPLE | {f"{word}id" for word in _PEOPLE}
    named = people.intersection(words) and people | _NUMBERS | _IDENTIFIERS >= set(words)
    return last in _IDENTIFIERS or bool(named)


def call_column(name: str, place: int, *, is_known: bool) -> str:
    """Return what a column is called in a message.

    Examples
    --------
    >>> call_column("age", 2, is_known=True), call_column("age", 2, is_known=False)
    ("Column 'age'", 'Column 3')
    """
    return f"Column {name!r}" if is_known else f"Column {place + 1}"


def check_shape(n_rows: int, n_columns: int, fewest_rows: int) -> None:
    """Refuse a table without columns, or with too few rows."""
    # The wording that scikit-learn asks of its estimators, and as good as any.
    if n_columns == 0:
        raise InputError(
            f"The table has no columns: 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if n_rows < fewest_rows:
        raise InputError(
            f"The table has {n_rows} sample(s), n_samples={n_rows}; at least {fewest_rows} needed."
        )
