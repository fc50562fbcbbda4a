"""Dask's schedulers: who runs our tasks.

Owns the choice between the threads of this process and a cluster, and what is said when
they fail. A scheduler gets tasks and gives back values; it knows nothing of rows. Names of
tasks are random, since Dask's own are made from what a task is given.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpcov.errors import DpcovError, EngineError, InputError, MissingExtraError, ParameterError
from dpcov.exact.threads import blas_threads, usable_cores
from dpcov.sensitive.carried import Refused, add_carried, allow_transport, run_guarded
from dpcov.sensitive.sources import is_dask
from dpcov.version import __version__

if TYPE_CHECKING:
    from dask.delayed import Delayed

__all__ = [
    "ClientScheduler",
    "Scheduler",
    "ThreadScheduler",
    "choose_scheduler",
    "current_scheduler",
    "make_tasks",
]

T = TypeVar("T")

_RETRIES = 2
_FAILED = (
    "Dask could not compute X. Its own tasks failed, a partition has other columns or types than X "
    f"declares, or a worker lacks dpcov {__version__} or what it depends on. What was said may "
    "quote a cell and is not repeated; X.compute() and the workers' logs show it. Nothing was "
    "released."
)
_KILLED = (
    "Workers died again and again while they worked on X, as when they run out of memory. Nothing "
    "was released. Give them more memory, or more and smaller partitions."
)
_LOST = (
    "The connection to the Dask cluster was lost, or its work was cancelled. Nothing was released."
)


class Scheduler(Protocol):
    """Runs tasks that `make_tasks` made."""

    @property
    def cores(self) -> int:
        """How many tasks run at a time."""

    def each(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        """Yield the values of the tasks in their order, or raise what one refused."""

    def total(self, tasks: Sequence[Delayed], done: Callable[[int], None]) -> Any:
        """Return the sum of all values, or raise what one refused.

        `done` is called with the place of each task that has finished.
        """


def choose_scheduler(wish: Any, table: Any) -> Scheduler | None:
    """Return who works on a table, or None for this process alone.

    Parameters
    ----------
    wish : None, "dask" or distributed.Client
        What the caller asks for.
    table : object
        A Dask collection needs Dask, whether it is asked for or not.
    """
    if wish is None:
        return current_scheduler() if is_dask(table) else None
    if isinstance(wish, str) and wish == "dask":
        return current_scheduler()
    # Nobody has a client who did not import distributed.
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(wish, distributed.Client):
        return ClientScheduler(wish)
    raise ParameterError(
        f"engine must be None, 'dask' or a distributed.Client; got {_describe(wish)}."
    )


def current_scheduler() -> Scheduler:
    """Return the cluster that this process is connected to, or else its own threads."""
    _import_dask()
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            # Not get_client: inside of a task it would wait for the worker that it blocks.
            return ClientScheduler(distributed.default_client())
        except ValueError:
            pass
    return ThreadScheduler()


def make_tasks(name: str, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Delayed]:
    """Return one task for each tuple of arguments.

    Their names are random. The arguments are not looked into, but for delayed ones.
    """
    run = _import_dask().delayed(run_guarded, pure=False, traverse=False)
    prefix = f"dpcov-{name.replace(' ', '-')}-{uuid.uuid4().hex}"
    return [
        run(__version__, function, *each, dask_key_name=f"{prefix}-{place}")
        for place, each in enumerate(arguments)
    ]


class ThreadScheduler:
    """Dask's threads in this process, one for each core.

    The products in BLAS and most of numpy let other threads run meanwhile, rows in memory are
    not copied, and sums never leave the process.
    """

    def __init__(self) -> None:
        self.cores = usable_cores()

    def each(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        """Yield the values in order."""
        # At once: tasks may share what they depend on, which is then computed once.
        return map(_unless_refused, self._compute(tasks))

    def total(self, tasks: Sequence[Delayed], done: Callable[[int], None]) -> Any:
        """Return the sum of all values."""
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

        add = _import_dask().delayed(add_carried, pure=False, traverse=False)
        prefix, level = f"dpcov-merge-{uuid.uuid4().hex}", list(tasks)
        made = 0
        while len(level) > 1:
            pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
            level = []
            for pair in pairs:
                if len(pair) == 2:
                    pair = [add(__version__, *pair, dask_key_name=f"{prefix}-{made}")]
                    made += 1
                level.append(pair[0])
        try:
            with Callback(posttask=finished):
                (value,) = self._compute(level)
        except DpcovError:
            if not raised:
                raise
        if raised:
            raise raised[0]
        return _unless_refused(value)

    def _compute(self, tasks: Sequence[Delayed]) -> Sequence[Any]:
        compute = _import_dask().compute
        with blas_threads(1):
            return _or_explain(lambda: compute(*tasks, scheduler="threads", num_workers=self.cores))


class ClientScheduler:
    """The workers of a Dask cluster.

    A task whose worker dies is run again by another, and so are those whose sums died with
    it. Sums are merged two by two as they come, so that few of them are alive at a time.
    """

    def __init__(self, client: Any) -> None:
        _import_dask()
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
        self.cores = max(1, sum(_or_explain(client.nthreads).values()))

    def each(self, tasks: Sequence[Delayed]) -> Iterator[Any]:
        """Yield the values in order."""
        futures = self._send(tasks)
        futures.reverse()
        while futures:
            yield self._value(futures.pop())

    def total(self, tasks: Sequence[Delayed], done: Callable[[int], None]) -> Any:
        """Return the sum of all values."""
        from distributed import as_completed

        place_of = {task.key: place for place, task in enumerate(tasks)}
        finished = as_completed(self._send(tasks))
        prefix, made = f"dpcov-merge-{uuid.uuid4().hex}", 0
        waiting: Any = None
        try:
            for future in finished:
                if future.status != "finished" or future.type is Refused:
                    self._value(future)
                if future.key in place_of:
                    done(place_of[future.key])
                if waiting is None:
                    waiting = future
                    continue
                merged = self._client.submit(
                    add_carried,
                    __version__,
                    waiting,
                    future,
                    key=f"{prefix}-{made}",
                    pure=False,
                    retries=_RETRIES,
                )
                finished.add(merged)
                waiting, made = None, made + 1
            return self._value(waiting)
        finally:
            # What nobody waits for any more, the cluster forgets.
            finished.clear()

    def _send(self, tasks: Sequence[Delayed]) -> list[Any]:
        import dask

        def send() -> list[Any]:
            # Rows in memory travel with the tasks; that they are long is no news.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
                futures: list[Any] = self._client.compute(list(tasks), retries=_RETRIES)
                return futures

        return _or_explain(send)

    def _value(self, future: Any) -> Any:
        return _unless_refused(_or_explain(future.result))


def _or_explain(ask: Callable[[], T]) -> T:
    """Return what `ask` returns, or raise an error of our own that is chained to nothing."""
    try:
        return ask()
    except Exception as error:
        refusal = _explain(error)
    raise refusal.error


def _unless_refused(value: Any) -> Any:
    if isinstance(value, Refused):
        raise value.error
    return value


def _explain(error: Exception) -> Refused:
    """Return what may be said of a failure outside of our own functions."""
    if isinstance(error, DpcovError):
        return Refused(type(error), str(error))
    if isinstance(error, MemoryError):
        return Refused(MemoryError, "")
    name = type(error).__name__
    if name == "KilledWorker":
        return Refused(EngineError, _KILLED)
    if "Cancelled" in name or "CommClosed" in name:
        return Refused(EngineError, _LOST)
    return Refused(InputError, _FAILED)


def _import_dask() -> Any:
    try:
        import dask.delayed
    except ImportError:
        raise MissingExtraError(
            "engine='dask' and Dask collections need Dask: pip install 'dpcov[dask]'"
        ) from None
    return dask


def _describe(wish: Any) -> str:
    return repr(wish) if isinstance(wish, str) else f"a {type(wish).__name__}"
