"""Column names and shapes: public facts, and how they are refused.

Owns the guard against a file without a header, whose first row would become names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dpcov.errors import InputError

__all__ = [
    "ACCEPTED",
    "array_names",
    "check_names",
    "check_shape",
    "frame_names",
    "look_like_cells",
    "refuse_column",
    "unique_names",
]

ACCEPTED = (
    "a 2-D numpy array, or a pandas, polars or pyarrow table, a sparse matrix, an Arrow stream, "
    "a Spark data frame, AnnData, or the path of a file"
)


def array_names(given: Sequence[str] | None, size: int) -> tuple[str, ...]:
    """Return the names of a table that has none of its own."""
    if given is None:
        return tuple(f"x{index}" for index in range(size))
    return _given_names(given, size)


def frame_names(labels: list[Any], given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a table that has labels, unless others are given."""
    if given is not None:
        return _given_names(given, len(labels))
    if look_like_cells(labels):
        # A file without a header, read as if it had one: its first person would be public.
        raise InputError(
            "Most column names of X are numbers or empty, as when a file without a header was "
            "read: then the names are somebody's row. Read it again, or state the names with "
            "columns=."
        )
    return unique_names([str(label) for label in labels])


def check_names(what: str, given: Any) -> tuple[str, ...]:
    """Return names that a caller states in order, or refuse what is no sequence of them."""
    try:
        names = [] if isinstance(given, (str, set, frozenset, dict)) else list(given)
    except TypeError:
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} must be a sequence of names (strings).")
    return unique_names([str(name) for name in names])


def unique_names(names: list[str]) -> tuple[str, ...]:
    """Return the names, or refuse two that are the same and those that are no text."""
    seen: set[str] = set()
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise InputError("A column name is not valid Unicode text and could not be saved.")
        if name in seen:
            raise InputError(f"Column name {name!r} appears twice; names must differ.")
        seen.add(name)
    return tuple(names)


def look_like_cells(labels: list[Any]) -> bool:
    """Return whether most labels are numbers or empty, as those of a row would be."""
    written = [label for label in labels if isinstance(label, (str, float))]
    return 2 * sum(_looks_like_a_cell(str(label)) for label in written) > len(labels)


def refuse_column(name: str, kind: str, *, of: str = "") -> InputError:
    """Return the refusal of a column that is not numeric, for the caller to raise."""
    return InputError(
        f"Column {name!r}{of and f' of {of}'} is of type {kind}, not a number. Drop it, or "
        "convert it by a public rule."
    )


def check_shape(n_rows: int, n_columns: int, fewest_rows: int) -> None:
    """Refuse a table without columns, or with too few rows."""
    # The wording that scikit-learn asks of its estimators, and as good as any.
    if n_columns == 0:
        raise InputError(
            f"X has no columns: 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if n_rows < fewest_rows:
        raise InputError(
            f"X has {n_rows} sample(s), n_samples={n_rows}; at least {fewest_rows} needed."
        )


def _given_names(columns: Any, expected: int) -> tuple[str, ...]:
    names = check_names("columns", columns)
    if len(names) != expected:
        raise InputError(f"columns has {len(names)} names; X has {expected} columns.")
    return names


def _looks_like_a_cell(label: str) -> bool:
    # pandas and polars mark repeated and empty names in their own ways.
    text = re.sub(r"(\.\d+|_duplicated_\d+)$", "", label).strip()
    if re.fullmatch(r"|n/?a|null|none|-|unnamed: \d+", text.lower()):
        return True
    return _is_number(label) or _is_number(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
