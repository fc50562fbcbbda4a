"""Rows from data frames in memory: pandas, polars and pyarrow tables.

narwhals gives them one face, and imports none of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame
from dpcov.sensitive.tables.key_cells import Kind, float_kind
from dpcov.sensitive.tables.keys import (
    Keys,
    as_keys,
    check_keys,
    refuse_missing_unit,
    refuse_unit_type,
)
from dpcov.sensitive.tables.kinds import Declared, TableKind
from dpcov.sensitive.tables.pieces import MemoryPiece, Parts, Split, cut_range
from dpcov.sensitive.tables.refusals import read_or_refuse

__all__ = [
    "KIND",
    "FrameSource",
    "as_frame",
    "choose_from_types",
    "declare_frame",
    "declare_types",
    "read_cells",
    "read_keys",
    "read_numbers",
]

_KEY_TYPES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Binary, nw.Object)

_DECLARED = {
    nw.Boolean: Kind.TRUTH,
    nw.String: Kind.TEXT,
    nw.Binary: Kind.BYTES,
    nw.Decimal: Kind.DECIMAL,
    nw.Date: Kind.DATE,
    nw.Time: Kind.TIME,
    nw.Duration: Kind.DURATION,
}


class FrameSource:
    """A data frame in memory."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        self._frame = as_frame(table)
        types = declare_frame(table).types
        self.choice = choose_from_types(self._frame.schema, wanted, _index_labels(table), types)
        self._length = len(self._frame)
        self.n_rows: int | None = self._length
        self.columns, self.fields = self.choice.names, self.choice.fields
        self.left_out = self.choice.left_out
        self.person_column = self.choice.person

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, converted one after the other."""
        for start in range(0, self._length, size):
            # Columns are picked after rows: the other way pandas would copy all of them.
            columns = list(self._frame[start : start + size].iter_columns())
            block = np.empty((len(columns[0]), len(self.columns)), order="F")
            for index, place in enumerate(self.choice.places):
                block[:, index] = read_cells(columns[place], self.choice.rules[index])
            yield block

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield runs of `size` keys."""
        unit, name = self.choice.unit_column
        column = self._frame[:, unit]
        runs = (
            read_keys(column[start : start + size], name) for start in range(0, self._length, size)
        )
        return check_keys(runs, n_rows=self._length, name=name, of="The table")

    @property
    def unit_kind(self) -> str | None:
        """The kind of keys that the type of the unit column declares, or None."""
        column = self._frame[:, self.choice.unit_column[0]]
        if getattr(column.to_native(), "dtype", None) == np.dtype(object):
            return None  # narwhals takes an empty column of them for text
        return _declared_kind(column.dtype)

    def split(self, parts: Parts) -> Split:
        """Return the pieces that are asked for."""
        pieces = [self._between(rows) for rows in cut_range(self._length, parts)]
        return Split.of([(MemoryPiece(piece), piece._length) for piece in pieces])

    def _between(self, rows: slice) -> FrameSource:
        narrow = copy.copy(self)
        narrow._frame = self._frame[rows]
        narrow._length = narrow.n_rows = len(narrow._frame)
        return narrow

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        native = self._frame.to_native()
        if nw.dependencies.is_pyarrow_table(native):
            # Arrow would send all rows of the table that this is a slice of.
            state["_frame"] = nw.from_native(native.take(np.arange(self._length)), eager_only=True)
        return state


def as_frame(table: Any) -> nw.DataFrame[Any]:
    """Return a table in memory with the one face that narwhals gives to all."""

    def say(error: Exception) -> str:
        if isinstance(error, nw.exceptions.DuplicateError):
            return "The table has two columns of the same name; rename one of them."
        return "The table cannot be read as a data frame."

    return read_or_refuse(lambda: nw.from_native(table, eager_only=True), say)


def _index_labels(table: Any) -> tuple[str, ...]:
    """Return the columns of an Arrow table that are an index of pandas."""
    if not nw.dependencies.is_pyarrow_table(table):
        return ()
    from dpcov.sensitive.tables.arrow_columns import index_labels

    return index_labels(table.schema)


def choose_from_types(
    schema: Mapping[str, nw.dtypes.DType],
    wanted: Wanted,
    index: tuple[str, ...] = (),
    declared: Sequence[CellType] | None = None,
) -> Choice:
    """Return which columns are read, or refuse one by its name and its declared type."""
    choice = choose_from_frame(list(schema), wanted, index)
    types = list(schema.values())
    choice = with_rules(choice, declared or declare_types(schema).types, wanted)
    if choice.privacy_unit is not None:
        kind = types[choice.privacy_unit]
        if not (kind.is_numeric() or kind.is_temporal() or kind in _KEY_TYPES):
            raise refuse_unit_type(choice.unit_column[1], type(kind).__name__)
    return choice


def _declared_kind(dtype: nw.dtypes.DType) -> str | None:
    """Return the kind of keys of a type, or None if cells of several kinds are of this type."""
    if dtype.is_integer():
        return Kind.WHOLE
    if dtype.is_float():
        return float_kind(np.dtype(type(dtype).__name__.lower()))
    if dtype == nw.Datetime:
        return Kind.MOMENT if getattr(dtype, "time_zone", None) is None else Kind.INSTANT
    return next((kind for own, kind in _DECLARED.items() if dtype == own), None)


def read_numbers(column: nw.Series[Any], name: str) -> npt.NDArray[Any]:
    """Return a numeric or boolean column as an array, nulls as NaN."""

    def convert() -> npt.NDArray[Any]:
        # Arrow refuses, and quotes, 64-bit integers that do not fit a float: numpy rounds.
        plain = column
        if column.dtype == nw.Boolean:
            plain = column.cast(nw.Int8)
        elif column.dtype in (nw.Decimal, nw.Int128, nw.UInt128):
            plain = column.cast(nw.Float64)
        with np.errstate(all="ignore"):  # a warning would be about a cell
            return plain.to_numpy().astype(np.float64, copy=False)

    kind = type(column.dtype).__name__
    return read_or_refuse(convert, f"Column {name!r} of type {kind} cannot be read as numbers.")


def read_cells(column: nw.Series[Any], rule: CellRule) -> npt.NDArray[Any]:
    """Return a column as numbers, by its rule, nulls as NaN."""
    name = rule.column.name
    native = column.to_native()
    if rule.mode == "number":
        return rule.of_numbers(read_numbers(column, name))
    if nw.dependencies.is_pyarrow_chunked_array(native):
        from dpcov.sensitive.tables.arrow_columns import read_arrow_cells

        parts = [read_arrow_cells(chunk, rule) for chunk in native.chunks]
        return np.concatenate(parts) if parts else np.empty(0)
    read = _read_times if rule.mode == "time" else _read_texts
    kind = type(column.dtype).__name__
    return read_or_refuse(
        lambda: read(column, rule), f"Column {name!r} of type {kind} cannot be read."
    )


def _read_texts(column: nw.Series[Any], rule: CellRule) -> npt.NDArray[Any]:
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # a category of pandas
        values = np.array([*map(rule.of_cell, native.cat.categories.tolist()), np.nan])
        cells: npt.NDArray[Any] = values[native.cat.codes.to_numpy()]
        return cells
    listed = native.tolist() if hasattr(native, "tolist") else column.to_list()
    # 1, 1.0 and True are one key to a dictionary, and some objects are none.
    alike = set(map(type, listed)) <= {str, float, type(None)}
    look = _Seen(rule).__getitem__ if alike else rule.of_cell
    return np.fromiter(map(look, listed), np.float64, len(listed))


class _Seen(dict[Any, float]):
    """What cells become, each looked at once."""

    def __init__(self, rule: CellRule) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, cell: Any) -> float:
        number = self[cell] = self._rule.of_cell(cell)
        return number


def _read_times(column: nw.Series[Any], rule: CellRule) -> npt.NDArray[Any]:
    """Return dates, moments or durations as numbers."""
    if hasattr(getattr(column.to_native(), "dtype", None), "pyarrow_dtype"):
        # Types of Arrow in a frame of pandas: as Python objects they would lose their unit.
        from dpcov.sensitive.tables.arrow_columns import import_pyarrow, read_arrow_cells

        return read_arrow_cells(import_pyarrow().array(column.to_native().array), rule)
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    cells = column.to_numpy()
    step, count = np.datetime_data(cells.dtype)
    missing = np.isnat(cells)
    steps = np.where(missing, 0, cells.astype(np.int64)) * count
    numbers = rule.of_numbers(rule.of_steps(steps, step))
    return np.where(missing, np.nan, numbers)


def read_keys(column: nw.Series[Any], name: str) -> Keys:
    """Return the unit column as keys."""
    native = column.to_native()
    if nw.dependencies.is_pyarrow_chunked_array(native):
        from dpcov.sensitive.tables.arrow_columns import read_arrow_keys

        return read_arrow_keys(native, name)
    if column.dtype == nw.Time and hasattr(native.dtype, "pyarrow_dtype"):
        # Times of Arrow in a frame of pandas: Python's would lose their unit.
        from dpcov.sensitive.tables.arrow_columns import import_pyarrow, read_arrow_keys

        return read_arrow_keys(import_pyarrow().array(native.array), name)

    def convert() -> npt.NDArray[Any] | None:
        if column.is_null().any():
            return None
        if column.dtype in (nw.String, nw.Int128, nw.UInt128):
            return np.array(column.to_list(), dtype=object)
        return column.to_numpy()

    cells = read_or_refuse(convert, f"Unit column {name!r} cannot be read.")
    if cells is None:
        raise refuse_missing_unit(name)
    in_zone = getattr(column.dtype, "time_zone", None) is not None
    return as_keys(cells, name, in_zone=in_zone)


def declare_types(schema: Mapping[str, nw.dtypes.DType]) -> Declared:
    """Return what the types of a frame declare."""
    return Declared(list(schema), [_declared_type(dtype) for dtype in schema.values()])


def _declared_type(dtype: Any, *, nullable: bool = True) -> CellType:
    kind = _kind_of(dtype)
    levels = (lambda: tuple(dtype.categories)) if isinstance(dtype, nw.Enum) else None
    room = nullable or kind not in ("whole number", "boolean")
    return CellType(kind, type(dtype).__name__, room, levels)


def _kind_of(dtype: Any) -> str:
    if dtype.is_integer():
        return "whole number"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.Categorical, nw.Enum):
        return "category"
    if dtype == nw.String:
        return "text"
    if dtype == nw.Duration:
        return "duration"
    return "date" if dtype in (nw.Date, nw.Datetime) else "other"


def _is_frame(table: Any) -> bool:
    # narwhals may refuse by DuplicateError, which is for the reader to say.
    try:
        nw.from_native(table, eager_only=True)
    except TypeError:
        return False
    except Exception:
        return True
    return True


def declare_frame(table: Any) -> Declared:
    """Return what a frame declares, without a look at its cells."""
    if nw.dependencies.is_pyarrow_table(table):
        from dpcov.sensitive.tables.arrow_columns import declare_schema, with_dictionaries

        declared = declare_schema(table.schema)
        return replace(declared, types=with_dictionaries(declared.types, table))
    if not nw.dependencies.is_pandas_dataframe(table):
        return declare_types(as_frame(table).schema)
    # Of a frame with rows narwhals would look at the cells of Python objects.
    schema = as_frame(table.iloc[:0]).schema
    types = [_pandas_type(*pair) for pair in zip(table.dtypes, schema.values(), strict=True)]
    return Declared(list(schema), types)


def _pandas_type(own: Any, kind: nw.dtypes.DType) -> CellType:
    if own == np.dtype(object):
        return CellType("object", "object")
    if hasattr(own, "categories"):
        # Dask has a type for categories that it does not know yet.
        known = "__UNKNOWN_CATEGORIES__" not in own.categories
        levels = (lambda: tuple(own.categories.tolist())) if known else None
        return CellType("category", "category", True, levels, bool(own.ordered))
    # Whole numbers of numpy have no room for a missing cell, but whether a column is of them may
    # have been decided by its cells: pandas reads a file with an empty one as floats.
    return _declared_type(kind, nullable=True)


KIND = TableKind(
    called="a pandas, polars or pyarrow table",
    open=lambda table, opening: FrameSource(table, opening.wanted),
    declare=lambda table, wanted: declare_frame(table),
    recognize=_is_frame,
    in_memory=True,
)
