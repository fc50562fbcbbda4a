"""Arrow arrays as numpy arrays of numbers: numbers from their buffers, and texts that say numbers.

pyarrow's own way to numpy gives the same numbers, but looks whether pandas is there, and so
imports it: a quarter of a second in which nothing is read. Its own way from texts to numbers fails
at the first text that is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.written import MARKS, PLAIN, number_pattern

__all__ = ["numbers_in_texts", "numbers_of"]


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


def numbers_in_texts(column: Any, decimal: str = ".") -> npt.NDArray[np.float64]:
    """Return what texts say, NaN where that is no finite number. They come as bytes.

    Notes
    -----
    Claim P8. What a cell becomes follows from that cell alone. A column in which all cells are
    numbers, infinities or marks of a missing cell is converted at once, any other by looking at
    each cell first: both give the same number for the same cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_in_texts(pa.array([b"1.5", b" 2e3 ", b"-", b"", b"inf"]))
    array([1.5e+00, 2.0e+03,     nan,     nan,     nan])
    """
    import pyarrow
    from pyarrow import compute

    if decimal != ".":
        # A point is then no part of a number.
        column = compute.replace_substring(column, ".", "x")
        column = compute.replace_substring(column, decimal, ".")
    nothing = pyarrow.nulls(1, pyarrow.binary())[0]  # for None, pyarrow imports pandas
    marks = compute.is_in(column, _texts(MARKS))
    column = compute.if_else(marks, nothing, column)
    found = None
    with suppress(pyarrow.ArrowInvalid):  # which quotes a cell
        found = compute.cast(column.view("string"), pyarrow.float64())
    if found is None:
        says = compute.match_substring_regex(column, _NUMBER)
        bare = compute.if_else(says, column, nothing).view("string")
        bare = compute.ascii_rtrim(compute.ascii_ltrim(bare, " \t+"), " \t")
        found = compute.cast(bare, pyarrow.float64())
    numbers = numbers_of(found)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _texts(texts: Sequence[str]) -> Any:
    """Return an Arrow array of bytes. pyarrow's own way imports pandas."""
    import pyarrow

    content = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, content)], dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(content))]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(content), buffers)


_NUMBER = rf"\A[ \t]*(?:{number_pattern(PLAIN)})[ \t]*\z"
