"""Where rows come from: arrays and data frames as blocks of numbers.

Owns the validation of a table's shape, types and column names, all of which are public.
It never reads a cell of an array or a frame in order to decide whether it is acceptable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["RowSource", "open_source"]

_ACCEPTED = "a 2-D numpy array, or a pandas, polars or pyarrow table in memory"


class RowSource(Protocol):
    """A table that can be read block by block."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of at most `size` rows, missing cells as NaN."""


def open_source(
    table: Any, columns: Sequence[str] | None = None, *, fewest_rows: int = 2
) -> RowSource:
    """Return `table` as a source of rows, or say why it cannot be one.

    Parameters
    ----------
    table : array or data frame
        numpy, pandas, polars, pyarrow, or nested sequences of numbers.
    columns : sequence of str, optional
        Column names. By default the frame's own, or ``x0, x1, …`` for an array.
    fewest_rows : int, default 2
        How many rows there must be.

    Examples
    --------
    >>> open_source(np.eye(3)).columns
    ('x0', 'x1', 'x2')
    """
    kind = _ArraySource if isinstance(table, (np.ndarray, list, tuple)) else _FrameSource
    source = kind(table, columns)
    _check_shape(source.n_rows, len(source.columns), fewest_rows)
    return source


class _ArraySource:
    def __init__(self, table: Any, given: Sequence[str] | None) -> None:
        self._array = _as_array(table)
        if self._array.ndim != 2:
            raise InputError(f"X must be {_ACCEPTED}; got {self._array.ndim} dimension(s).")
        if self._array.dtype.kind == "c":
            raise InputError("Complex data not supported: X must hold real numbers.")
        if self._array.dtype.kind not in "biuf":
            raise InputError(
                f"X must hold real numbers; got {self._array.dtype.type.__name__}. Convert or "
                "drop what is not a number."
            )
        self.n_rows = self._array.shape[0]
        size = self._array.shape[1]
        self.columns = _given_names(given, size) if given is not None else _numbered_names(size)

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        for start in range(0, self.n_rows, size):
            block = self._array[start : start + size]
            if isinstance(block, np.ma.MaskedArray):
                with np.errstate(all="ignore"):
                    block = np.ma.filled(block.astype(np.float64), np.nan)
            yield block


class _FrameSource:
    def __init__(self, table: Any, given: Sequence[str] | None) -> None:
        self._frame = _as_frame(table)
        self.n_rows = len(self._frame)
        self.columns = _frame_names(list(self._frame.columns), given)
        _check_types(self._frame, self.columns)

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        for start in range(0, self.n_rows, size):
            part = self._frame[start : start + size]
            block = np.empty(part.shape, order="F")
            for index, column in enumerate(part.iter_columns()):
                block[:, index] = _read_column(column, self.columns[index])
            yield block


def _as_array(table: Any) -> npt.NDArray[Any]:
    if isinstance(table, np.ma.MaskedArray):
        return table
    masked = not isinstance(table, np.ndarray) and any(
        isinstance(row, np.ma.MaskedArray) for row in table
    )
    array: npt.NDArray[Any] | None = None
    try:
        array = np.ma.stack(table) if masked else np.asarray(table)
    except Exception:
        array = None  # raised below: a chained exception may quote a cell
    if array is None:
        raise InputError(f"X must be {_ACCEPTED}; these nested sequences have no common shape.")
    return array


def _as_frame(table: Any) -> nw.DataFrame[Any]:
    import narwhals as nw

    reason = None
    try:
        return nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError:
        reason = "X has two columns of the same name; rename one of them."
    except TypeError:
        reason = f"X must be {_ACCEPTED}; got {type(table).__module__}.{type(table).__qualname__}."
    raise InputError(reason)


def _check_types(frame: nw.DataFrame[Any], names: tuple[str, ...]) -> None:
    import narwhals as nw

    for name, dtype in zip(names, frame.schema.values(), strict=True):
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise InputError(
                f"Column {name!r} is of type {type(dtype).__name__}, not a number. Drop it, or "
                "convert it by a public rule."
            )


def _read_column(column: nw.Series[Any], name: str) -> npt.NDArray[Any]:
    """Return a numeric or boolean column as an array, nulls as NaN."""
    import narwhals as nw

    array: npt.NDArray[Any] | None = None
    try:
        # Arrow refuses, and quotes, 64-bit integers that do not fit a float: numpy rounds.
        if column.dtype == nw.Boolean:
            column = column.cast(nw.Int8)
        elif column.dtype in (nw.Decimal, nw.Int128, nw.UInt128):
            column = column.cast(nw.Float64)
        array = column.to_numpy().astype(np.float64, copy=False)
    except Exception:
        array = None  # whatever the frame's library says may quote a cell: raised below
    if array is None:
        kind = type(column.dtype).__name__
        raise InputError(f"Column {name!r} of type {kind} cannot be read as numbers.")
    return array


def _given_names(columns: Any, expected: int) -> tuple[str, ...]:
    try:
        names = [] if isinstance(columns, (str, set, frozenset, dict)) else list(columns)
    except TypeError:
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("columns must be a sequence of names (strings).")
    if len(names) != expected:
        raise InputError(f"columns has {len(names)} names; X has {expected} columns.")
    return _unique_names([str(name) for name in names])


def _frame_names(labels: list[Any], given: Sequence[str] | None) -> tuple[str, ...]:
    if given is not None:
        return _given_names(given, len(labels))
    written = [label for label in labels if isinstance(label, (str, float))]
    if 2 * sum(_looks_like_a_cell(str(label)) for label in written) > len(labels):
        # A file without a header, read as if it had one: its first person would be public.
        raise InputError(
            "Most column names of X are numbers or empty, as when a file without a header was "
            "read: then the names are somebody's row. Read it again, or state the names with "
            "columns=."
        )
    return _unique_names([str(label) for label in labels])


def _looks_like_a_cell(label: str) -> bool:
    # pandas and polars mark repeated and empty names in their own ways.
    text = re.sub(r"(\.\d+|_duplicated_\d+)$", "", label).strip()
    if re.fullmatch(r"|n/?a|null|none|-|unnamed: \d+", text.lower()):
        return True
    return _is_number(label) or _is_number(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered_names(size: int) -> tuple[str, ...]:
    return tuple(f"x{index}" for index in range(size))


def _unique_names(names: list[str]) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise InputError("A column name is not valid Unicode text and could not be saved.")
        if name in seen:
            raise InputError(f"Column name {name!r} appears twice; names must differ.")
        seen.add(name)
    return tuple(names)


def _check_shape(n_rows: int, n_columns: int, fewest_rows: int) -> None:
    # The wording that scikit-learn asks of its estimators, and as good as any.
    if n_columns == 0:
        raise InputError(
            f"X has no columns: 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if n_rows < fewest_rows:
        raise InputError(
            f"X has {n_rows} sample(s), n_samples={n_rows}; at least {fewest_rows} needed."
        )
