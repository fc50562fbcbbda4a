"""Rows of cells limited, centered and scaled, column by column.

Owns the loop over cells: z = (min(max(x, lower), upper) − center) / scale. numpy takes a step
for each of these; a compiled loop takes one for all. Every operation is correctly rounded, so
both give the same floats, but for the sign of a zero, which no sum can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.compiled import Loop, reads, suits
from dpcov.exact.finite import surely_finite

__all__ = ["Scaling"]

Array = npt.NDArray[np.float64]
Scale = Callable[[Array, Array, Array, Array, Array, Array], bool]

_LOOP_CELLS = 800  # a loop of numpy that is worth starting
# What numpy scales in about the time of loading numba and compiling.
_WORTH_COMPILING = 3e8


class Scaling:
    """What is done to cells, with one limit, center and scale for each column.

    Examples
    --------
    >>> one = np.ones(2)
    >>> scaling = Scaling(lower=-one, upper=one, center=0 * one, scale=2 * one)
    >>> out = np.empty((1, 2))
    >>> scaling.write(np.array([[0.5, 7.0]]), out), out
    (True, array([[0.25, 0.5 ]]))
    """

    def __init__(self, *, lower: Array, upper: Array, center: Array, scale: Array) -> None:
        self._facts = tuple(
            np.ascontiguousarray(fact, dtype=np.float64) for fact in (lower, upper, center, scale)
        )

    def write(self, raw: npt.NDArray[Any], out: Array) -> bool:
        """Write scaled cells, and say whether it is sure that all raw ones were finite.

        A missing cell stays missing; an infinite one is limited as any other. Overflow is meant,
        and a warning about it would be about the data.
        """
        with np.errstate(all="ignore"):
            return self._write(raw, out)

    def _write(self, raw: npt.NDArray[Any], out: Array) -> bool:
        if not (suits(raw) and out.flags.c_contiguous):
            # In an array laid out as the rows are, which is faster than in a part of a wider one.
            lower, upper, center, scale = self._facts
            cells = np.maximum(raw, lower, dtype=np.float64, casting="unsafe")
            np.minimum(cells, upper, out=cells)
            cells -= center
            np.divide(cells, scale, out=out)
            return surely_finite(raw)
        loop = _loop().after(raw.size)
        if loop is not None:
            lower, upper, center, scale = self._facts
            return bool(loop(raw, lower, upper, center, scale, out))
        length = self._side_by_side[0].size
        together = raw.size // length * length
        _scale_rows(raw.reshape(-1)[:together], self._side_by_side, out.reshape(-1)[:together])
        _scale_rows(raw.reshape(-1)[together:], self._facts, out.reshape(-1)[together:])
        return surely_finite(raw)

    @cached_property
    def _side_by_side(self) -> tuple[Array, ...]:
        """The facts of all columns, again and again: numpy is slow with a few columns."""
        times = max(1, _LOOP_CELLS // len(self._facts[0]))
        return tuple(np.tile(fact, times) for fact in self._facts)


def _scale_rows(cells: Array, facts: tuple[Array, ...], out: Array) -> None:
    """Scale cells in a row, of which every `facts[0].size` belong together."""
    lower, upper, center, scale = facts
    found = out.reshape(-1, lower.size)
    np.maximum(cells.reshape(found.shape), lower, out=found)
    np.minimum(found, upper, out=found)
    np.subtract(found, center, out=found)
    np.divide(found, scale, out=found)


@lru_cache(maxsize=1)
def _loop() -> Loop[Scale]:
    return Loop(_write, _WORTH_COMPILING)


def _write(numba: Any) -> Scale:
    def scale_cells(raw: Any, lower: Any, upper: Any, center: Any, scale: Any, out: Any) -> Any:
        finite = True
        for row in range(raw.shape[0]):
            for column in range(raw.shape[1]):
                cell = raw[row, column]
                finite &= np.isfinite(cell)
                # As in numpy, a missing cell is neither below nor above.
                if cell < lower[column]:
                    cell = lower[column]
                if cell > upper[column]:
                    cell = upper[column]
                out[row, column] = (cell - center[column]) / scale[column]
        return finite

    facts = [reads(numba, "float64", 1, "C")] * 4
    signature = numba.types.boolean(
        reads(numba, "float64", 2, "C"), *facts, numba.types.float64[:, ::1]
    )
    compiled: Scale = numba.njit(signature, nogil=True, error_model="numpy")(scale_cells)
    return compiled
