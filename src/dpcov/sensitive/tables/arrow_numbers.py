"""Arrow arrays of numbers as numpy arrays, from their buffers.

Owns this one conversion. pyarrow's own gives the same numbers, but looks whether pandas is there,
and so imports it: a quarter of a second in which nothing is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["numbers_of"]


def numbers_of(column: Any) -> npt.NDArray[Any]:
    """Return the integers or floats of an Arrow array, nulls as NaN; without nulls, without a copy.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_of(pa.array([1, None, 3]).slice(1))
    array([nan,  3.])
    """
    start, length = column.offset, len(column)
    mask, cells = column.buffers()
    dtype = np.dtype(column.type.to_pandas_dtype())  # its name for numpy's: nothing of pandas
    if not length:
        return np.empty(0, dtype)
    numbers: npt.NDArray[Any] = np.frombuffer(cells, dtype, length, start * dtype.itemsize)
    if not column.null_count:
        return numbers
    # One bit a cell, from the lowest; what stands where there is none may be anything.
    first = start // 8
    bits = np.frombuffer(mask, np.uint8, (start + length + 7) // 8 - first, first)
    known = np.unpackbits(bits, bitorder="little")[start % 8 : start % 8 + length].view(np.bool_)
    gaps = np.array(np.nan, dtype if dtype.kind == "f" else np.float64)
    return np.where(known, numbers, gaps)
