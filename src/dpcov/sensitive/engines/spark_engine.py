"""The engine that adds up the partitions of a Spark frame, or files, on Spark's executors.

Owns the way of a partition, or of some pieces of files: they are read and summed where a task
runs, with the same kernels as everywhere, and come back as one box, which is opened and added up
here. Spark only decides where our own kernel runs, and how often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, chain
from multiprocessing.reduction import ForkingPickler
from operator import add
from typing import Any, TypeVar

from dpcov.errors import EngineError, InputError, ParameterError
from dpcov.progress import Tell
from dpcov.sensitive.engines.paired import PairedSums, Pairing, pairing_of, sum_rows
from dpcov.sensitive.engines.piecewise import choose_parts, starts_of, sum_piece
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.pieces import FilePiece, Piece, Split, split_rows
from dpcov.sensitive.workers.carried import Carried
from dpcov.sensitive.workers.executors import Executors, Partitions

__all__ = ["SparkEngine", "SumPartition", "SumPieces"]

S = TypeVar("S")

_CHANGED = (
    "The Spark data frame changed while it was read: it has another number of rows, or its rows "
    "came in another order or with other units, than when they were counted. Nothing was released. "
    "Cache it, or write it to Parquet files and pass their folder."
)
_UNCUT = (
    "engine is a Spark session, whose executors read Parquet and .npy files, each a part of them. "
    "This file cannot be cut into parts. Write it to Parquet files, or leave engine out."
)
_OTHER_FILES = (
    "The files changed while they were read: their units came in another order, or others came, "
    "than when they were counted. Nothing was released."
)
_NOT_ALL = (
    "Spark did not run the task of each part of the files once. Nothing was released. Try again, "
    "or leave engine out."
)


class SparkEngine:
    """Adds up the partitions of a Spark frame where they are, and files where executors see them.

    Parameters
    ----------
    executors : Executors
        Who works; with a session, on files.
    tell : callable, optional
        Is told how many rows are done.

    Notes
    -----
    Claim P7. Sums are exact integers, so that partitions, their order, and tasks that are run
    again because an executor died, cannot be seen in the result. Rows are counted with them: one
    that is left out, or counted twice, is noticed; and so is a piece of files.
    """

    def __init__(self, executors: Executors, tell: Tell | None = None) -> None:
        self._executors, self._tell = executors, tell

    def run(self, name: str, source: Rows, kernel: Kernel[S]) -> S:
        """Return the sums over all rows. What executors cannot add up is read in this process."""
        if self._executors.session is not None:
            sums: S = self._add_up_files(source, kernel)
        else:
            split = split_rows(source, 1)
            if split is None or split.executors is None:
                return SerialEngine(self._tell).run(name, source, kernel)
            sums = _add_up(split, split.executors, kernel)
        if self._tell is not None:
            self._tell(name, source.n_rows or 0, source.n_rows)
        return sums

    def _add_up_files(self, source: Rows, kernel: Kernel[Any]) -> Any:
        parts = choose_parts(source, kernel, self._executors.cores, is_in_order=True)
        split = split_rows(source, parts)
        if split is None or not all(isinstance(each.open, FilePiece) for each in split.pieces):
            raise ParameterError(_UNCUT)
        work = SumPieces(split.pieces, kernel, pairing_of(split, kernel))
        places = self._executors.numbered(len(split.pieces))
        found = places.run(work, value_bytes=_value_bytes(kernel))
        if sorted(chain.from_iterable(done for done, _ in found)) != [*range(len(split.pieces))]:
            raise EngineError(_NOT_ALL)
        total = reduce(add, (carried for _, carried in found))
        if split.order is not None and total.order != split.order:
            raise InputError(_OTHER_FILES)
        return _finish(total, sum(piece.n_rows for piece in split.pieces))


def _add_up(split: Split, executors: Partitions, kernel: Kernel[Any]) -> Any:
    n_rows = sum(piece.n_rows for piece in split.pieces)
    starts: tuple[int, ...] | None = None
    if split.order is not None:
        starts = tuple(accumulate((piece.n_rows for piece in split.pieces), initial=0))
    elif split.pairing is not None:
        counted = sorted(executors.run(count_rows))
        starts = tuple(accumulate((seen for _, seen in counted), initial=0))
    # Tasks of partitions whose place matters must stay apart; others may have several.
    size = _value_bytes(kernel) if starts is None else None
    work = SumPartition(split.pieces, kernel, pairing_of(split, kernel), starts)
    found = executors.run(work, value_bytes=size)
    if not found or sum(seen for seen, _ in found) != n_rows:
        raise InputError(_CHANGED)
    total = reduce(add, (carried for _, carried in found))
    if split.order is not None and total.order != split.order:
        raise InputError(_CHANGED)
    return _finish(total, n_rows)


def _value_bytes(kernel: Kernel[Any]) -> int:
    """Return how many bytes the sums of a kernel have at least."""
    return len(ForkingPickler.dumps(Carried(kernel.sum_over(()))))


def _finish(total: Carried, n_rows: int) -> Any:
    return total.sums.finish(n_rows) if isinstance(total.sums, PairedSums) else total.sums


def count_rows(place: int, batches: Iterator[Any]) -> tuple[int, int]:
    """Return the number of a partition, and how many rows it has."""
    return place, sum(map(len, batches))


@dataclass(frozen=True, eq=False)
class SumPartition:
    """Reads a partition and adds it up, on one thread: other tasks have the other cores.

    Parameters
    ----------
    pieces : tuple of Piece
        One for each partition; or only one, for any.
    kernel : Kernel
        How rows become sums.
    pairing : Pairing, optional
        How they are paired.
    starts : tuple of int, optional
        Where the rows of each partition begin, where that matters, and where the last end.
    """

    pieces: tuple[Piece, ...]
    kernel: Kernel[Any]
    pairing: Pairing | None = None
    starts: tuple[int, ...] | None = None

    def __call__(self, place: int, batches: Iterator[Any]) -> tuple[int, Carried]:
        """Return how many of the rows count, and their sums."""
        start, stop = 0, None
        if self.starts is not None:
            if place + 1 >= len(self.starts):
                raise InputError(_CHANGED)
            start, stop = self.starts[place : place + 2]
        piece = self.pieces[place if len(self.pieces) > 1 else 0]
        source: Any = piece.open(batches)
        rows: Rows = source
        for layer in piece.layers:
            rows = layer(rows)
        sums = sum_rows(rows, self.kernel, start=start, pairing=self.pairing)
        seen = source.n_read if rows.n_rows is None else rows.n_rows
        if stop is not None and seen != stop - start:
            raise InputError(_CHANGED)
        return seen, Carried(sums, source.order)

    def __repr__(self) -> str:
        return "SumPartition()"


@dataclass(frozen=True, eq=False)
class SumPieces:
    """Reads pieces of files and adds them up: those whose numbers are the cells of a partition.

    Parameters
    ----------
    pieces : tuple of Piece
        All of them.
    kernel : Kernel
        How rows become sums.
    pairing : Pairing, optional
        How they are paired.
    """

    pieces: tuple[Piece, ...]
    kernel: Kernel[Any]
    pairing: Pairing | None = None

    def __call__(self, place: int, batches: Iterator[Any]) -> tuple[list[int], Carried]:
        """Return the numbers of the pieces, and their sums."""
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        starts = starts_of(self.pieces)
        found = (
            sum_piece(self.pieces[number], None, self.kernel, self.pairing, starts[number])
            for number in numbers
        )
        return numbers, reduce(add, found)

    def __repr__(self) -> str:
        return "SumPieces()"
