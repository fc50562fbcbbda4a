"""Answers that many wait for and the database gives once.

Owns how long one holds. Anybody may ask how a service is, as often as they like; commits must not
wait for that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["Shared"]

_Answer = TypeVar("_Answer")


class Shared(Generic[_Answer]):
    """One answer for all who ask while it is being found, and for some seconds after.

    Parameters
    ----------
    ask : callable
        Finds the answer.
    fresh : float
        Seconds, from when it was asked, for which it holds. A failure holds for nobody else.
    """

    def __init__(self, ask: Callable[[], Awaitable[_Answer]], fresh: float) -> None:
        self._ask, self._fresh = ask, fresh
        self._task: asyncio.Task[_Answer] | None = None
        self._begun = 0.0

    async def answer(self) -> _Answer:
        """Return the answer, or raise what came instead of one."""
        if self._task is None or (self._task.done() and self._is_over(self._task)):
            self._begun = time.monotonic()
            self._task = asyncio.ensure_future(self._found())
            self._task.add_done_callback(_note)
        # Whoever stops waiting does not stop it for others.
        return await asyncio.shield(self._task)

    def forget(self) -> None:
        """Ask again, the next time."""
        self._task = None

    async def _found(self) -> _Answer:
        return await self._ask()

    def _is_over(self, task: asyncio.Task[_Answer]) -> bool:
        failed = task.cancelled() or task.exception() is not None
        return failed or time.monotonic() - self._begun > self._fresh


def _note(task: asyncio.Task[_Answer]) -> None:
    """Take note of a failure that nobody waits for any more: it is not to be logged."""
    if not task.cancelled():
        task.exception()
