"""The engine that adds up the pieces of a table on Dask's workers.

Owns the way of a piece: it is read and summed where a task runs, and sums are merged two by
two on the way back. The noise is drawn by who called the engine, once. Dask only decides
where our own kernel runs.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeVar

from dpcov.errors import InputError
from dpcov.progress import Tell
from dpcov.sensitive.engines.paired import PairedSums, Pairing, pairing_of, sum_rows
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.pieces import Parts, Piece, split_rows, tapering
from dpcov.sensitive.workers.carried import Carried
from dpcov.sensitive.workers.schedulers import Scheduler
from dpcov.sensitive.workers.tasks import make_tasks

__all__ = ["DaskEngine"]

S = TypeVar("S")

_PIECES_A_CORE = 4  # so that a slow one, or one that is run again, does not hold up all
_STEPS_A_CORE = 16  # the last ones are so short that workers end at about the same time
_KEYS_AT_A_TIME = 1 << 16


class DaskEngine:
    """Adds up pieces of a table on the workers of a scheduler.

    Parameters
    ----------
    scheduler : Scheduler
        Who runs the tasks.
    tell : callable, optional
        Is told how many rows are done.
    parts : int, optional
        How many pieces to make of tables that can be cut anywhere; by default four for each
        core, or some more that grow shorter, but none shorter than a block.

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
        # In rows that count, which are those that are paired.
        starts = accumulate(lengths, initial=0)
        tasks = make_tasks(
            name,
            sum_piece,
            [
                (replace(piece, delayed=None), piece.delayed, kernel, pairing, start)
                for piece, start in zip(split.pieces, starts, strict=False)
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
        blocks = max(1, -(-(source.n_rows or 0) // kernel.block_rows))
        cores = self._scheduler.cores
        if self._scheduler.is_in_order:
            return tapering(min(_STEPS_A_CORE * cores, blocks), cores)
        return min(_PIECES_A_CORE * cores, blocks)


def sum_piece(
    piece: Piece, computed: Any, kernel: Kernel[Any], pairing: Pairing | None = None, start: int = 0
) -> Carried:
    """Read a piece and add it up; its rows begin at `start` among all that count."""
    source = piece.open(computed)
    order = None
    if piece.has_units:
        order = KeyOrder.of(source.unit_keys(_KEYS_AT_A_TIME), piece.start)
    rows: Rows = source
    for layer in piece.layers:
        rows = layer(rows)
    return Carried(sum_rows(rows, kernel, start=start, pairing=pairing), order)
