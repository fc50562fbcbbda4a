"""Arrow columns: which are data, and their cells as numbers and keys.

Owns what dpcov knows of Arrow's types. Data sets, streams and files share it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import MissingExtraError
from dpcov.sensitive.tables.arrow_numbers import numbers_of
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame
from dpcov.sensitive.tables.key_cells import STEPS, Kind
from dpcov.sensitive.tables.keys import Keys, as_keys, refuse_missing_unit, refuse_unit_type
from dpcov.sensitive.tables.kinds import Declared
from dpcov.sensitive.tables.refusals import read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "choose_from_schema",
    "declare_schema",
    "finest_type",
    "import_pyarrow",
    "index_labels",
    "is_number_type",
    "key_type",
    "read_arrow_cells",
    "read_arrow_keys",
    "read_arrow_numbers",
    "read_texts",
    "stored_alike",
    "with_dictionaries",
    "without_dictionary",
]


def import_pyarrow() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(
            "CSV and Parquet files and Arrow streams need pyarrow: pip install 'dpcov[files]'"
        ) from None
    return pyarrow


def choose_from_schema(schema: pa.Schema, wanted: Wanted, *, of: str = "") -> Choice:
    """Return which columns are read, or refuse one by its name and its declared type.

    A column that pandas wrote for an index of rows is no data, unless it is asked for.
    """
    choice = choose_from_frame(schema.names, wanted, index_labels(schema))
    choice = with_rules(choice, _declared_types(schema), wanted, of=of)
    types = schema.types  # Arrow makes a new list each time
    if choice.privacy_unit is not None and not _is_key_type(types[choice.privacy_unit]):
        raise refuse_unit_type(choice.unit_column[1], _first_word(types[choice.privacy_unit]))
    return choice


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether the cells of an Arrow type are numbers."""
    types = import_pyarrow().types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def read_arrow_numbers(column: Any, name: str) -> npt.NDArray[Any]:
    """Return an Arrow column of numbers as an array, nulls as NaN."""
    return read_or_refuse(lambda: _as_array(column), f"Column {name!r} cannot be read as numbers.")


def read_arrow_cells(column: Any, rule: CellRule) -> npt.NDArray[Any]:
    """Return an Arrow column as numbers, by the rule of the column, nulls as NaN."""
    name = rule.column.name
    if rule.mode == "number":
        return rule.of_numbers(read_arrow_numbers(column, name))
    read = _read_times if rule.mode == "time" else read_texts
    return read_or_refuse(lambda: read(column, rule), f"Column {name!r} cannot be read.")


def read_texts(column: Any, rule: CellRule) -> npt.NDArray[Any]:
    """Return texts or categories as numbers: each that occurs in a batch is looked at once."""
    pyarrow = import_pyarrow()
    if isinstance(column, pyarrow.ChunkedArray):
        parts = [read_texts(chunk, rule) for chunk in column.chunks]
        return np.concatenate(parts) if parts else np.empty(0)
    if pyarrow.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    found = column.dictionary.to_pylist()
    values = np.array([*map(rule.of_cell, found), np.nan])
    places = column.indices.cast(pyarrow.int64()).fill_null(len(found))
    cells: npt.NDArray[Any] = values[places.to_numpy(zero_copy_only=False)]
    return cells


def _read_times(column: Any, rule: CellRule) -> npt.NDArray[Any]:
    """Return dates, moments or durations as numbers."""
    pyarrow = import_pyarrow()
    kind = column.type
    if pyarrow.types.is_date(kind):
        step, whole = ("D", pyarrow.int32()) if kind.bit_width == 32 else ("ms", pyarrow.int64())
    else:
        step, whole = kind.unit, pyarrow.int64()
    missing = column.is_null().to_numpy(zero_copy_only=False)
    # Views, since a cast may refuse a time by its value.
    steps = column.view(whole).fill_null(0).to_numpy(zero_copy_only=False)
    numbers = rule.of_numbers(rule.of_steps(steps.astype(np.int64), step))
    return np.where(missing, np.nan, numbers)


def read_arrow_keys(column: Any, name: str) -> Keys:
    """Return an Arrow column, in one piece or several, as keys."""
    pyarrow = import_pyarrow()
    stored = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    is_time = pyarrow.types.is_time(stored)

    def convert() -> npt.NDArray[Any] | None:
        # Codes of a dictionary differ from batch to batch, and may stand for null.
        plain = column if stored == column.type else column.cast(stored)
        if plain.null_count:
            return None
        if is_time:
            # Python's times have no unit, and end with µs.
            whole = pyarrow.int32() if stored.bit_width == 32 else pyarrow.int64()
            plain = plain.cast(whole)
        array: npt.NDArray[Any] = (
            plain.to_numpy()
            if isinstance(plain, pyarrow.ChunkedArray)
            else plain.to_numpy(zero_copy_only=False)
        )
        return array

    cells = read_or_refuse(convert, f"Unit column {name!r} cannot be read.")
    if cells is None:
        raise refuse_missing_unit(name)
    if is_time:
        step = STEPS[stored.unit]
        return Keys(cells.astype(np.int64) * step, Kind.TIME, step)
    in_zone = pyarrow.types.is_timestamp(stored) and stored.tz is not None
    return as_keys(cells, name, in_zone=in_zone)


def without_dictionary(kind: pa.DataType) -> pa.DataType:
    """Return the type of the levels of a dictionary, and any other type as it is.

    How many bits its places take depends on how many levels there are, and so on the rows.
    """
    return kind.value_type if import_pyarrow().types.is_dictionary(kind) else kind


def key_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that keys of an Arrow type have: ways to store the same are one."""
    pyarrow = import_pyarrow()
    kind = without_dictionary(kind)
    if pyarrow.types.is_integer(kind):
        return pyarrow.int64()
    if pyarrow.types.is_timestamp(kind):
        return pyarrow.timestamp(kind.unit, None if kind.tz is None else "UTC")
    # By name, since some came after the oldest pyarrow that is supported.
    for plain in (pyarrow.string(), pyarrow.binary()):
        if str(kind) in (f"large_{plain}", f"{plain}_view"):
            return plain
    return kind


def finest_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of keys with times in nanoseconds, whatever their unit."""
    pyarrow = import_pyarrow()
    plain = key_type(kind)
    if pyarrow.types.is_timestamp(plain):
        return pyarrow.timestamp("ns", plain.tz)
    if pyarrow.types.is_duration(plain):
        return pyarrow.duration("ns")
    return pyarrow.time64("ns") if pyarrow.types.is_time(plain) else plain


def stored_alike(
    fragments: Iterable[Any], labels: Collection[str], declared: pa.Schema | None = None
) -> bool:
    """Return whether all files of a data set store the keys of each column in one type.

    Arrow and Dask would convert them to one type, after which nobody sees that one person's
    0.1 in 32 bits is another 0.1 in 64, and that µs were cut from ns.
    """
    import pyarrow.dataset as ds

    wanted = frozenset(labels)
    found = set() if declared is None else _key_types(declared, wanted)
    found = {(label, kind) for label, kind in found if kind != import_pyarrow().null()}
    for fragment in fragments:
        # Text has no types but those that the data set declares.
        if isinstance(getattr(fragment, "format", None), (ds.CsvFileFormat, ds.JsonFileFormat)):
            continue
        types = _key_types(fragment.physical_schema, wanted)
        # An empty file has no cells, and pandas often writes it with other types.
        if types - found and fragment.count_rows():
            found |= types
    return len(found) == len({label for label, _ in found})


def _key_types(schema: pa.Schema, labels: Collection[str]) -> set[tuple[str, pa.DataType]]:
    fields = zip(schema.names, schema.types, strict=True)
    return {(label, key_type(kind)) for label, kind in fields if label in labels}


def index_labels(schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns that pandas wrote for an index of rows, by what the schema says."""
    written = (schema.metadata or {}).get(b"pandas")
    try:
        index = json.loads(written)["index_columns"] if written else []
        return tuple(label for label in index if isinstance(label, str))
    except (ValueError, KeyError, TypeError):
        return ()


def declare_schema(schema: pa.Schema) -> Declared:
    """Return what an Arrow schema declares."""
    return Declared(schema.names, _declared_types(schema), index_labels(schema))


def _declared_types(schema: pa.Schema) -> list[CellType]:
    return [_declared_type(field) for field in schema]


def _declared_type(field: pa.Field) -> CellType:
    kind = _kind_of(field.type)
    # A float that is not null may be NaN, and so may be a decimal that is read as one.
    nullable = bool(field.nullable) or kind == "number"
    ordered = kind == "category" and bool(field.type.ordered)
    return CellType(kind, _first_word(field.type), nullable, ordered=ordered)


def with_dictionaries(types: Sequence[CellType], table: pa.Table) -> list[CellType]:
    """Return the types of a table in memory, with the levels that its dictionaries carry.

    They are levels of a type if they are the same in all chunks: such a dictionary was made
    before the rows were cut. One that grew with the data is not.
    """
    return [
        replace(kind, levels=partial(_shared_levels, table.column(place)))
        if kind.kind == "category"
        else kind
        for place, kind in enumerate(types)
    ]


def _shared_levels(column: Any) -> tuple[object, ...] | None:
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    if not dictionaries or any(not each.equals(dictionaries[0]) for each in dictionaries[1:]):
        return None
    return tuple(dictionaries[0].to_pylist())


def _kind_of(kind: pa.DataType) -> str:
    types = import_pyarrow().types
    if types.is_dictionary(kind):
        return "category"
    if types.is_string(key_type(kind)):
        return "text"
    if types.is_integer(kind):
        return "whole number"
    if types.is_boolean(kind):
        return "boolean"
    if is_number_type(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "duration" if types.is_duration(kind) else "other"


def _is_key_type(kind: pa.DataType) -> bool:
    types = import_pyarrow().types
    plain = key_type(kind)
    return (
        is_number_type(plain)
        or types.is_temporal(plain)
        or types.is_string(plain)
        or types.is_binary(plain)
        or types.is_fixed_size_binary(plain)
        or str(plain) == "extension<arrow.uuid>"
    )


def _first_word(kind: pa.DataType) -> str:
    # A nested type would list its parts.
    return str(kind).split("<")[0]


def _as_array(column: Any) -> npt.NDArray[Any]:
    pyarrow = import_pyarrow()
    # Arrow refuses, and quotes, 64-bit integers that do not fit a float: numpy rounds.
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    elif pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    return numbers_of(column)
