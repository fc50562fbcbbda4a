"""Who runs our tasks: Dask's schedulers, Spark's executors, or nobody but this process.

Owns the choice, and the threads of this process and the clusters of Dask. A scheduler gets tasks
and gives back values; it knows nothing of rows or tables.
"""

from __future__ import annotations

import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dpcov.errors import DpcovError, ParameterError
from dpcov.exact.threads import blas_threads, usable_cores
from dpcov.sensitive.workers.carried import Refused, allow_transport
from dpcov.sensitive.workers.executors import Executors
from dpcov.sensitive.workers.tasks import (
    import_dask,
    merge_tasks,
    or_explain,
    unless_refused,
)

if TYPE_CHECKING:
    from dask.delayed import Delayed

__all__ = [
    "ClientScheduler",
    "Home",
    "Scheduler",
    "ThreadScheduler",
    "Workers",
    "choose_workers",
    "current_scheduler",
]

T = TypeVar("T")

_RETRIES = 2

Done = Callable[[int], None]


class Scheduler(ABC):
    """Runs tasks that `make_tasks` made.

    Attributes
    ----------
    cores : int
        How many tasks run at a time.
    is_in_order : bool
        Whether they begin in the order in which they are given.
    """

    cores: int
    is_in_order = False

    def each(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        """Yield the values of the tasks in their order, or raise what one refused."""
        return map(unless_refused, self._values(tasks))

    def total(self, tasks: Sequence[Delayed], done: Done) -> Any:
        """Return the sum of all values, or raise what one refused.

        `done` is called with the place of each task that has finished.
        """
        return unless_refused(self._last(merge_tasks(tasks), tasks, done))

    @abstractmethod
    def _values(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        """Yield what the tasks return, in their order."""

    @abstractmethod
    def _last(self, last: Delayed, tasks: Sequence[Delayed], done: Done) -> Any:
        """Return what the last task returns, which depends on those that are watched."""


Workers = Scheduler | Executors
"""Who reads rows and adds them up, if it is not this process."""

Home = Literal["here", "files", "dask", "spark"]
"""Where the rows of a kind of table are."""


def choose_workers(wish: Any, home: Home | None = None) -> Workers | None:
    """Return who works on a table, or None for this process alone.

    `home` is where its rows are, as far as that is known yet.
    """
    if isinstance(wish, str) and wish in ("spark", "driver"):
        if home not in (None, "spark"):
            raise ParameterError(
                f"engine={wish!r} is for Spark data frames, and the table is none. Leave it out, "
                "or use engine='dask'; to let Spark's executors read files, pass the session."
            )
        return Executors() if wish == "spark" else None
    if _is_session(wish):
        if home in ("here", "dask"):
            raise ParameterError(
                "engine is a Spark session, whose executors read files and Spark data frames, and "
                "the table is neither: its rows would go to Spark's disks. Write it to Parquet "
                "files that all executors see and pass their path, or leave engine out."
            )
        return Executors(None if home == "spark" else wish)
    if wish is None:
        if home == "spark":
            return Executors()
        return current_scheduler() if home == "dask" else None
    if isinstance(wish, str) and wish == "dask":
        return current_scheduler()
    # Nobody has a client who did not import distributed.
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(wish, distributed.Client):
        return ClientScheduler(wish)
    raise ParameterError(
        "engine must be None, 'dask' or a distributed.Client, a SparkSession, or for Spark data "
        f"frames 'spark' or 'driver'; got {_describe(wish)}."
    )


def current_scheduler() -> Scheduler:
    """Return the cluster that this process is connected to, or else its own threads."""
    import_dask()
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            # Not get_client: inside of a task it would wait for the worker that it blocks.
            return ClientScheduler(distributed.default_client())
        except ValueError:
            pass
    return ThreadScheduler()


class ThreadScheduler(Scheduler):
    """Dask's threads in this process, one for each core.

    The products in BLAS and most of numpy let other threads run meanwhile, rows in memory are
    not copied, and sums never leave the process.
    """

    def __init__(self) -> None:
        self.cores = usable_cores()

    def _values(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        # At once: tasks may share what they depend on, which is then computed once.
        compute = import_dask().compute
        with blas_threads(1):
            values = or_explain(
                lambda: compute(*tasks, scheduler="threads", num_workers=self.cores)
            )
        return iter(values)

    def _last(self, last: Delayed, tasks: Sequence[Delayed], done: Done) -> Any:
        from dask.callbacks import Callback

        place_of = {task.key: place for place, task in enumerate(tasks)}
        # What `done` raises is the caller's own, and not a failure of the tasks.
        raised: list[Exception] = []

        def finished(key: Any, *_: Any) -> None:
            if key in place_of:
                try:
                    done(place_of[key])
                except Exception as error:
                    raised.append(error)
                    raise

        try:
            with Callback(posttask=finished):
                (value,) = self._values([last])
        except DpcovError:
            if not raised:
                raise
        if raised:
            raise raised[0]
        return value


class ClientScheduler(Scheduler):
    """The workers of a Dask cluster.

    A task whose worker dies is run again by another, and so are those whose sums died with it.
    """

    is_in_order = True

    def __init__(self, client: Any) -> None:
        if client.asynchronous:
            raise ParameterError(
                "engine is an asynchronous Client; dpcov.release waits for its result and needs "
                "one made with asynchronous=False."
            )
        if client.status != "running":
            raise ParameterError(
                f"engine is a Client that is {client.status}; connect a new one to the cluster."
            )
        allow_transport()
        self._client = client
        self.cores = max(1, sum(self._or_explain(client.nthreads).values()))

    def _values(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        futures = self._send(tasks)
        futures.reverse()
        try:
            while futures:
                value = self._or_explain(futures[-1].result)
                futures.pop().release()
                yield value
        finally:
            _forget(futures)

    def _last(self, last: Delayed, tasks: Sequence[Delayed], done: Done) -> Any:
        from distributed import as_completed

        place_of = {task.key: place for place, task in enumerate(tasks)}
        final, *watched = self._send([last, *tasks])
        # The client's own loop: it need not be the one that this process has by default.
        finished = as_completed(watched, loop=self._client.loop)
        # A sum that somebody holds on to would stay in the memory of its worker.
        held = [weakref.ref(future) for future in watched]
        del watched
        try:
            for future in finished:
                if future.status != "finished" or future.type is Refused:
                    return self._or_explain(future.result)
                done(place_of[future.key])
            return self._or_explain(final.result)
        finally:
            finished.clear()
            _forget([final, *(each for ref in held if (each := ref()) is not None)])

    def _send(self, tasks: Sequence[Delayed]) -> list[Any]:
        def send() -> list[Any]:
            # Rows in memory travel with the tasks; that they are long is no news.
            quiet = {"distributed.admin.large-graph-warning-threshold": "1 PB"}
            with import_dask().config.set(quiet):
                futures: list[Any] = self._client.compute(list(tasks), retries=_RETRIES)
                return futures

        return self._or_explain(send)

    def _or_explain(self, ask: Callable[[], T]) -> T:
        return or_explain(ask, lambda: self._client.status != "running")


def _forget(futures: Sequence[Any]) -> None:
    """Let the cluster forget what nobody waits for any more.

    Distributed holds on to futures that are watched. Tasks would go on after a failure, and one
    of the caller's that failed would fail again at once, without being tried.
    """
    for future in futures:
        future.release()


def _is_session(wish: Any) -> bool:
    """Return whether it is a Spark session, classic or of Spark Connect."""
    kind = type(wish)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "SparkSession"


def _describe(wish: Any) -> str:
    return repr(wish) if isinstance(wish, str) else f"a {type(wish).__name__}"
