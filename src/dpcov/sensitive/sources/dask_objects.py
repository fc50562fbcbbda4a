"""Columns of Python objects in Dask frames, before Dask writes them as text.

Owns the undoing of one conversion. Dask makes text of objects by `str`, partition by
partition: 7 and 7.0 become "7" and "7.0", and one person two. Without it the cells come as
they are, and keys can be compared, or refused. What a caller computed from the text, or
had computed before (`persist`), stays as it is.
"""

from __future__ import annotations

from typing import Any

__all__ = ["keep_objects"]


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
