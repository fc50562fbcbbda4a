"""Compiled loops, if there is numba: for what numpy does in many steps, or while others wait.

Owns whether a loop can be had, and when it is worth its price. Whoever has one must also have a
way without it, with the same numbers: nothing here is ever needed.
"""

from __future__ import annotations

from collections.abc import Callable
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
    try:
        import numba

        return None if getattr(numba.config, "DISABLE_JIT", False) else write(numba)
    except Exception:  # whatever is wrong with it: it is not needed
        return None


def reads(numba: Any, kind: str, dimensions: int, layout: str) -> Any:
    """Return the type of an array that a loop only reads: one that nobody may write will do."""
    return numba.types.Array(getattr(numba.types, kind), dimensions, layout, readonly=True)


def suits(cells: npt.NDArray[Any]) -> bool:
    """Say whether a loop can read cells as they are: floats of this machine, one by one."""
    flags = cells.flags
    return (
        cells.dtype == np.float64 and flags.aligned and (flags.c_contiguous or flags.f_contiguous)
    )


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
        self._loop: F | None = None

    def after(self, cells: int) -> F | None:
        """Count so many more cells, and return the loop if it is there for them."""
        # While one thread compiles, others go on without it.
        if self._done < self._worth and self._one_at_a_time.acquire(blocking=False):
            try:
                self._done += cells
                if self._done >= self._worth:
                    self._loop = compile_loop(self._write)
            finally:
                self._one_at_a_time.release()
        return self._loop
