"""The engine that adds up the pieces of a table on Dask's workers.

Owns the way of a piece: it is read and summed where a task runs, and sums are merged two by
two on the way back. The noise is drawn by who called the engine, once. Dask only decides
where our own kernel runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from dpcov.errors import InputError
from dpcov.progress import Tell
from dpcov.sensitive.engines.paired import PairedSums, pairing_of
from dpcov.sensitive.engines.piecewise import choose_parts, starts_of, sum_piece
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.pieces import Parts, split_rows
from dpcov.sensitive.workers.carried import Carried
from dpcov.sensitive.workers.schedulers import Scheduler
from dpcov.sensitive.workers.tasks import make_tasks

__all__ = ["DaskEngine"]

S = TypeVar("S")


class DaskEngine:
    """Adds up pieces of a table on the workers of a scheduler.

    Parameters
    ----------
    scheduler : Scheduler
        Who runs the tasks.
    tell : callable, optional
        Is told how many rows are done.
    parts : int, optional
        How many pieces to make of tables that can be cut anywhere; by default see `choose_parts`.

    Notes
    -----
    Claim P7. Sums are exact integers, so that the pieces, their order, and tasks that are run
    again because a worker died, cannot be seen in the result.
    """

    def __init__(
        self, scheduler: Scheduler, tell: Tell | None = None, *, parts: int | None = None
    ) -> None:
        self._scheduler, self._tell, self._parts = scheduler, tell, parts

    def run(self, name: str, source: Rows, kernel: Kernel[S]) -> S:
        """Return the sums over all rows. What cannot be cut is read in this process."""
        split = split_rows(source, self._count(source, kernel))
        if split is None or (len(split.pieces) == 1 and split.pieces[0].delayed is None):
            return SerialEngine(self._tell).run(name, source, kernel)
        lengths = [piece.n_rows for piece in split.pieces]
        pairing = pairing_of(split, kernel)
        tasks = make_tasks(
            name,
            sum_piece,
            [
                (replace(piece, delayed=None), piece.delayed, kernel, pairing, start)
                for piece, start in zip(split.pieces, starts_of(split.pieces), strict=False)
            ],
        )
        done, n_rows = 0, sum(lengths)

        def count(place: int) -> None:
            nonlocal done
            done += lengths[place]
            if self._tell is not None:
                # Of differences there are half as many as rows.
                self._tell(name, done // (1 if pairing is None else 2), source.n_rows)

        total: Carried = self._scheduler.total(tasks, count)
        if split.order is not None and total.order != split.order:
            raise InputError(
                "The table changed while it was read: its rows came in another order, or with "
                "other units, than when they were counted. Nothing was released. Write it to "
                "Parquet files and pass their folder."
            )
        sums: S = total.sums.finish(n_rows) if isinstance(total.sums, PairedSums) else total.sums
        return sums

    def _count(self, source: Rows, kernel: Kernel[Any]) -> Parts:
        if self._parts is not None:
            return self._parts
        scheduler = self._scheduler
        return choose_parts(source, kernel, scheduler.cores, is_in_order=scheduler.is_in_order)
