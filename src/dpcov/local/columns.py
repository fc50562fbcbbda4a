"""The public facts of a collection plan: names, bound, centers and scales, checked.

Owns what a server may state about the columns. Sees no row.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number
from dpcov.privacy.cap import MAX_COLUMNS

__all__ = ["check_columns", "check_facts", "check_norm"]


def check_columns(columns: object) -> tuple[str, ...]:
    """Return names that differ and that every language can write."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ParameterError("columns must be a sequence of names.")
    names = tuple(columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ParameterError("columns must be names (strings) that differ.")
    if any("\ud800" <= character <= "\udfff" for name in names for character in name):
        raise ParameterError("columns must be names in valid Unicode.")
    check_count("the number of columns", len(names), low=1, high=MAX_COLUMNS)
    return tuple(str(name) for name in names)  # numpy has strings of its own


def check_norm(value: object) -> float:
    """Return the bound on the norm of a row."""
    return check_number(
        "row_norm",
        value,
        low=1e-20,
        high=1e20,
        open_low=False,
        open_high=False,
        advice="It is a public bound on the Euclidean norm of a row, in working units.",
    )


def check_facts(
    name: str, values: object, default: float, columns: tuple[str, ...]
) -> tuple[float, ...]:
    """Return one number for each column: as given, or the default."""
    if values is None:
        return (default,) * len(columns)
    problem = f"{name} must be a sequence of one number for each column."
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ParameterError(problem)
    numbers = tuple(values)
    if len(numbers) != len(columns):
        raise ParameterError(problem)
    low = 1e-100 if name == "scale" else -1e100
    # Adding zero turns −0.0 into 0.0: one number, one id.
    return tuple(
        check_number(name, value, low=low, high=1e100, open_low=False, open_high=False) + 0.0
        for value in numbers
    )
