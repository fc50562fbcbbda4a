"""Arrow columns: which are data, and their cells as numbers and keys.

Owns what dpcov knows of Arrow's types. Data sets, streams and files share it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import MissingExtraError
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame
from dpcov.sensitive.tables.key_cells import STEPS, Kind
from dpcov.sensitive.tables.keys import Keys, as_keys, refuse_missing_unit, refuse_unit_type
from dpcov.sensitive.tables.kinds import Declared
from dpcov.sensitive.tables.names import refuse_column
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
    "read_arrow_keys",
    "read_arrow_numbers",
    "stored_alike",
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
    types = schema.types  # Arrow makes a new list each time
    for place, name in zip(choice.places, choice.names, strict=True):
        if not is_number_type(types[place]):
            raise refuse_column(
                name,
                place,
                _first_word(types[place]),
                is_stated=wanted.states_names,
                has_numbers=any(is_number_type(types[each]) for each in choice.places),
                of=of,
            )
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


def key_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that keys of an Arrow type have: ways to store the same are one."""
    pyarrow = import_pyarrow()
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
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
    wanted = frozenset(labels)
    found = set() if declared is None else _key_types(declared, wanted)
    found = {(label, kind) for label, kind in found if kind != import_pyarrow().null()}
    for fragment in fragments:
        # Text has no types but those that the data set declares.
        if getattr(getattr(fragment, "format", None), "type_name", "") in ("csv", "json"):
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
    return Declared(schema.names, [_kind_of(kind) for kind in schema.types], index_labels(schema))


def _kind_of(kind: pa.DataType) -> str:
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
    array: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array
