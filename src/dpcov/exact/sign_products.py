"""The product of a block of signs with itself: by population counts, or by BLAS.

Owns which of both, the packing of signs into bits, and the check of the first batch that is
counted. Both give the same integers, so it can be seen in the time alone.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InexactArithmeticError
from dpcov.exact.population import Count, counting
from dpcov.exact.products import CheckedProducts
from dpcov.exact.triangle import Integers, Triangle

__all__ = ["SignProducts", "pack_rows"]

Signs = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8]

# Rows × columns²: what BLAS multiplies in about the time in which a kernel is compiled.
_WORTH_COMPILING = 10**11
# 8,192 rows: the words of 16 columns fit the first cache, and sums are added to seldom.
_BATCH_BYTES = 1024
# Columns that one thread counts at a time.
_SLICE_COLUMNS = 64


class SignProducts(CheckedProducts):
    """Adds Σ s_i s_j of blocks of signs in {−1, 0, 1} to a triangle of int32.

    Call `finish` after the last block.

    Parameters
    ----------
    sums : Triangle of int32
        Receives the sums.
    pool : ThreadPoolExecutor
        The threads for all that is not BLAS.

    Notes
    -----
    Small tables are left to BLAS, block by block. Once there was work enough, signs wait as
    bits until some thousand rows have come. Counts are integers, and nothing can be rounded; the
    first batch is checked all the same, as blocks are: G r = Wᵀ(W r), modulo 2^32.

    Examples
    --------
    >>> sums, signs = Triangle.zeros(2, np.int32), np.array([[1, -1], [0, 1], [-1, 1]], np.int8)
    >>> with ThreadPoolExecutor(1) as pool:
    ...     products = SignProducts(sums, pool)
    ...     products.add(signs)
    ...     products.finish()
    >>> sums.row(0)
    array([ 2, -2], dtype=int32)
    """

    def __init__(self, sums: Triangle, pool: ThreadPoolExecutor) -> None:
        super().__init__(sums, np.float32, pool)
        self._threads = pool
        self._work = 0
        self._image: Integers | None = np.zeros_like(self._probe)  # of the first batch
        self._waiting: _Bits | None = None

    def add(self, block: npt.NDArray[Any]) -> None:
        """Add the products of a block of signs."""
        self._work += len(block) * self._sums.size**2
        count = counting() if self._work >= _WORTH_COMPILING else None
        if count is None:
            super().add(block.astype(np.float32))
            return
        if self._waiting is None:
            self._waiting = _Bits(self._sums.size)
        for start in range(0, len(block), 8 * _BATCH_BYTES):
            part = block[start : start + 8 * _BATCH_BYTES]
            if not self._waiting.has_room(len(part)):
                self._count(self._waiting, count)
            self._waiting.put(part)
            if self._image is not None:
                self._image += self.image(part)

    def finish(self) -> None:
        """Add what waits."""
        count = counting() if self._waiting is not None else None
        if self._waiting is None or count is None:
            return
        self._count(self._waiting, count)
        for _, panel in self._sums.panels():
            _mirror(panel)

    def _count(self, bits: _Bits, count: Count) -> None:
        minus, there, words = bits.as_words()
        # A sign that is 0 by accident makes slow its own column alone.
        whole = np.bitwise_count(there[:, :words]).sum(axis=1, dtype=np.int64) == bits.n_rows
        image, self._image = self._image, None
        for start, panel in self._sums.panels():
            stop = start + len(panel)
            before = None if image is None else self._seen(panel, start)

            def add(first: int, stop: int = stop, panel: Any = panel) -> None:
                end = min(first + _SLICE_COLUMNS, stop)
                count(minus, there, whole, bits.n_rows, words, first, end, panel)

            for _ in self._threads.map(add, range(start, stop, _SLICE_COLUMNS)):
                pass
            if image is not None and before is not None:
                _mirror(panel)
                if not np.array_equal(self._seen(panel, start), before + image[start:stop]):
                    raise InexactArithmeticError(
                        "Population counts of this machine do not agree with the check of their "
                        "sums. Nothing was released. Uninstall numba, or install another version."
                    )
        bits.clear()


class _Bits:
    """Signs as bits, a row of bytes for each column, until there are enough."""

    def __init__(self, n_columns: int) -> None:
        # One bit for each sign that is −1, and one for each that is not 0.
        self._minus, self._there = np.zeros((2, n_columns, _BATCH_BYTES), dtype=np.uint8)
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._filled, self.n_rows = 0, 0

    def has_room(self, n_rows: int) -> bool:
        """Return whether so many rows fit beside those that wait."""
        return self._filled + -(-n_rows // 8) <= _BATCH_BYTES

    def put(self, signs: Signs) -> None:
        """Keep some rows. They begin with a byte of their own, and what is left of it is 0."""
        end = self._filled + -(-len(signs) // 8)
        self._minus[:, self._filled : end] = pack_rows(signs < 0).T
        self._there[:, self._filled : end] = pack_rows(signs != 0).T
        self._filled, self.n_rows = end, self.n_rows + len(signs)

    def as_words(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], int]:
        """Return both kinds of bits as words, and how many of each row to look at."""
        # Compiled loops take up to 32 words at once, and what is left one by one.
        words = min(32 * -(-self._filled // 256), _BATCH_BYTES // 8)
        for bits in (self._minus, self._there):
            # What was there before is none of these rows.
            bits[:, self._filled : 8 * words] = 0
        return self._minus.view(np.uint64), self._there.view(np.uint64), words


def pack_rows(bits: npt.NDArray[np.bool_]) -> Bytes:
    """Return eight rows in one, a bit for each; rows that are missing at the end are 0.

    `np.packbits` goes along a column, which takes several times as long.

    Examples
    --------
    >>> pack_rows(np.array([[True, False], [True, True]]))
    array([[3, 2]], dtype=uint8)
    """
    packed = np.zeros((-(-len(bits) // 8), bits.shape[1]), dtype=np.uint8)
    for place in range(8):
        part = bits[place::8].view(np.uint8)
        packed[: len(part)] |= part << place
    return packed


def _mirror(panel: Integers) -> None:
    """Copy what is above the diagonal of a panel's square to below it."""
    square = panel[:, : len(panel)]
    np.copyto(square, square.T, where=np.tri(len(panel), k=-1, dtype=bool))
