"""The engine of this process: pieces of a table in memory side by side, one for each thread.

Owns when that is worth it. Reading cells, which is most of the work with few columns, is then
done by all threads; sums can be added exactly, so that the pieces cannot be seen in the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy.typing as npt

from dpcov.exact.threads import allowed_threads, blas_threads
from dpcov.progress import Tell
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.pieces import MemoryPiece, Piece, split_rows

__all__ = ["ThreadedEngine"]

S = TypeVar("S")


class ThreadedEngine:
    """Reads pieces of a table in memory on several threads, and any other table in one.

    Parameters
    ----------
    tell : callable, optional
        Is told how many rows are done, on the thread of the caller.

    Notes
    -----
    Claim P7. Sums are exact integers: how many pieces there are cannot be seen in the result.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell

    def run(self, name: str, source: Rows, kernel: Kernel[S]) -> S:
        """Return the sums over all rows."""
        pieces = self._pieces(source, kernel)
        if len(pieces) < 2:
            return SerialEngine(self._tell).run(name, source, kernel)
        seen: SimpleQueue[int | None] = SimpleQueue()

        def add_up(piece: Piece) -> S:
            try:
                return kernel.sum_over(_counted(piece, kernel.block_rows, seen), threads=1)
            finally:
                seen.put(None)

        with blas_threads(1), ThreadPoolExecutor(len(pieces)) as pool:
            futures = [pool.submit(add_up, piece) for piece in pieces]
            self._watch(name, source.n_rows, seen, len(pieces))
            sums: S = reduce(add, (future.result() for future in futures))
        return sums

    def _pieces(self, source: Rows, kernel: Kernel[Any]) -> tuple[Piece, ...]:
        """Return one piece for each thread; none, if one thread or another way is better."""
        blocks = -(-(source.n_rows or 0) // kernel.block_rows)
        threads = min(allowed_threads(), blocks)
        if threads < 2 or not getattr(kernel, "has_small_sums", False):
            return ()
        split = split_rows(source, threads)
        if split is None or not all(isinstance(each.open, MemoryPiece) for each in split.pieces):
            return ()
        # Where the place of a row matters, as in differences, another engine looks after it.
        return split.pieces if split.order is None and split.pairing is None else ()

    def _watch(
        self, name: str, n_rows: int | None, seen: SimpleQueue[int | None], working: int
    ) -> None:
        """Tell how many rows were read, until all threads are done."""
        done = 0
        while working:
            rows = seen.get()
            if rows is None:
                working -= 1
            elif self._tell is not None:
                done += rows
                self._tell(name, done, n_rows)


def _counted(piece: Piece, size: int, seen: SimpleQueue[int | None]) -> Iterator[npt.NDArray[Any]]:
    """Yield the blocks of a piece, and say how many rows each had when it is done."""
    rows: Rows = piece.open(None)
    for layer in piece.layers:
        rows = layer(rows)
    for block in rows.blocks(size):
        yield block
        seen.put(len(block))
