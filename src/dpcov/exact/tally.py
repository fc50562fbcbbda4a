"""How often each index occurs: added to counts that are there already.

Owns the loop over indices. numpy's lets no other thread run and takes longer integers; a compiled
one does neither. Both count the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.compiled import Loop, reads

__all__ = ["add_tally", "expect_tally"]

Counts = npt.NDArray[np.integer[Any]]
Add = Callable[[npt.NDArray[np.int32], Counts], None]

# What numpy counts in about the time of loading numba and compiling.
_WORTH_COMPILING = 3e8


def expect_tally(n_indices: int) -> None:
    """Say that so many indices will be counted. The loop for them may be compiled now."""
    _loop().after(n_indices)


def add_tally(found: npt.NDArray[np.int32], counts: Counts) -> None:
    """Add 1 to the count of every index that was found, as often as it was.

    Examples
    --------
    >>> counts = np.zeros(3, dtype=np.int32)
    >>> add_tally(np.array([2, 0, 2], dtype=np.int32), counts)
    >>> counts
    array([1, 0, 2], dtype=int32)
    """
    loop = _loop().ready
    if loop is None:
        np.add.at(counts, found.astype(np.intp), counts.dtype.type(1))
    else:
        loop(found, counts)


@lru_cache(maxsize=1)
def _loop() -> Loop[Add]:
    return Loop(_write, _WORTH_COMPILING)


def _write(numba: Any) -> Add:
    def add(found: Any, counts: Any) -> None:
        for index in found:
            counts[index] += 1

    indices, types = reads(numba, "int32", 1, "C"), numba.types
    signatures = [types.void(indices, each[::1]) for each in (types.int32, types.int64)]
    # An index outside is refused, as numpy does: compiled code would write anywhere.
    compiled: Add = numba.njit(signatures, nogil=True, boundscheck=True)(add)
    return compiled
