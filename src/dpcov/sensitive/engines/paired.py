"""Sums of differences of rows, from pieces of a table that were cut anywhere.

Owns the blocks that lie across a cut. Which rows are paired depends on blocks of the whole table:
a piece pairs the blocks that it has, and keeps its rows of others, until a piece with the rest of
them is merged with it. Sensitive: it holds rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.exact.sealed import Sealed
from dpcov.sensitive.sums.kernel import Kernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.differences import pair_rows
from dpcov.sensitive.tables.pieces import Split

__all__ = ["PairedSums", "Pairing", "pairing_of", "sum_rows"]

Block = npt.NDArray[Any]
Parts = Mapping[int, Mapping[int, Block]]
"""Rows that wait: for each block, where in the table its parts begin."""


@dataclass(frozen=True)
class Pairing:
    """Which rows are paired: the seed, and how many rows a block of them has. Public."""

    seed: int
    length: int


def pairing_of(split: Split, kernel: Kernel[Any]) -> Pairing | None:
    """Return how the rows of a split are paired, if differences are asked for."""
    return None if split.pairing is None else Pairing(split.pairing, 2 * kernel.block_rows)


class PairedSums(Sealed):
    """The sums over all blocks that are complete, and the rows of others; merge with ``+``.

    Build it with `from_blocks`, and take the sums of the whole table with `finish`.

    Parameters
    ----------
    sums : object
        What the kernel made of the differences of complete blocks.
    waiting : mapping
        The rows of blocks that are not complete.
    kernel : Kernel
        How differences become sums.
    pairing : Pairing
        Which rows are paired.

    Notes
    -----
    Claim P19. A row is in one part of one block, and a block is paired once, when all of it is
    there: the pairs are those of the table in one piece.
    """

    __slots__ = ("_kernel", "_pairing", "_sums", "_waiting")

    _sums: Any
    _waiting: Parts
    _kernel: Kernel[Any]
    _pairing: Pairing

    def __init__(self, sums: Any, waiting: Parts, kernel: Kernel[Any], pairing: Pairing) -> None:
        self._hold(_sums=sums, _waiting=waiting, _kernel=kernel, _pairing=pairing)

    @classmethod
    def from_blocks(
        cls, blocks: Iterable[Block], *, start: int, kernel: Kernel[Any], pairing: Pairing
    ) -> PairedSums:
        """Return the sums over the rows of a piece that begins at some row of the table."""
        waiting: dict[int, dict[int, Block]] = {}

        def complete() -> Iterator[Block]:
            place = start
            for block in blocks:
                for part_start, part in _cut(block, place, pairing.length):
                    yield from _put(waiting, part_start, part, pairing)
                place += len(block)

        return cls(kernel.sum_over(complete(), threads=1), waiting, kernel, pairing)

    def __add__(self, other: object) -> PairedSums:
        if not isinstance(other, PairedSums):
            return NotImplemented
        if self._pairing != other._pairing:
            raise ParameterError("Sums of differences merge only if one pairing made them.")
        waiting = {place: dict(parts) for place, parts in self._waiting.items()}

        def complete() -> Iterator[Block]:
            for parts in other._waiting.values():
                for start, part in parts.items():
                    yield from _put(waiting, start, part, self._pairing)

        across = self._kernel.sum_over(complete(), threads=1)
        sums = self._sums + other._sums + across
        return PairedSums(sums, waiting, self._kernel, self._pairing)

    def finish(self, n_rows: int) -> Any:
        """Return the sums over a table of so many rows: its last block may be shorter."""
        last, left = divmod(n_rows, self._pairing.length)
        expected = {last: left} if left else {}
        if {place: _count(parts) for place, parts in self._waiting.items()} != expected:
            raise AssertionError("unreachable: rows of all pieces were counted")
        blocks = (_join(parts) for parts in self._waiting.values())
        pairs = (pair_rows(block, self._pairing.seed, last) for block in blocks if len(block) > 1)
        return self._sums + self._kernel.sum_over(pairs)

    def __repr__(self) -> str:
        return "PairedSums()"


def sum_rows(rows: Rows, kernel: Kernel[Any], *, start: int, pairing: Pairing | None) -> Any:
    """Return the sums over a piece of a table, on one thread: other pieces have the other cores.

    With a pairing they are `PairedSums` of differences; the piece begins at row `start`.
    """
    if pairing is None:
        return kernel.sum_over(rows.blocks(kernel.block_rows), threads=1)
    blocks = rows.blocks(pairing.length)
    return PairedSums.from_blocks(blocks, start=start, kernel=kernel, pairing=pairing)


def _cut(rows: Block, start: int, length: int) -> Iterator[tuple[int, Block]]:
    """Yield the parts of rows that lie in one block each, and where they begin."""
    stop = start + len(rows)
    place = start
    while place < stop:
        end = min(stop, (place // length + 1) * length)
        yield place, rows[place - start : end - start]
        place = end


def _put(
    waiting: dict[int, dict[int, Block]], start: int, part: Block, pairing: Pairing
) -> Iterator[Block]:
    """Let a part wait for the rest of its block; yield the differences if it is the last."""
    place = start // pairing.length
    parts = waiting.setdefault(place, {})
    # A view would hold on to the block that it was cut from.
    parts[start] = part if len(part) == pairing.length else np.array(part)
    if _count(parts) == pairing.length:
        yield pair_rows(_join(waiting.pop(place)), pairing.seed, place)


def _count(parts: Mapping[int, Block]) -> int:
    return sum(map(len, parts.values()))


def _join(parts: Mapping[int, Block]) -> Block:
    """Return the rows of a block in the order of the table."""
    in_order = [parts[start] for start in sorted(parts)]
    return in_order[0] if len(in_order) == 1 else np.concatenate(in_order)
