"""What a table declares of a column: its type, in words that are the same for all kinds of tables.

Owns the words. A type is public: it comes from a schema, a header or the type of an array, and no
cell is read for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["NUMERIC", "CellType"]

NUMERIC = ("number", "whole number", "boolean")
"""Types whose cells are numbers as they stand."""


@dataclass(frozen=True)
class CellType:
    """The declared type of a column.

    Parameters
    ----------
    kind : str
        ``"number"``, ``"whole number"``, ``"boolean"``, ``"text"``, ``"category"``, ``"date"``,
        ``"duration"``, ``"object"`` for Python objects of any type, ``"other"``, or ``"unknown"``
        where a format declares no types.
    called : str
        What its library calls it, for refusals.
    nullable : bool
        Whether the type has room for a missing cell.
    levels : callable, optional
        Of a category whose type has levels: returns them, or None if they are of no type. They
        are data, unless the caller says otherwise: nobody asks for them before that.
    ordered : bool
        Of a category: whether the type says that its levels have an order.
    """

    kind: str
    called: str = ""
    nullable: bool = True
    levels: Callable[[], tuple[object, ...] | None] | None = None
    ordered: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether cells are numbers as they stand."""
        return self.kind in NUMERIC
