"""Reports that came and wait for their commit, together.

Owns the queue. While one commit is being written to the disk, others gather; the next commit has
all of them. So a report waits for one commit or two, however many come at once, and nobody is
told "accepted" before the disk has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dpcov.collect.store import Outcome
from dpcov.errors import CollectionError
from dpcov.local.report import Reports

__all__ = ["Arrivals"]

_MOST_TOGETHER = 1 << 17  # reports of one commit; a single request may have more


@dataclass(frozen=True)
class _Waiting:
    reports: Reports
    answer: asyncio.Future[Outcome]


class Arrivals:
    """The queue before a collection.

    Parameters
    ----------
    add : callable
        Commits batches, and returns what became of each. It is called in a thread of its own,
        once at a time.
    observe : callable
        Told how many reports a commit had, and how many seconds it took.
    """

    def __init__(
        self,
        add: Callable[[list[Reports]], Sequence[Outcome]],
        observe: Callable[[int, float], None] = lambda _count, _seconds: None,
    ) -> None:
        self._add, self._observe = add, observe
        self._waiting: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commits")
        self._committing: asyncio.Task[None] | None = None

    async def submit(self, reports: Reports) -> Outcome:
        """Wait until reports are on the disk, and return what became of them.

        Raises
        ------
        CollectionError
            The database did not take them.
        """
        loop = asyncio.get_running_loop()
        mine = _Waiting(reports, loop.create_future())
        self._waiting.append(mine)
        if self._committing is None:
            self._committing = loop.create_task(self._commit_all())
        # Whoever leaves does not take the answer from others: the commit goes on.
        return await mine.answer

    async def run(self, work: Callable[[], object]) -> object:
        """Do something with the collection between two commits."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def end(self) -> None:
        """Wait for what was submitted, and end the thread."""
        while self._committing is not None:
            await self._committing
        self._thread.shutdown()

    async def _commit_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                group = self._take_group()
                begun = loop.time()
                problem: Exception | None = None
                outcomes: Sequence[Outcome] = ()
                try:
                    outcomes = await loop.run_in_executor(
                        self._thread, self._add, [each.reports for each in group]
                    )
                except CollectionError as error:
                    problem = error
                except Exception:
                    problem = CollectionError("The reports could not be kept.")
                self._observe(sum(len(each.reports) for each in group), loop.time() - begun)
                for place, each in enumerate(group):
                    if each.answer.done():  # the client left
                        continue
                    if problem is not None:
                        each.answer.set_exception(problem)
                    else:
                        each.answer.set_result(outcomes[place])
        finally:
            self._committing = None

    def _take_group(self) -> list[_Waiting]:
        taken, count = 0, 0
        for each in self._waiting:
            if taken and count + len(each.reports) > _MOST_TOGETHER:
                break
            taken, count = taken + 1, count + len(each.reports)
        group, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return group
