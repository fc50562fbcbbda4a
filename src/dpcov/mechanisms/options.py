"""Public facts that a caller states: of columns, or one number for each of them.

Owns how they are read. No table is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from dpcov.columns import Column, Columns
from dpcov.columns.units import LARGEST_FACT
from dpcov.errors import ParameterError
from dpcov.sensitive.tables.names import check_names

__all__ = ["WARNINGS", "check_allowed", "public_vector", "read_columns", "read_facts"]

WARNINGS = ("mismatch", "small")
"""What a release stops for unless the caller allows it."""

Vector = npt.NDArray[np.float64]


def check_allowed(allow: Collection[str]) -> frozenset[str]:
    """Return which warnings a caller overrides, or refuse.

    Examples
    --------
    >>> check_allowed({"small"})
    frozenset({'small'})
    """
    if (
        isinstance(allow, str)
        or not isinstance(allow, Collection)
        or not set(allow) <= set(WARNINGS)
    ):
        raise ParameterError(f"allow must be a set of words among {', '.join(WARNINGS)}.")
    return frozenset(allow)


def read_facts(columns: object) -> Columns | None:
    """Return public facts if `columns` states any; None if it is names, or nothing."""
    if isinstance(columns, Columns):
        return columns
    if isinstance(columns, (list, tuple)) and any(isinstance(each, Column) for each in columns):
        return Columns(columns)
    if isinstance(columns, Mapping):
        return Columns.from_mapping(columns)
    if isinstance(columns, (str, os.PathLike)):
        return Columns.load(columns)
    return None


def read_columns(columns: object) -> tuple[Columns | None, tuple[str, ...] | None]:
    """Return the facts or the names that `columns` states: one of them, or neither."""
    facts = read_facts(columns)
    named = facts is None and columns is not None
    return facts, check_names("columns", columns) if named else None


def public_vector(
    name: str,
    value: float | npt.ArrayLike | None,
    n_columns: int,
    *,
    positive: bool = False,
) -> Vector | None:
    """Return a public number for each column, or refuse."""
    if value is None:
        return None
    try:
        given = np.asarray(value)
        numeric = given.dtype.kind in "iuf"
        vector = np.array(np.broadcast_to(given, (n_columns,)), dtype=np.float64)
    except (TypeError, ValueError):
        numeric = False
    if not numeric or not (np.abs(vector) <= LARGEST_FACT).all():
        raise ParameterError(f"{name} must be a finite number, or one for each column.")
    if positive and not (vector >= 1 / LARGEST_FACT).all():
        raise ParameterError(f"{name} must be positive: they are public standard deviations.")
    return vector
