"""Products of signs by population counts: a compiled kernel, if there is numba.

Owns the kernel and whether it can be had. A sign is two bits, and 64 rows of a column are two
words: what two columns have in common is counted by instructions for words, many times faster
than BLAS multiplies. Without numba there is no kernel, and BLAS gives the same sums.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.compiled import compile_loop

__all__ = ["Count", "counting"]

Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Count = Callable[[Words, Words, Flags, int, int, int, int, npt.NDArray[np.int32]], None]
"""`count(minus, there, whole, n_rows, words, first, stop, panel)`: what the kernel is called with.

It adds Σ s_i s_j to some rows of a panel of the upper triangle, of which the first row and
column is that of column p − width. `minus` and `there` have a row of words for each column: a
bit for each sign that is −1, and for each that is not 0. `whole` says of which columns no sign
is 0, `n_rows` how many signs a column has, `words` how many words are in use. The columns
`first` … `stop` − 1 are rows of the panel.
"""

_SIGNATURE = "void(uint64[:,::1],uint64[:,::1],boolean[::1],int64,int64,int64,int64,int32[:,::1])"
# Columns that wait in the first cache while others pass by.
_TILE = 16


@lru_cache(maxsize=1)
def counting() -> Count | None:
    """Return the kernel, compiled when it is first asked for; none, if it cannot be had."""
    return compile_loop(_compile)


def _compile(numba: Any) -> Count:
    """Return the kernel."""
    apart, product = _compile_pairs(numba.njit)
    tile = _TILE

    def count(
        minus: Any,
        there: Any,
        whole: Any,
        n_rows: Any,
        words: Any,
        first: Any,
        stop: Any,
        panel: Any,
    ) -> None:
        size = minus.shape[0]
        start = size - panel.shape[1]
        for left in range(first, size, tile):
            right = min(left + tile, size)
            for i in range(first, min(stop, right)):
                for j in range(max(i, left), right):
                    if whole[i] and whole[j]:
                        found = n_rows - 2 * apart(minus[i, :words], minus[j, :words])
                    else:
                        found = product(
                            minus[i, :words], there[i, :words], minus[j, :words], there[j, :words]
                        )
                    panel[i - start, j - start] += found

    compiled: Count = numba.njit(_SIGNATURE, nogil=True)(count)
    return compiled


def _compile_pairs(njit: Callable[..., Any]) -> tuple[Any, Any]:
    """Return what compares two columns: how many signs are apart, and Σ s_i s_j with zeros.

    The compiler makes one instruction of `ones`, and takes several words at once.
    """
    by_two, by_four = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    by_eight, bytes_of_one = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
    none, one, two, four, top = (np.uint64(number) for number in (0, 1, 2, 4, 56))
    inlined: Callable[..., Any] = njit(inline="always")

    @inlined
    def ones(word: Any) -> Any:
        pairs = word - ((word >> one) & by_two)
        fours = (pairs & by_four) + ((pairs >> two) & by_four)
        eights = (fours + (fours >> four)) & by_eight
        return (eights * bytes_of_one) >> top

    def apart(minus: Any, other_minus: Any) -> Any:
        total = none
        for word in range(minus.size):
            total += ones(minus[word] ^ other_minus[word])
        return np.int64(total)

    def product(minus: Any, there: Any, other_minus: Any, other_there: Any) -> Any:
        total, opposite = none, none
        for word in range(minus.size):
            both = there[word] & other_there[word]
            total += ones(both)
            opposite += ones(both & (minus[word] ^ other_minus[word]))
        return np.int64(total) - 2 * np.int64(opposite)

    return njit(apart), njit(product)
