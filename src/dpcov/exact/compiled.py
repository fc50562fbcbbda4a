"""Compiled loops, if there is numba: for what numpy does in many steps, or while others wait.

Owns whether a loop can be had, and when it is worth its price. Whoever has one must also have a
way without it, with the same numbers: nothing here is ever needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Loop", "compile_loop", "reads", "suits"]

F = TypeVar("F", bound=Callable[..., Any])


def compile_loop(write: Callable[[Any], F]) -> F | None:
    """Return what `write` makes with numba, the module; none, if it cannot be had.

    Loops are not kept on disk: compiling takes a second or less, and a cache needs a folder that
    may be written and trusted. They let other threads run, and start none.
    """
    compiler = _compiler()
    if compiler.is_orphaned:
        return None
    compiler.at_work.append(write)
    try:
        import numba

        return None if getattr(numba.config, "DISABLE_JIT", False) else write(numba)
    except Exception:  # whatever is wrong with it: it is not needed
        return None
    finally:
        compiler.at_work.remove(write)


class _Compiler:
    """Who compiles in this process, and whether anybody may.

    A process that was forked while a thread compiled has that thread's locks and not the thread:
    it would wait for it for ever.
    """

    def __init__(self) -> None:
        self.at_work: list[Callable[..., Any]] = []
        self.is_orphaned = False
        if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self.is_orphaned = self.is_orphaned or bool(self.at_work)


@lru_cache(maxsize=1)
def _compiler() -> _Compiler:
    return _Compiler()


def reads(numba: Any, kind: str, dimensions: int, layout: str) -> Any:
    """Return the type of an array that a loop only reads: one that nobody may write will do."""
    return numba.types.Array(getattr(numba.types, kind), dimensions, layout, readonly=True)


def suits(cells: npt.NDArray[Any]) -> bool:
    """Say whether a loop can read rows as they are: floats of this machine, row after row."""
    return cells.dtype == np.float64 and cells.flags.aligned and cells.flags.c_contiguous


class Loop(Generic[F]):
    """A loop that is compiled once numpy has done the work for which compiling pays.

    Work is counted for the whole process: who releases many small tables gains as much as who
    releases a large one, and nobody waits for a compiler for longer than for the work before.

    Parameters
    ----------
    write : callable
        From numba, the module, to the compiled loop.
    worth : float
        How many cells numpy works through in the time that compiling takes.
    """

    def __init__(self, write: Callable[[Any], F], worth: float) -> None:
        self._write, self._worth = write, worth
        self._done, self._one_at_a_time = 0, Lock()
        self.ready: F | None = None

    def after(self, cells: int) -> F | None:
        """Count so many more cells, and return the loop if it is there for them."""
        # While one thread compiles, others go on without it.
        if self._done < self._worth and self._one_at_a_time.acquire(blocking=False):
            try:
                self._done += cells
                if self._done >= self._worth:
                    self.ready = compile_loop(self._write)
            finally:
                self._one_at_a_time.release()
        return self.ready
