"""One cell of a column of Python objects: its kind, and the form in which it is compared.

Owns the list of what can say whose row it is. What is not on it, and any class of the
caller's own, may be unequal to itself or equal to everything.
"""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FIRST_DAY", "STEPS", "Cell", "Kind", "float_kind", "read_cell"]

STEPS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
"""How many nanoseconds the units have that times may be stored in."""

FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
"""The day from which dates are counted, as Python counts it."""

_MOMENT = datetime.datetime(1970, 1, 1)
_INSTANT = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Kind:
    """The kinds of keys. Keys of two kinds cannot be compared, though they may look alike."""

    TRUTH = "truth value"
    WHOLE = "whole number"
    DECIMAL = "decimal number"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    MOMENT = "moment"
    INSTANT = "moment in a time zone"
    TIME = "time of day"
    DURATION = "duration"
    UUID = "uuid"
    MISSING = "missing"
    OTHER = "other"

    STEPPED = (MOMENT, INSTANT, TIME, DURATION)
    """Those that are counted in nanoseconds, and may be stored in coarser steps."""


class Cell(NamedTuple):
    """What a cell is, and as what it is compared.

    Parameters
    ----------
    kind : str
        One of `Kind`.
    key : hashable
        Two cells of one kind are one person's exactly when these are equal.
    step : int
        How many nanoseconds a time of its type is apart from the next.
    """

    kind: str
    key: Any = None
    step: int = 1


def float_kind(dtype: np.dtype[Any]) -> str:
    """Return the kind of floats of some width: 0.1 is another number in each."""
    return f"float of {8 * dtype.itemsize} bits"


@singledispatch
def read_cell(cell: object) -> Cell:
    """Return what a cell is.

    Examples
    --------
    >>> read_cell("ann").kind, read_cell(7).kind, read_cell(None).kind, read_cell([7]).kind
    ('text', 'whole number', 'missing', 'other')
    """
    # pandas need not be imported for its null.
    missing = cell is None or type(cell).__name__ == "NAType"
    return Cell(Kind.MISSING if missing else Kind.OTHER)


@read_cell.register
def _(cell: str) -> Cell:
    # As the text that it is: a subclass may compare as it likes.
    return Cell(Kind.TEXT, str.__str__(cell))


@read_cell.register
def _(cell: bytes) -> Cell:
    return Cell(Kind.BYTES, bytes(memoryview(cell)))


@read_cell.register(bool)
@read_cell.register(np.bool_)
def _(cell: Any) -> Cell:
    return Cell(Kind.TRUTH, bool(cell))


@read_cell.register(int)
@read_cell.register(np.integer)
def _(cell: Any) -> Cell:
    return Cell(Kind.WHOLE, int.__index__(cell) if isinstance(cell, int) else int(cell))


@read_cell.register(float)
@read_cell.register(np.floating)
def _(cell: Any) -> Cell:
    if cell != cell:
        return Cell(Kind.MISSING)
    dtype = cell.dtype if isinstance(cell, np.floating) else np.dtype(np.float64)
    return Cell(float_kind(dtype), dtype.type(cell))


@read_cell.register
def _(cell: Decimal) -> Cell:
    return Cell(Kind.MISSING) if cell.is_nan() else Cell(Kind.DECIMAL, Decimal(cell))


@read_cell.register
def _(cell: uuid.UUID) -> Cell:
    return Cell(Kind.UUID, cell.int)


@read_cell.register
def _(cell: datetime.date) -> Cell:
    return Cell(Kind.DATE, cell.toordinal() - FIRST_DAY)


@read_cell.register
def _(cell: datetime.datetime) -> Cell:
    if cell != cell:  # pandas says that its NaT is one
        return Cell(Kind.MISSING)
    # A Timestamp of pandas has nanoseconds, which are no part of a datetime.
    rest = getattr(cell, "nanosecond", 0)
    plain: datetime.datetime = cell
    if hasattr(cell, "to_pydatetime"):
        plain = cell.to_pydatetime(warn=False)
    kind, zero = (Kind.MOMENT, _MOMENT) if plain.utcoffset() is None else (Kind.INSTANT, _INSTANT)
    if kind == Kind.MOMENT:
        plain = plain.replace(tzinfo=None)
    return Cell(kind, _nanoseconds(plain - zero) + rest, _step(cell))


@read_cell.register
def _(cell: datetime.timedelta) -> Cell:
    rest = getattr(cell, "nanoseconds", 0)
    return Cell(Kind.DURATION, _nanoseconds(cell) + rest, _step(cell))


@read_cell.register
def _(cell: datetime.time) -> Cell:
    if cell.tzinfo is not None:  # which moment it is depends on the day
        return Cell(Kind.OTHER)
    since = datetime.timedelta(
        hours=cell.hour, minutes=cell.minute, seconds=cell.second, microseconds=cell.microsecond
    )
    return Cell(Kind.TIME, _nanoseconds(since), _step(cell))


@read_cell.register
def _(cell: np.timedelta64) -> Cell:
    return Cell(Kind.OTHER)  # numpy takes it for a whole number, of any unit


def _step(cell: object) -> int:
    """Return the nanoseconds between two moments: Python's have µs, those of pandas a unit."""
    return STEPS[getattr(cell, "unit", "us")]


def _nanoseconds(since: datetime.timedelta) -> int:
    seconds = since.days * 86_400 + since.seconds
    return (seconds * 1_000_000 + since.microseconds) * 1000
