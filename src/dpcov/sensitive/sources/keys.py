"""Whose row it is: the cells of the unit column as keys that can be compared.

Owns what makes two rows one person's: their keys are equal. To take two people for one
only costs them some rows, but to take one person for two breaks the promise. Hence keys
are the cells themselves, never codes or hashes of a batch; a missing cell is refused,
since it may be anybody; and so is a column that mixes text and numbers, where a person
may be both 7 and "7". Text is compared letter by letter: "ann" and "Ann " are two people.
"""

from __future__ import annotations

import datetime
import uuid
import zlib
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError, MissingValueError
from dpcov.sensitive.sources.blocks import expect_rows

__all__ = ["KeyOrder", "as_keys", "check_keys", "refuse_missing_unit", "refuse_unit_type"]

# Their equality is that of their contents, unlike that of any object.
_COMPARABLE = (
    str,
    bytes,
    int,
    float,
    Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    np.number,
    np.bool_,
)


def as_keys(cells: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return the cells of the unit column as keys: numbers, or an array of objects.

    Examples
    --------
    >>> as_keys(np.array([7.0, -0.0]), "person") == as_keys(np.array([7, 0]), "person")
    array([ True,  True])
    """
    kind = cells.dtype.kind
    if kind in "biu":
        return cells
    if kind == "f":
        if np.isnan(cells).any():
            raise refuse_missing_unit(name)
        return cells
    if kind in "mM":
        if np.isnat(cells).any():
            raise refuse_missing_unit(name)
        return cells.view(np.int64)
    if kind in "US":
        return cells.astype(object)
    if kind == "O":
        return cells
    raise refuse_unit_type(name, cells.dtype.type.__name__)


def check_keys(
    runs: Iterable[npt.NDArray[Any]], *, n_rows: int, name: str, of: str
) -> Iterator[npt.NDArray[Any]]:
    """Yield runs of keys, and refuse a mixture of kinds, or another number of rows.

    Parameters
    ----------
    runs : iterable of ndarray
        The keys.
    n_rows : int
        How many there must be.
    name, of : str
        What the column and the table are called.
    """
    seen: set[type] = set()
    for keys in expect_rows(runs, n_rows, of):
        if keys.dtype == object:
            if any(key != key for key in keys.tolist()):  # what is not itself is missing
                raise refuse_missing_unit(name)
            seen.update(map(type, keys))
            if len(seen) > 1 or not all(issubclass(kind, _COMPARABLE) for kind in seen):
                raise InputError(
                    f"Unit column {name!r} must hold cells of one kind: text, whole numbers or "
                    "dates. Otherwise one person could be written in two ways and count as two. "
                    "Convert all of its cells to text."
                )
        yield keys


class KeyOrder:
    """A digest of keys and their places, however they are cut into runs.

    Rows and keys are read one after the other. If the table changed in between, or came
    in another order as a query may, then rows would be taken for other people's. It is a sum
    over rows, so that digests of the pieces of a table, made in several processes, add up
    to that of the whole.

    Parameters
    ----------
    start : int, default 0
        The place of the first key that will be added.

    Examples
    --------
    >>> one, other = KeyOrder(), KeyOrder()
    >>> one.add(np.array(["ann", "bob"], dtype=object))
    >>> other.add(np.array(["ann"], dtype=object))
    >>> one == other
    False
    >>> other.add(np.array(["bob"], dtype=object))
    >>> one == other
    True
    """

    def __init__(self, start: int = 0) -> None:
        self._next, self._total = start, 0

    @classmethod
    def of(cls, runs: Iterable[npt.NDArray[Any]], start: int = 0) -> KeyOrder:
        """Return the digest of runs of keys, the first of which is at place `start`."""
        order = cls(start)
        for keys in runs:
            order.add(keys)
        return order

    def add(self, keys: npt.NDArray[Any]) -> None:
        """Take the next keys into account."""
        places = np.arange(self._next, self._next + len(keys), dtype=np.uint64)
        # A key must not be worth nothing, nor two keys in each other's places the same.
        words = _mix(_words(keys)) * _mix(places)
        self._total = (self._total + int(words.sum(dtype=np.uint64))) % 2**64
        self._next += len(keys)

    def __add__(self, other: object) -> KeyOrder:
        if not isinstance(other, KeyOrder):
            return NotImplemented
        both = KeyOrder(max(self._next, other._next))
        both._total = (self._total + other._total) % 2**64
        return both

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyOrder) and self._total == other._total

    __hash__ = None  # type: ignore[assignment]  # it changes


def _words(keys: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a number for each key that is the same in every process, as `hash` is not."""
    if keys.dtype.kind in "biu":
        return keys.astype(np.int64).view(np.uint64)
    if keys.dtype.kind == "f":
        return keys.astype(np.float64).view(np.uint64)
    texts = (key if isinstance(key, str) else repr(key) for key in keys.tolist())
    codes = (zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts)
    return np.fromiter(codes, np.uint64, len(keys))


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter numbers over all odd 64-bit ones: the finalizer of splitmix64."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (words ^ (words >> np.uint64(31))) | np.uint64(1)


def refuse_missing_unit(name: str) -> MissingValueError:
    """Return the refusal of a row that is nobody's, for the caller to raise."""
    return MissingValueError(
        f"Unit column {name!r} has missing cells: every row must say whose it is. Drop the rows "
        "that do not, or write down whose they are."
    )


def refuse_unit_type(name: str, kind: str) -> InputError:
    """Return the refusal of a column whose cells cannot be compared, for the caller to raise."""
    return InputError(
        f"Unit column {name!r} is of type {kind}, which cannot say whose row it is. Use whole "
        "numbers, text, categories or dates."
    )
