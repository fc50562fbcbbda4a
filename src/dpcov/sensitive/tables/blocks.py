"""Parts of any length become blocks of one length.

Owns the cut: it depends on the number of rows and on nothing else, so neither batches nor
row groups can be seen in what follows, and pairs of rows stay pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.exact.threads import allowed_threads

__all__ = ["Part", "batch_rows", "cut_blocks", "expect_rows", "read_ahead"]

Part = Sequence[npt.NDArray[Any]]
"""Some rows: one array of numbers for each column."""

Run = TypeVar("Run", bound=Sized)

_BATCH_BYTES = 4 << 20
_MOST_BATCH_ROWS = 1 << 16
_AHEAD_BYTES, _MOST_AHEAD = 32 << 20, 16


def batch_rows(n_columns: int) -> int:
    """Return how many rows to ask of a library at a time: about 4 MB."""
    return max(256, min(_MOST_BATCH_ROWS, _BATCH_BYTES // (8 * max(1, n_columns))))


def cut_blocks(
    parts: Iterable[Part], *, n_columns: int, size: int
) -> Iterator[npt.NDArray[np.float64]]:
    """Yield blocks of exactly `size` rows, but for the last.

    Examples
    --------
    >>> parts = [[np.arange(3)], [np.arange(4)]]
    >>> [block.ravel().tolist() for block in cut_blocks(parts, n_columns=1, size=4)]
    [[0.0, 1.0, 2.0, 0.0], [1.0, 2.0, 3.0]]
    """
    shelf = _Shelf((size, n_columns))
    block, filled = shelf.take(), 0
    for part in parts:
        start, length = 0, len(part[0]) if len(part) else 0
        while start < length:
            taken = min(size - filled, length - start)
            for index, column in enumerate(part):
                block[filled : filled + taken, index] = column[start : start + taken]
            start, filled = start + taken, filled + taken
            if filled == size:
                yield block
                del block  # so that only others hold it
                block, filled = shelf.take(), 0
        del part  # before the next one is read: it may be large
    if filled:
        yield block[:filled]


class _Shelf:
    """Arrays of one shape, whose memory is used again once nobody holds them or a part of them.

    To give the memory of each block back and to ask for it again takes the system a tenth of the
    time of reading, and twice that where several processes do so at once.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._free: list[npt.NDArray[np.float64]] = []

    def take(self) -> npt.NDArray[np.float64]:
        """Return an array that nobody else has, with anything in it."""
        memory = self._free.pop() if self._free else np.empty(self._shape, order="F")
        return np.asarray(_Lease(memory, self._free))


class _Lease:
    """Lends memory to an array, and to all views of it; when the last one is gone, it is free."""

    def __init__(
        self, memory: npt.NDArray[np.float64], free: list[npt.NDArray[np.float64]]
    ) -> None:
        # What numpy makes of this holds the lease, and so does all that is made of that.
        self.__array_interface__ = memory.__array_interface__
        self._memory, self._free = memory, free

    def __del__(self) -> None:
        self._free.append(self._memory)


def read_ahead(blocks: Iterable[npt.NDArray[Any]]) -> Iterator[npt.NDArray[Any]]:
    """Yield the blocks, and read the next ones on another thread while one is used.

    Of small blocks several: a reader may have many of them at once, and then none for a while.

    Where one thread is allowed the cores are taken, as by other pieces of the same table.

    Examples
    --------
    >>> [len(block) for block in read_ahead([np.ones((3, 1)), np.ones((2, 1))])]
    [3, 2]
    """
    iterator = iter(blocks)
    if allowed_threads() == 1:
        yield from iterator
        return
    thread = ThreadPoolExecutor(1)
    try:
        coming = deque([thread.submit(next, iterator, None)])
        while (block := coming.popleft().result()) is not None:
            ahead = min(_MOST_AHEAD, max(1, _AHEAD_BYTES // max(1, block.nbytes)))
            coming.extend(thread.submit(next, iterator, None) for _ in range(ahead - len(coming)))
            yield block
    finally:
        # Whoever stops does not wait for more than the block that is being read.
        thread.shutdown(cancel_futures=True)


def expect_rows(blocks: Iterable[Run], n_rows: int, name: str) -> Iterator[Run]:
    """Yield blocks or runs, and refuse when they do not have `n_rows` rows together."""
    seen = 0
    for block in blocks:
        seen += len(block)
        if seen > n_rows:
            break
        yield block
    if seen != n_rows:
        raise InputError(
            f"{name} changed while it was read: it had {n_rows} rows when it was opened, and "
            "then another number. Nothing was released."
        )
