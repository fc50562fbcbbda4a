"""Engines: who reads the blocks of a table and adds them up.

Owns the protocol, and the engine that reads in this process. Sums can be added exactly, so
every engine and every partition gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.progress import Tell
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.workers.executors import Executors
from dpcov.sensitive.workers.schedulers import Workers

__all__ = ["Engine", "SerialEngine", "choose_engine"]

S = TypeVar("S")


class Engine(Protocol):
    """Adds up what a kernel makes of all rows of a source."""

    def run(self, name: str, source: Rows, kernel: Kernel[S]) -> S:
        """Return the sums over all rows; `name` is for a progress bar."""


class SerialEngine:
    """Reads one block after the other, in this process."""

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell

    def run(self, name: str, source: Rows, kernel: Kernel[S]) -> S:
        """Return the sums over all rows."""
        return kernel.sum_over(self._watched(name, source, kernel.block_rows))

    def _watched(self, name: str, source: Rows, size: int) -> Iterable[npt.NDArray[Any]]:
        seen = 0
        for block in source.blocks(size):
            yield block
            seen += len(block)
            if self._tell is not None:
                self._tell(name, seen, source.n_rows)
        if source.n_rows is not None and seen != source.n_rows:
            raise InputError(
                "The table changed while it was read: it has another number of rows than when it "
                "was opened, or than in the reading before. Nothing was released."
            )


def choose_engine(workers: Workers | None, tell: Tell | None) -> Engine:
    """Return the engine for some workers, or for none."""
    if workers is None:
        from dpcov.sensitive.engines.threaded import ThreadedEngine

        return ThreadedEngine(tell)
    if isinstance(workers, Executors):
        from dpcov.sensitive.engines.spark_engine import SparkEngine

        return SparkEngine(workers, tell)
    from dpcov.sensitive.engines.dask_engine import DaskEngine

    return DaskEngine(workers, tell)
