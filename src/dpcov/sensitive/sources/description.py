"""What a table says of itself: the names of its columns and their declared types.

Owns a description that can be shown to anybody, as the beginning of a list of public
facts. It is made from headers, schemas and types; no cell is read for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrays import as_array, check_array, map_npy
from dpcov.sensitive.sources.choice import Wanted, choose_from_array, choose_from_frame
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


def describe_table(table: Any) -> tuple[ColumnType, ...]:
    """Return the names and kinds of a table's columns, without reading a cell.

    Parameters
    ----------
    table : array, data frame, stream or path
        What `open_source` takes, and tables with columns that are no numbers. A CSV file
        declares no types. Nor does a column of Python objects in pandas: its kind is
        ``"other"``, though it may be text. Nested sequences have the type that numpy gives
        them. A stream is opened, and only its schema looked at.

    Examples
    --------
    >>> describe_table(np.ones((5, 2)))
    (ColumnType(name='x0', kind='number'), ColumnType(name='x1', kind='number'))
    """
    if is_path(table):
        return _describe_path(table)
    if is_sparse(table):
        return _describe_array(table)
    if isinstance(table, (np.ndarray, list, tuple)):
        return _describe_array(as_array(table))
    if is_anndata(table):
        return _describe_anndata(table)
    if is_spark(table):
        from dpcov.sensitive.sources.spark_frame import spark_schema

        return _describe_schema(spark_schema(table))
    if is_lazy(table):
        return _describe_lazy(table)
    if is_frame(table):
        return _describe_frame(table)
    if is_arrow_stream(table):
        return _describe_arrow(table)
    raise InputError(f"X must be {ACCEPTED}; got {kind_of(table)}.")


def _describe_path(name: str | os.PathLike[str]) -> tuple[ColumnType, ...]:
    from dpcov.sensitive.sources.files import locate

    located = locate(name)
    if located.kind == "npy":
        return _describe_array(map_npy(located.files[0]), located.files[0].name)
    if located.kind == "csv":
        from dpcov.sensitive.sources.csv_file import read_header

        names = read_header(located.files[0])
        return _describe(names, ["unknown"] * len(names))
    if located.kind == "h5ad":
        from dpcov.sensitive.sources.annotated import open_h5ad

        return _describe_anndata(open_h5ad(located.files[0]), located.files[0].name)
    from dpcov.sensitive.sources.parquet_files import read_schema

    # The files of a folder must agree, which is for its reader to check.
    return _describe_schema(read_schema(located.files[0])[0])


def _describe_array(array: Any, name: str = "X") -> tuple[ColumnType, ...]:
    check_array(array.ndim, array.dtype, name)
    names = choose_from_array(array.shape[1], Wanted()).names
    return tuple(ColumnType(each, _array_kind(array.dtype)) for each in names)


def _describe_anndata(table: Any, name: str = "X") -> tuple[ColumnType, ...]:
    from dpcov.sensitive.sources.annotated import choose_variables, matrix_of

    kind = _array_kind(matrix_of(table, name).dtype)
    return tuple(ColumnType(each, kind) for each in choose_variables(table, Wanted()).names)


def _describe_frame(table: Any) -> tuple[ColumnType, ...]:
    import narwhals as nw

    from dpcov.sensitive.sources.frames import as_frame

    if nw.dependencies.is_pyarrow_table(table):
        return _describe_schema(table.schema)
    if not nw.dependencies.is_pandas_dataframe(table):
        schema = as_frame(table).schema
        return _describe(list(schema), [_frame_kind(dtype) for dtype in schema.values()])
    # Of a frame with rows narwhals would look at the cells of Python objects.
    schema = as_frame(table.iloc[:0]).schema
    kinds = [
        "other" if own == np.dtype(object) else _frame_kind(dtype)
        for own, dtype in zip(table.dtypes, schema.values(), strict=True)
    ]
    return _describe(list(schema), kinds)


def _describe_lazy(table: Any) -> tuple[ColumnType, ...]:
    from dpcov.sensitive.sources.frames import lazy_schema

    schema = lazy_schema(table)
    return _describe(list(schema), [_frame_kind(dtype) for dtype in schema.values()])


def _describe_arrow(table: Any) -> tuple[ColumnType, ...]:
    from dpcov.sensitive.sources.arrow import open_reader

    if type(table).__module__.startswith("pyarrow"):
        return _describe_schema(table.schema)
    if type(table).__module__.startswith("duckdb"):
        table = table.limit(0)  # an empty answer has the same schema, and costs nothing
    return _describe_schema(open_reader(table).schema)


def _describe_schema(schema: pa.Schema) -> tuple[ColumnType, ...]:
    from dpcov.sensitive.sources.arrow_columns import index_labels

    kinds = [_arrow_kind(kind) for kind in schema.types]
    return _describe(schema.names, kinds, index_labels(schema))


def _describe(
    labels: Sequence[Any], kinds: Sequence[str], index: Sequence[str] = ()
) -> tuple[ColumnType, ...]:
    choice = choose_from_frame(labels, Wanted(), index)
    return tuple(ColumnType(choice.labels[place], kinds[place]) for place in choice.places)


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
