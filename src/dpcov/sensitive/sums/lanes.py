"""Blocks side by side: each lane takes the next block that is there, and has sums of its own.

Owns the order of work on several threads: blocks are read on the thread of the caller while
lanes work on those before, and few wait at a time. Nothing is shared between lanes, and exact
sums can be added, so it cannot be seen which of them had which block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any, Protocol

import numpy.typing as npt

__all__ = ["Lane", "work_in_lanes"]


class Lane(Protocol):
    """Whoever adds blocks, one after the other."""

    def add(self, block: npt.NDArray[Any]) -> None:
        """Add a block."""


def work_in_lanes(
    lanes: Sequence[Lane], blocks: Iterable[npt.NDArray[Any]], pool: Executor
) -> None:
    """Give every block to one of the lanes; one lane alone works on the thread of the caller.

    A block must keep its memory until the lane is done: sources do not write into a block again.
    """
    if len(lanes) == 1:
        for block in blocks:
            lanes[0].add(block)
        return
    free: SimpleQueue[Lane] = SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def work(block: npt.NDArray[Any]) -> None:
        lane = free.get()
        try:
            lane.add(block)
        finally:
            # Also one that failed: another block may wait for it, and then nobody would end.
            free.put(lane)

    waiting: deque[Future[None]] = deque()
    try:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > len(lanes):
                waiting.popleft().result()
        while waiting:
            waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
