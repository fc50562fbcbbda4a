"""What Dask does to a unit column before anybody sees it.

Owns what dpcov knows of Dask's expressions: two conversions that would make two people of
one. Dask makes text of Python objects by `str`: 7 and 7.0 become "7" and "7.0". That is
undone. And it reads Parquet files of several types as one, of which each 0.1 in 32 bits is
another number than 0.1 in 64: those files are found. What a caller converted in between,
or had computed before (`persist`), stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["keep_objects", "parquet_files", "partitions_of"]


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
    if not hasattr(table, "expr"):  # a frame of older versions, without expressions
        return table
    made: dict[str, Any] = {}
    kept = _keep(table.expr, made)
    return table if kept is table.expr else type(table)(kept)


def partitions_of(table: Any) -> list[Any]:
    """Return the partitions of a frame, each to be computed."""
    import dask

    # Older versions make text of objects at this point, too.
    with dask.config.set({"dataframe.convert-string": False}):
        return list(table.to_delayed())


def parquet_files(table: Any) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield, for each reading of Parquet files, its columns and the files' fragments."""
    if not hasattr(table, "expr"):
        return
    for node in table.expr.walk():
        kind = type(node).__name__
        if kind.startswith("ReadParquet"):
            arrow = kind.endswith("PyarrowFS")
            found = node.fragments if arrow else node._dataset_info["ds"].get_fragments()
            yield tuple(map(str, node.columns)), list(found)


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
