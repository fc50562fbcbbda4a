"""What a table says of itself: the names of its columns and their declared types.

Owns a description that can be shown to anybody, as the beginning of a list of public
facts. It is made from headers, schemas and types; no cell is read for it, and names that may
be cells of somebody's row are refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrays import as_array, check_array, map_npy
from dpcov.sensitive.sources.choice import Choice, Wanted, choose_from_array, choose_from_frame
from dpcov.sensitive.sources.likeness import is_plain
from dpcov.sensitive.sources.names import ACCEPTED
from dpcov.sensitive.sources.recognition import (
    is_anndata,
    is_arrow_stream,
    is_frame,
    is_lazy,
    is_path,
    is_spark,
    is_sparse,
)
from dpcov.sensitive.sources.refusals import kind_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnType", "describe_table"]


@dataclass(frozen=True)
class ColumnType:
    """The name of a column and its kind.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        ``"number"``, ``"whole number"``, ``"boolean"``, ``"text"``, ``"date"``, ``"other"``, or
        ``"unknown"`` where a format declares no types.
    """

    name: str
    kind: str


@dataclass(frozen=True)
class _Declared:
    """What a table declares: labels, kinds, and which labels are an index of rows."""

    labels: Sequence[Any]
    kinds: Sequence[str]
    index: Sequence[str] = ()
    has_own_names: bool = True


def describe_table(table: Any, *, header: bool | None = None) -> tuple[ColumnType, ...]:
    """Return the names and kinds of a table's columns, without reading a cell.

    Parameters
    ----------
    table : array, data frame, stream or path
        What `open_source` takes, and tables with columns that are no numbers. A CSV file
        declares no types. Nor does a column of Python objects in pandas: its kind is
        ``"other"``, though it may be text. Nested sequences have the type that numpy gives
        them. A stream is opened, and only its schema looked at.
    header : bool, optional
        True says that the table's own names are names. Without it they are shown only if each
        of them is one word: others may be somebody's row.

    Examples
    --------
    >>> describe_table(np.ones((5, 2)))
    (ColumnType(name='x0', kind='number'), ColumnType(name='x1', kind='number'))
    """
    wanted = Wanted(header=header)
    declared = _declare(table, wanted)
    if not declared.has_own_names:
        return tuple(map(ColumnType, declared.labels, declared.kinds))
    choice = choose_from_frame(declared.labels, wanted, declared.index)
    if not header:
        _check_plain(choice)
    return tuple(
        ColumnType(name, declared.kinds[place])
        for place, name in zip(choice.places, choice.names, strict=True)
    )


def _check_plain(choice: Choice) -> None:
    for place, name in zip(choice.places, choice.names, strict=True):
        if not is_plain(name):
            raise InputError(
                "Names are shown when each of them is one word, of letters, digits, '_', '.' and "
                f"'-'. That of column {place + 1} is not, so they may be somebody's row, and they "
                "are not repeated here. Say header=True if they are names."
            )


def _declare(table: Any, wanted: Wanted) -> _Declared:
    if is_path(table):
        return _declare_path(table, wanted)
    if is_sparse(table):
        return _declare_array(table)
    if isinstance(table, (np.ndarray, list, tuple)):
        return _declare_array(as_array(table))
    if is_anndata(table):
        return _declare_anndata(table)
    if is_spark(table):
        from dpcov.sensitive.sources.spark_frame import spark_schema

        return _declare_schema(spark_schema(table))
    if is_lazy(table):
        return _declare_lazy(table)
    if is_frame(table):
        return _declare_frame(table)
    if is_arrow_stream(table):
        return _declare_arrow(table)
    raise InputError(f"X must be {ACCEPTED}; got {kind_of(table)}.")


def _declare_path(name: str | os.PathLike[str], wanted: Wanted) -> _Declared:
    from dpcov.sensitive.sources.files import locate

    located = locate(name)
    first = located.files[0]
    if located.kind == "npy":
        return _declare_array(map_npy(first), first.name)
    if located.kind == "csv":
        from dpcov.sensitive.sources.csv_header import check_header, read_header

        header = read_header(first)
        check_header(header, wanted, first.name)
        return _Declared(header.labels, ["unknown"] * len(header.labels))
    if located.kind == "h5ad":
        from dpcov.sensitive.sources.annotated import open_h5ad

        return _declare_anndata(open_h5ad(first), first.name)
    from dpcov.sensitive.sources.parquet_files import read_schema

    # The files of a folder must agree, which is for its reader to check.
    return _declare_schema(read_schema(first)[0])


def _declare_array(array: Any, name: str = "X") -> _Declared:
    check_array(array.ndim, array.dtype, name)
    names = choose_from_array(array.shape[1], Wanted()).names
    return _Declared(names, [_array_kind(array.dtype)] * len(names), has_own_names=False)


def _declare_anndata(table: Any, name: str = "X") -> _Declared:
    from dpcov.sensitive.sources.annotated import are_numbered, matrix_of, variable_labels

    labels = variable_labels(table)
    kinds = [_array_kind(matrix_of(table, name).dtype)] * len(labels)
    return _Declared(labels, kinds, has_own_names=not are_numbered(labels))


def _declare_frame(table: Any) -> _Declared:
    import narwhals as nw

    from dpcov.sensitive.sources.frames import as_frame

    if nw.dependencies.is_pyarrow_table(table):
        return _declare_schema(table.schema)
    if not nw.dependencies.is_pandas_dataframe(table):
        schema = as_frame(table).schema
        return _Declared(list(schema), [_frame_kind(dtype) for dtype in schema.values()])
    # Of a frame with rows narwhals would look at the cells of Python objects.
    schema = as_frame(table.iloc[:0]).schema
    kinds = [
        "other" if own == np.dtype(object) else _frame_kind(dtype)
        for own, dtype in zip(table.dtypes, schema.values(), strict=True)
    ]
    return _Declared(list(schema), kinds)


def _declare_lazy(table: Any) -> _Declared:
    from dpcov.sensitive.sources.frames import lazy_schema

    schema = lazy_schema(table)
    return _Declared(list(schema), [_frame_kind(dtype) for dtype in schema.values()])


def _declare_arrow(table: Any) -> _Declared:
    from dpcov.sensitive.sources.arrow import open_reader

    if type(table).__module__.startswith("pyarrow"):
        return _declare_schema(table.schema)
    if type(table).__module__.startswith("duckdb"):
        table = table.limit(0)  # an empty answer has the same schema, and costs nothing
    return _declare_schema(open_reader(table).schema)


def _declare_schema(schema: pa.Schema) -> _Declared:
    from dpcov.sensitive.sources.arrow_columns import index_labels

    return _Declared(
        schema.names, [_arrow_kind(kind) for kind in schema.types], index_labels(schema)
    )


def _array_kind(dtype: np.dtype[Any]) -> str:
    return {"f": "number", "b": "boolean"}.get(dtype.kind, "whole number")


def _frame_kind(dtype: Any) -> str:
    import narwhals as nw

    if dtype.is_integer():
        return "whole number"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "date" if dtype in (nw.Date, nw.Datetime) else "other"


def _arrow_kind(kind: pa.DataType) -> str:
    from dpcov.sensitive.sources.arrow_columns import import_pyarrow, is_number_type, key_type

    types = import_pyarrow().types
    if types.is_string(key_type(kind)):
        return "text"
    if types.is_integer(kind):
        return "whole number"
    if types.is_boolean(kind):
        return "boolean"
    if is_number_type(kind):
        return "number"
    return "date" if types.is_date(kind) or types.is_timestamp(kind) else "other"
