"""How many threads the exact products use.

Owns the number of cores and the limit on BLAS, so that engines do not oversubscribe.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["allowed_threads", "blas_threads", "usable_cores"]


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def allowed_threads() -> int:
    """Return the number of cores, or of the threads that BLAS was allowed, if that is less.

    Whoever set ``OPENBLAS_NUM_THREADS`` or a limit of threadpoolctl has other plans for the
    cores. No BLAS that is known to threadpoolctl means no limit.
    """
    allowed: list[int] = [pool.num_threads for pool in _blas_pools()]
    return max(1, min([usable_cores(), *filter(None, allowed)]))


@contextmanager
def blas_threads(threads: int) -> Iterator[None]:
    """Limit BLAS to some threads while the block runs."""
    with _overlap(), _controller().limit(limits=threads, user_api="blas"):
        yield


class _Overlap:
    """Puts back the number of threads when the last of several blocks ends.

    Most BLAS have one number for the process, and blocks on two threads overlap in any order:
    each alone would put back what it found, which may be the limit of the other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                # Without a limit it only remembers.
                self._before = _controller().limit(limits=None, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _give_up_control()
                self._before.restore_original_limits()
                _give_up_control()


def _give_up_control() -> None:
    """Let any thread set limits: newer versions let only the first that did."""
    import threadpoolctl

    found: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(found, "clear_controlling_thread"):
        found.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _overlap() -> _Overlap:
    return _Overlap()


@lru_cache(maxsize=1)
def _blas_pools() -> list[Any]:
    pools: list[Any] = _controller().select(user_api="blas").lib_controllers
    return pools


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
