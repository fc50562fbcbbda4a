"""What Dask does to a unit column before anybody sees it.

Owns what dpcov knows of Dask's expressions: three conversions that would make two people of
one. Dask makes text of Python objects by `str`: 7 and 7.0 become "7" and "7.0". That is
undone. It reads Parquet files of several types as one, of which each 0.1 in 32 bits is
another number than 0.1 in 64; and it guesses the types of text block by block, so that 007
is "007" in one and "7" in another. Those are found. What a caller converted in between,
or had computed before (`persist`), stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ParquetRead",
    "guesses_types",
    "keep_objects",
    "parquet_files",
    "parquet_fragments",
    "partitions_of",
]

# They leave each column that they keep under its name, and as it was.
_KEEPING = (
    "ArrowStringConversion",
    "Assign",
    "Drop",
    "DropnaFrame",
    "Filter",
    "Partitions",
    "Projection",
    "Query",
)
_CSV, _JSON = "dask.dataframe.io.csv", "read_json_"


@dataclass(frozen=True, eq=False)
class ParquetRead:
    """A reading of Parquet files.

    Parameters
    ----------
    labels : collection of str
        The columns that may have become the unit column.
    fragments : list
        The files.
    declared : Schema or None
        The types that they are read as, if that is known.
    """

    labels: Collection[str]
    fragments: list[Any]
    declared: pa.Schema | None


def keep_objects(table: Any) -> Any:
    """Return a Dask frame that does not make text of objects.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> whose = pd.DataFrame({"who": pd.Series([7, 7.0], dtype=object)})
    >>> keep_objects(dd.from_pandas(whose, npartitions=1)).compute()["who"].tolist()
    [7, 7.0]
    """
    made: dict[str, Any] = {}
    kept = _keep(table.expr, made)
    return table if kept is table.expr else type(table)(kept)


def partitions_of(table: Any) -> list[Any]:
    """Return the partitions of a frame, each to be computed."""
    import dask

    # Older versions make text of objects at this point, too.
    with dask.config.set({"dataframe.convert-string": False}):
        return list(table.to_delayed())


def parquet_files(table: Any, label: Any) -> Iterator[ParquetRead]:
    """Yield the readings of Parquet files from which a column may come."""
    origin = _origin(table.expr, label)
    for node in (table.expr if origin is None else origin).walk():
        if type(node).__name__.startswith("ReadParquet"):
            # Under another name it may be any of them, or their index.
            labels = _stored_labels(node) if origin is None else [str(label)]
            yield ParquetRead(labels, *_fragments(node))


def parquet_fragments(table: Any) -> Iterator[list[Any]]:
    """Yield the Parquet files that a frame is read from, those of each reading together."""
    for node in table.expr.walk():
        if type(node).__name__.startswith("ReadParquet"):
            yield _fragments(node)[0]


def _fragments(node: Any) -> tuple[list[Any], pa.Schema | None]:
    """Return the files of a reading, and the types that they are read as, if that is known."""
    if type(node).__name__.endswith("PyarrowFS"):
        return list(node.fragments), None
    files = node._dataset_info["ds"]
    return list(files.get_fragments()), files.schema


def guesses_types(table: Any, label: Any) -> bool:
    """Return whether blocks of text may have guessed the type of a column, each its own.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> guesses_types(dd.from_pandas(pd.DataFrame({"who": ["007"]}), npartitions=1), "who")
    False
    """
    from dask.delayed import Delayed

    origin = _origin(table.expr, label)
    for node in (table.expr if origin is None else origin).walk():
        # Numbers of JSON become 1 or 1.0 before they become text: no stated type helps.
        delayed = (each for each in node.operands if isinstance(each, Delayed))
        if any(str(each.key).startswith(_JSON) for each in delayed):
            return True
        options = _csv_options(node)
        if options is not None:
            labels = node.columns if origin is None else [label]
            if not all(_is_stated(options, each) for each in labels):
                return True
    return False


def _origin(node: Any, label: Any) -> Any:
    """Return the reading from which a column comes as it is, or None if that is not known."""
    while type(node).__name__ in _KEEPING:
        if type(node).__name__ == "Assign" and label in node.operands[1::2]:
            return None
        node = node.operands[0]
    reads = type(node).__name__ == "FromDelayed" or not node.dependencies()
    return node if reads and label in list(node.columns) else None


def _stored_labels(node: Any) -> list[str]:
    index = node._meta.index.names
    unnamed = [f"__index_level_{level}__" for level in range(len(index))]
    return [*map(str, node.columns), *map(str, index), *unnamed]


def _csv_options(node: Any) -> Mapping[str, Any] | None:
    """Return what a caller asked of pandas, if this node reads CSV files."""
    if type(node).__name__.startswith("ReadCSV"):  # until 2024
        return dict(node.operand("kwargs") or {})
    # Not by getattr(): an expression may take it for the name of a column.
    reader = node.operand("func") if "func" in node._parameters else None
    plain = getattr(reader, "func", type(reader))
    if getattr(plain, "__module__", None) != _CSV:
        return None
    stated = getattr(reader, "keywords", vars(reader)).get("kwargs")
    return dict(stated or {})


def _is_stated(options: Mapping[str, Any], label: Any) -> bool:
    """Return whether a column is stated to be text, and pandas reads it as such."""
    import pandas as pd

    dtype = options.get("dtype")
    if isinstance(dtype, Mapping):
        # Not by get(): it may have a default of its own.
        dtype = dtype[label] if label in dtype or hasattr(dtype, "default_factory") else None
    # Arrow guesses first and converts afterwards; dates are guessed in any case.
    if dtype is None or options.get("engine") == "pyarrow" or options.get("parse_dates"):
        return False
    kind = pd.api.types.pandas_dtype(dtype)
    return isinstance(kind, pd.StringDtype) or kind in (np.dtype(object), np.dtype(str))


def _keep(node: Any, made: dict[str, Any]) -> Any:
    # Each once: expressions share their parts.
    if node._name not in made:
        made[node._name] = _without_text(node, [_operand(each, made) for each in node.operands])
    return made[node._name]


def _operand(operand: Any, made: dict[str, Any]) -> Any:
    is_node = hasattr(operand, "operands") and hasattr(operand, "_name")
    return _keep(operand, made) if is_node else operand


def _without_text(node: Any, operands: list[Any]) -> Any:
    kind = type(node).__name__
    if kind == "ArrowStringConversion":
        return operands[0]
    if kind == "FromPandas":
        operands[node._parameters.index("pyarrow_strings_enabled")] = False
    same = all(one is other for one, other in zip(operands, node.operands, strict=True))
    return node if same else type(node)(*operands)
