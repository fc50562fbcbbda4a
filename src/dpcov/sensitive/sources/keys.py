"""Whose row it is: the cells of the unit column as keys that can be compared.

Owns what makes two rows one person's: their keys are equal. To take two people for one
only costs them some rows, but to take one person for two breaks the promise. Hence keys
are the cells themselves, never codes or hashes of a batch; a missing cell is refused,
since it may be anybody; and so is a column that mixes text and numbers, where a person
may be both 7 and "7". Text is compared letter by letter: "ann" and "Ann " are two people.
"""

from __future__ import annotations

import datetime
import hashlib
import uuid
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
            seen.update(map(type, keys))
            if len(seen) > 1 or not all(issubclass(kind, _COMPARABLE) for kind in seen):
                raise InputError(
                    f"Unit column {name!r} must hold cells of one kind: text, whole numbers or "
                    "dates. Otherwise one person could be written in two ways and count as two. "
                    "Convert all of its cells to text."
                )
        yield keys


class KeyOrder:
    """A digest of keys in their order, however they are cut into runs.

    Rows and keys are read one after the other. If the table changed in between, or came
    in another order as a query may, then rows would be taken for other people's.

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

    def __init__(self) -> None:
        self._digest = hashlib.blake2b()

    def add(self, keys: npt.NDArray[Any]) -> None:
        """Take the next keys into account."""
        if keys.dtype.kind in "biu":
            words = keys.astype(np.int64)
        else:
            words = np.fromiter(map(hash, keys.tolist()), np.int64, len(keys))
        self._digest.update(words.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyOrder) and self._digest.digest() == other._digest.digest()

    __hash__ = None  # type: ignore[assignment]  # it changes


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
