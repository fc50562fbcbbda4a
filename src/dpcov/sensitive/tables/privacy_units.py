"""Units: people who may have several rows, and how many of them count.

Owns the cap. Of each unit some rows are drawn at random. Which ones follows from a secret key,
the unit and the number of its rows, so what is kept of one unit depends on no other unit, and on
no other column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sized
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpcov.columns.fields import Field
from dpcov.errors import InputError
from dpcov.parameters import check_count
from dpcov.sensitive.tables.blocks import Part, cut_blocks
from dpcov.sensitive.tables.key_order import key_words
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.pieces import Parts, Piece, Split, split_rows
from dpcov.sensitive.tables.source import RowSource

__all__ = ["KeptRows", "UnitSource", "limit_rows", "rows_of_units"]

Run = TypeVar("Run", bound=Sized)
Integers = npt.NDArray[np.int64]

_FEWEST_ROWS = 2
_KEYS_AT_A_TIME = 1 << 16
_LOGGED_AT_LEAST = 1 << 20


def limit_rows(source: RowSource, most: int, secret: bytes) -> UnitSource:
    """Return at most `most` rows of each unit of a source that was opened with a unit.

    `secret` is a key of 32 bytes that was drawn without a look at the table.

    Notes
    -----
    Claim P20. Which rows are kept depends on the unit column and on the secret alone. When the
    other cells of one unit change, at most `most` rows of what is kept change, in their places.
    """
    return UnitSource(source, rows_of_units(source.unit_keys(_KEYS_AT_A_TIME), most, secret))


def rows_of_units(keys: Iterable[Keys], most: int, secret: bytes) -> npt.NDArray[np.bool_]:
    """Return which rows are kept: of each unit `most`, drawn at random, or all if it has fewer.

    Notes
    -----
    At most `most` rows of a unit are True. When the rows of one unit change, appear or
    disappear, rows of other units keep their value.

    Examples
    --------
    >>> from dpcov.sensitive.tables.keys import as_keys
    >>> runs = (as_keys(np.array(who), "person") for who in ([7, 8, 7], [7, 8]))
    >>> kept = rows_of_units(runs, most=2, secret=bytes(32))
    >>> int(kept[[0, 2, 3]].sum()), kept[[1, 4]].tolist()
    (2, [True, True])
    """
    kept, kinds = _Kept(check_count("most", most, low=1), secret), set()
    for run in keys:
        kinds.update([run.kind] if len(run) else [])
        if len(kinds) > 1:
            raise AssertionError("unreachable: all keys of a source are of one kind")
        kept.add(run.cells)
    return kept.mask()


class _Kept:
    """The rows of each unit that are kept so far: a reservoir of `most` places for each.

    A unit's first rows fill its reservoir. Its row with j rows before it then draws one of j + 1
    places, and takes that of the reservoir's if it is one: each row ends up in it equally often
    (Vitter 1985, algorithm R). A draw is a block of AES under the secret, of the unit and of j, so
    that it is the same wherever in the table the row stands.

    Whole runs are drawn for at once. Rows that are taken are noted, and of two in one place the
    last counts: the notes are tidied when they are twice as many as the places.
    """

    def __init__(self, most: int, secret: bytes) -> None:
        self._most, self._secret = most, secret
        # A unit's number says how many came before it.
        self._units: dict[Hashable, int] = defaultdict(count().__next__)
        self._n_rows = 0
        self._seen = np.zeros(0, dtype=np.int64)
        self._words = np.zeros(0, dtype=np.uint64)
        self._notes: list[tuple[Integers, Integers, Integers]] = []
        self._n_notes, self._most_notes = 0, _LOGGED_AT_LEAST

    def add(self, cells: npt.NDArray[Any]) -> None:
        """Draw for the rows of the next keys."""
        numbers = self._numbers_of(cells)
        self._seen = _with_room(self._seen, len(self._units))
        self._words = _with_room(self._words, len(self._units))
        # By unit, and in the table's order within each.
        rows = np.argsort(numbers, kind="stable")
        units = numbers[rows]
        begins = np.flatnonzero(np.diff(units, prepend=-1))
        lengths = np.diff(begins, append=len(units))
        before = np.arange(len(units)) + np.repeat(self._seen[units[begins]] - begins, lengths)
        self._seen[units[begins]] += lengths
        # Each unit that has one row too many passes here once.
        full = before == self._most
        self._words[units[full]] = key_words(cells[rows[full]])
        places, late = before.copy(), before >= self._most
        places[late] = self._draw(self._words[units[late]], before[late])
        taken = places < self._most
        self._note(units[taken], places[taken], self._n_rows + rows[taken])
        self._n_rows += len(cells)

    def _numbers_of(self, cells: npt.NDArray[Any]) -> Integers:
        """Return the numbers of units, each looked up once where its rows follow one another."""
        heads = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])
        units = cells[heads].tolist()
        numbers = np.fromiter(map(self._units.__getitem__, units), np.int64, len(units))
        return np.repeat(numbers, np.diff(heads, append=len(cells)))

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which of all rows are kept."""
        self._tidy()
        mask = np.zeros(self._n_rows, dtype=np.bool_)
        for _, _, rows in self._notes:
            mask[rows] = True
        return mask

    def _draw(self, words: npt.NDArray[np.uint64], before: Integers) -> Integers:
        """Return for rows of units one of the places from 0 to `before`."""
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import ECB

        blocks = np.stack([words, before.astype(np.uint64)], axis=1).astype("<u8")
        # Each block by itself: equal ones may be seen to be equal, and nobody sees them.
        cipher = Cipher(AES256(self._secret), ECB())  # noqa: S305
        drawn = cipher.encryptor().update(blocks.tobytes())
        halves = np.frombuffer(drawn, dtype="<u8").astype(np.uint64)[::2]
        return (halves % (before.astype(np.uint64) + np.uint64(1))).astype(np.int64)

    def _note(self, units: Integers, places: Integers, rows: Integers) -> None:
        self._notes.append((units, places, rows))
        self._n_notes += len(rows)
        if self._n_notes > self._most_notes:
            self._tidy()

    def _tidy(self) -> None:
        """Forget rows whose place another one took."""
        sizes = np.minimum(self._seen[: len(self._units)], self._most)
        begins = np.cumsum(sizes) - sizes
        kept = np.zeros(int(sizes.sum()), dtype=np.int64)
        for units, places, rows in self._notes:
            kept[begins[units] + places] = rows
        units = np.repeat(np.arange(len(sizes)), sizes)
        self._notes = [(units, np.arange(len(kept)) - begins[units], kept)]
        self._n_notes, self._most_notes = len(kept), 2 * len(kept) + _LOGGED_AT_LEAST


def _with_room(numbers: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return an array with room for so many numbers, zeros where it is new."""
    if len(numbers) >= length:
        return numbers
    room = np.zeros(2 * length, dtype=numbers.dtype)
    room[: len(numbers)] = numbers
    return room


class KeptRows:
    """The rows of another source that a mask keeps, however few.

    Parameters
    ----------
    source : RowSource
        A source that knows the number of its rows, and gives them in the same order each time.
    mask : ndarray of bool, shape (n_rows,)
        Which rows to keep.

    """

    def __init__(self, source: RowSource, mask: npt.NDArray[np.bool_]) -> None:
        if len(mask) != source.n_rows:
            raise InputError(
                f"The table changed while it was read: it has {source.n_rows} rows, and "
                f"{len(mask)} of them said whose they are."
            )
        self._source, self._mask = source, mask
        self.person_column = source.person_column
        self.n_rows: int | None = int(np.count_nonzero(mask))

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self._source.columns

    @property
    def fields(self) -> tuple[Field, ...]:
        """What the columns are."""
        return self._source.fields

    @property
    def left_out(self) -> tuple[str, ...]:
        """Which columns of the table nobody reads, since they are identifiers by their names."""
        return self._source.left_out

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of exactly `size` of the rows that are kept, but for the last."""
        return cut_blocks(self._parts(size), n_columns=len(self.columns), size=size)

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield whose rows they are."""
        return (run.kept(kept) for run, kept in self._with_mask(self._source.unit_keys(size)))

    def _parts(self, size: int) -> Iterator[Part]:
        for block, kept in self._with_mask(self._source.blocks(size)):
            yield list(block[kept].T)

    def _with_mask(self, runs: Iterable[Run]) -> Iterator[tuple[Run, npt.NDArray[np.bool_]]]:
        start = 0
        for run in runs:
            yield run, self._mask[start : start + len(run)]
            start += len(run)


class UnitSource(KeptRows):
    """The rows of a table that count, enough of them to go on.

    Examples
    --------
    >>> from dpcov.sensitive.tables import open_table
    >>> rows = UnitSource(open_table(np.arange(8.0).reshape(4, 2)), np.array([1, 0, 1, 1]) > 0)
    >>> [block[:, 0].tolist() for block in rows.blocks(2)]
    [[0.0, 4.0], [6.0]]
    """

    def __init__(self, source: RowSource, mask: npt.NDArray[np.bool_]) -> None:
        super().__init__(source, mask)
        if self.n_rows is None or self.n_rows < _FEWEST_ROWS:
            raise InputError(
                "The table has too few rows once those beyond each unit's limit are left out; at "
                f"least {_FEWEST_ROWS} needed."
            )

    def split(self, parts: Parts) -> Split | None:
        """Return the pieces of the table, each with its part of the mask."""
        whole = split_rows(self._source, parts)
        if whole is None:
            return None
        return replace(whole, pieces=tuple(map(self._keep, whole.pieces)))

    def _keep(self, piece: Piece) -> Piece:
        # A copy, since a view would take the whole mask along.
        mask = self._mask[piece.start : piece.start + piece.n_rows].copy()
        kept = replace(piece, n_rows=int(np.count_nonzero(mask)))
        return kept.through(partial(KeptRows, mask=mask))
