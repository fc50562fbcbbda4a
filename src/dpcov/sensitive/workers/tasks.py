"""Tasks of Dask: how they are made, merged, and explained when they fail.

Owns the one way for threads and clusters. Names of tasks are random, since Dask's own are made
from what a task is given.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

from dpcov.errors import DpcovError, EngineError, InputError, MissingExtraError
from dpcov.sensitive.workers.carried import Refused, add_carried, run_guarded
from dpcov.version import __version__

if TYPE_CHECKING:
    from dask.delayed import Delayed

__all__ = ["import_dask", "make_tasks", "merge_tasks", "or_explain", "unless_refused"]

T = TypeVar("T")

_FAILED = (
    "Dask could not compute the table. Its own tasks failed, a partition has other columns or "
    f"types than it declares, or a worker lacks dpcov {__version__} or what it depends on. What "
    "was said may quote a cell and is not repeated; its compute() and the workers' logs show it. "
    "Nothing was released."
)
_KILLED = (
    "Workers died again and again while they worked on the table, as when they run out of "
    "memory. Nothing was released. Give them more memory, or more and smaller partitions."
)
_LOST = (
    "The connection to the Dask cluster was lost, or its work was cancelled. Nothing was released. "
    "Connect to a cluster that runs, and try again."
)


def make_tasks(name: str, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Delayed]:
    """Return one task for each tuple of arguments.

    Their names are random. The arguments are not looked into, but for delayed ones. Workers of a
    cluster begin with the first, and merge what they have before they begin another.
    """
    ranks = range(len(arguments), 0, -1)
    return _name_tasks(name, run_guarded, [(function, *each) for each in arguments], ranks)


def merge_tasks(tasks: Sequence[Delayed]) -> Delayed:
    """Return the task that adds up what tasks return, two by two.

    Each sum needs only its two neighbors, and Dask works through such a tree branch by branch:
    of n sums about log₂ n wait for another at a time.
    """
    level, ranks = list(tasks), repeat(len(tasks) + 1)
    while len(level) > 1:
        pairs = [(level[place], level[place + 1]) for place in range(0, len(level) - 1, 2)]
        level = [*_name_tasks("merge", add_carried, pairs, ranks), *level[2 * len(pairs) :]]
    return level[0]


def _name_tasks(
    name: str, function: Any, arguments: Sequence[tuple[Any, ...]], ranks: Iterable[int]
) -> list[Delayed]:
    dask = import_dask()
    run = dask.delayed(function, pure=False, traverse=False)
    prefix = f"dpcov-{name.replace(' ', '-')}-{uuid.uuid4().hex}"
    tasks = []
    # Above 0, which is what a caller's own tasks have: rows are added up before more are computed.
    for place, (each, rank) in enumerate(zip(arguments, ranks, strict=False)):
        with dask.annotate(priority=rank):
            tasks.append(run(__version__, *each, dask_key_name=f"{prefix}-{place}"))
    return tasks


def or_explain(ask: Callable[[], T], is_lost: Callable[[], bool] = lambda: False) -> T:
    """Return what `ask` returns, or raise an error of our own that is chained to nothing.

    `is_lost` says whether there is a cluster no more: a client that was closed fails in any way.
    """
    try:
        return ask()
    except Exception as error:
        refusal = _explain(error, is_lost())
    raise refusal.error


def unless_refused(value: Any) -> Any:
    """Return what a task returned, or raise what it refused."""
    if isinstance(value, Refused):
        raise value.error
    return value


def _explain(error: Exception, is_lost: bool) -> Refused:
    """Return what may be said of a failure outside of our own functions."""
    if isinstance(error, DpcovError):
        return Refused(type(error), str(error))
    if isinstance(error, MemoryError):
        return Refused(MemoryError, "")
    name = type(error).__name__
    if name == "KilledWorker":
        return Refused(EngineError, _KILLED)
    if is_lost or "Cancelled" in name or "CommClosed" in name:
        return Refused(EngineError, _LOST)
    return Refused(InputError, _FAILED)


def import_dask() -> Any:
    """Return Dask, or say how to install it."""
    try:
        import dask.delayed
    except ImportError:
        raise MissingExtraError(
            "engine='dask' and Dask collections need Dask: pip install 'dpcov[dask]'"
        ) from None
    return dask
