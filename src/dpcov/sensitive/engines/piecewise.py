"""A piece of a table, read and added up where a task runs.

Owns what a task of any workers does with a piece that it can open by itself, and how long the
pieces are. Who runs the task, and how sums come back, is for the engines to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from dpcov.sensitive.engines.paired import Pairing, sum_rows
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.pieces import Parts, Piece, tapering
from dpcov.sensitive.workers.carried import Carried

__all__ = ["choose_parts", "starts_of", "sum_piece"]

_PIECES_A_CORE = 4  # so that a slow one, or one that is run again, does not hold up all
_STEPS_A_CORE = 16  # the last ones are so short that workers end at about the same time
_KEYS_AT_A_TIME = 1 << 16


def choose_parts(source: Rows, kernel: Kernel[Any], cores: int, *, is_in_order: bool) -> Parts:
    """Return how to cut a table that can be cut anywhere: no piece is shorter than a block.

    Workers that begin pieces in their order get some that grow shorter; others four for a core.
    """
    blocks = max(1, -(-(source.n_rows or 0) // kernel.block_rows))
    if is_in_order:
        return tapering(min(_STEPS_A_CORE * cores, blocks), cores)
    return min(_PIECES_A_CORE * cores, blocks)


def starts_of(pieces: Sequence[Piece]) -> tuple[int, ...]:
    """Return where the rows of pieces begin, among those that count: these are paired."""
    return tuple(accumulate((piece.n_rows for piece in pieces), initial=0))


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
