"""In which order the people of a table come: a digest of keys and their places.

Owns the check that two readings of a table saw the same people in the same places. It is
no promise against somebody who looks for two tables of one digest, but against queries,
files and partitions that change by themselves.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from decimal import Decimal
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.sensitive.tables.keys import Keys

__all__ = ["KeyOrder", "key_words"]

_WORD = 2**64 - 1
_ENCODED = methodcaller("encode", "utf-8", "surrogatepass")


class KeyOrder:
    """A digest of keys and their places, however they are cut into runs.

    Rows and keys are read one after the other. If the table changed in between, or came
    in another order as a query may, then rows would be taken for other people's. It is a sum
    over rows, so that digests of the pieces of a table, made in several processes, add up
    to that of the whole. The kind of the keys is part of it: a piece that comes as text when
    it came as numbers before is another piece.

    Parameters
    ----------
    start : int, default 0
        The place of the first key that will be added.

    Examples
    --------
    >>> from dpcov.sensitive.tables.keys import as_keys
    >>> one, other = KeyOrder(), KeyOrder()
    >>> one.add(as_keys(np.array(["ann", "bob"]), "person"))
    >>> other.add(as_keys(np.array(["ann"]), "person"))
    >>> one == other
    False
    >>> other.add(as_keys(np.array(["bob"]), "person"))
    >>> one == other
    True
    """

    def __init__(self, start: int = 0) -> None:
        self._next, self._total = start, 0

    @classmethod
    def of(cls, runs: Iterable[Keys], start: int = 0) -> KeyOrder:
        """Return the digest of runs of keys, the first of which is at place `start`."""
        order = cls(start)
        for keys in runs:
            order.add(keys)
        return order

    def add(self, keys: Keys) -> None:
        """Take the next keys into account."""
        places = np.arange(self._next, self._next + len(keys), dtype=np.uint64)
        kind = np.uint64(zlib.crc32((keys.kind or "").encode()) << 32)
        # A key must not be worth nothing, nor two keys in each other's places the same.
        words = _mix(key_words(keys.cells) ^ kind) * _mix(places)
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


def key_words(cells: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a number for each key that is the same in every process, as `hash` is not.

    Keys of one kind that are equal have the same number, however they are stored. Others may.

    Examples
    --------
    >>> key_words(np.array([7, -1], object)).tolist() == key_words(np.array([7, -1])).tolist()
    True
    """
    if cells.dtype.kind in "biu":
        return cells.astype(np.int64).view(np.uint64)
    if cells.dtype.kind == "f":
        # A longer float may leave the shorter ones, and a warning would be about the data.
        with np.errstate(all="ignore"):
            numbers = cells.astype(np.float64)
            # As whole numbers where they are: so is −0, which is 0.
            whole = (np.trunc(numbers) == numbers) & (np.abs(numbers) < 2.0**63)
            return np.where(whole, numbers.astype(np.int64), numbers.view(np.int64)).view(np.uint64)
    keys = cells.tolist()
    words = (
        map(zlib.crc32, map(_ENCODED, keys)) if set(map(type, keys)) == {str} else map(_word, keys)
    )
    return np.fromiter(words, np.uint64, len(keys))


def _word(key: object) -> int:
    if isinstance(key, bytes):
        return zlib.crc32(key)
    if isinstance(key, int):
        # As in an array of whole numbers; what is longer, as an uuid, is folded.
        return (key if -(2**63) <= key < 2**64 else key ^ (key >> 64)) & _WORD
    if isinstance(key, Decimal):
        return hash(key) & _WORD  # of numbers, it is the same everywhere
    # Floats of any width: no other kind is left.
    return int(key_words(np.array([key]))[0])


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter numbers over all odd 64-bit ones: the finalizer of splitmix64."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (words ^ (words >> np.uint64(31))) | np.uint64(1)
