"""Pieces of a table, to be read in several places at once.

Owns the split: which rows go together. It is made of public facts, names of files and
slices, never of cells. Kinds of tables without a `split` are read in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.workers.executors import Partitions

if TYPE_CHECKING:
    from dpcov.sensitive.tables.source import Rows, RowSource

__all__ = [
    "FilePiece",
    "MemoryPiece",
    "Parts",
    "Piece",
    "Split",
    "cut_range",
    "cut_runs",
    "split_rows",
    "tapering",
]

Parts = int | Sequence[int]
"""How many pieces of one length there should be, or how long each is beside the others."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a table, and how to read them. It can be sent to another process.

    Parameters
    ----------
    open : callable
        From what a scheduler computed, or None, to a source of raw rows.
    n_rows : int
        How many rows come out of it; of all of them, if it stands for any partition of a frame.
    start : int
        The place of its first raw row in the whole table.
    delayed : object, optional
        What a scheduler has to compute first: a partition of a Dask collection.
    layers : tuple of callable
        What is done with the raw rows, in this order.
    has_units : bool
        Whether the order of the unit column is to be checked.
    """

    open: Callable[[Any], RowSource]
    n_rows: int
    start: int
    delayed: Any = None
    layers: tuple[Callable[[Any], Rows], ...] = ()
    has_units: bool = False

    def through(self, layer: Callable[[Any], Rows]) -> Piece:
        """Return the same piece, with one more thing done to its rows."""
        return replace(self, layers=(*self.layers, layer))

    def __repr__(self) -> str:
        # It may hold rows, and schedulers write the arguments of a task into their logs.
        return "Piece()"


@dataclass(frozen=True, eq=False)
class Split:
    """All pieces of a table, in its order.

    Parameters
    ----------
    pieces : tuple of Piece
        Each row is in one of them.
    order : KeyOrder, optional
        What the orders of the unit column in all pieces must add up to.
    executors : Partitions, optional
        Who has the rows, if these cannot be read from here: piece k is that of partition k, or
        the only one that of each.
    pairing : int, optional
        The seed with which rows are paired, if differences of rows are to be added up.
    """

    pieces: tuple[Piece, ...]
    order: KeyOrder | None = None
    executors: Partitions | None = None
    pairing: int | None = None

    @classmethod
    def of(
        cls,
        opened: Sequence[tuple[Callable[[Any], RowSource], int]],
        order: KeyOrder | None = None,
    ) -> Split:
        """Return the split into pieces of known lengths."""
        pieces, start = [], 0
        for open_piece, n_rows in opened:
            pieces.append(Piece(open_piece, n_rows, start, has_units=order is not None))
            start += n_rows
        return cls(tuple(pieces), order)

    def through(self, layer: Callable[[Any], Rows]) -> Split:
        """Return the same split, with one more thing done to the rows of every piece."""
        return replace(self, pieces=tuple(piece.through(layer) for piece in self.pieces))


@dataclass(frozen=True, eq=False)
class MemoryPiece:
    """A source that goes wherever its piece goes."""

    source: RowSource

    def __call__(self, computed: None) -> RowSource:
        """Return the source."""
        return self.source

    def __repr__(self) -> str:
        return "MemoryPiece()"


@dataclass(frozen=True, eq=False)
class FilePiece:
    """A part of files, which must lie at the same paths wherever it is read."""

    source: RowSource
    files: tuple[Path, ...]

    def __call__(self, computed: None) -> RowSource:
        """Return the source, or refuse when a file is not there."""
        for path in self.files:
            if not path.exists():
                raise InputError(
                    f"A worker does not find {str(path)!r}. All workers must see the files at the "
                    "same paths, or read the table without an engine."
                )
        return self.source


def split_rows(rows: Rows, parts: Parts) -> Split | None:
    """Return the rows in about such pieces, or None if they are of a kind without pieces."""
    split: Callable[[Parts], Split | None] | None = getattr(rows, "split", None)
    return None if split is None else split(parts)


def tapering(length: int, cores: int) -> list[int]:
    """Return lengths of pieces for workers that take the next one as soon as they have time.

    Each is half of what a core would get of the rest: the first ones are long, which costs little
    time between them, and the last are of length 1, so that nobody waits long for the others.

    Examples
    --------
    >>> tapering(28, 2)
    [7, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    """
    lengths = []
    while length:
        lengths.append(max(1, length // (2 * cores)))
        length -= lengths[-1]
    return lengths


def cut_range(length: int, parts: Parts) -> list[slice]:
    """Cut so many rows into slices; none of them is empty.

    Examples
    --------
    >>> cut_range(10, [3, 1, 1])
    [slice(0, 6, None), slice(6, 8, None), slice(8, 10, None)]
    """
    ends = _ends(parts)
    places = [length * end // ends[-1] for end in ends]
    return [slice(*pair) for pair in pairwise([0, *places]) if pair[0] < pair[1]]


def cut_runs(lengths: Sequence[int], parts: Parts) -> list[slice]:
    """Cut a sequence of lengths into runs, of which there are no more than pieces.

    Examples
    --------
    >>> cut_runs([10, 10, 10, 30], 2)
    [slice(0, 3, None), slice(3, 4, None)]
    """
    ends = _ends(parts)
    total, seen, begun = sum(lengths), 0, 0
    runs: list[slice] = []
    for place, length in enumerate(lengths, start=1):
        seen += length
        if len(runs) + 1 < len(ends) and seen * ends[-1] >= ends[len(runs)] * total:
            runs.append(slice(begun, place))
            begun = place
    last = slice(begun, len(lengths))
    return [*runs, last] if last.start < last.stop else runs


def _ends(parts: Parts) -> list[int]:
    """Return where pieces end, in units of their own."""
    return list(accumulate([1] * parts if isinstance(parts, int) else parts))
