"""Which kinds of tables there are, and which one an object is.

Owns the list. A new kind is a module with a `KIND` and a line in `KINDS`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from dpcov.columns import Columns
from dpcov.columns.codes import Code
from dpcov.columns.csv_form import COMMAS, CsvForm
from dpcov.errors import InputError
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.files import find_files, is_path
from dpcov.sensitive.tables.kinds import Opening, TableKind
from dpcov.sensitive.tables.names import check_shape
from dpcov.sensitive.tables.refusals import kind_of
from dpcov.sensitive.tables.source import RowSource
from dpcov.sensitive.workers.schedulers import Home, Workers

__all__ = ["KINDS", "find_kind", "home_of", "is_streamed", "open_table"]

KINDS = (
    "arrays",
    "npy_file",
    "sparse",
    "csv_file",
    "parquet_files",
    "dask_tables",
    "annotated",
    "spark_frame",
    "lazy_frame",
    "frames",
    "datasets",
    "streams",
)
"""The modules of all kinds, in the order in which they are asked.

The first that recognizes a table reads it, so what is narrower stands before what is wider: a
frame or a data set may offer an Arrow stream, too, and `streams` takes everything that does.
What is loaded quickly and asked for often stands first: a module is loaded when its turn comes.
"""


def open_table(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    select: Sequence[str] | None = None,
    privacy_unit: str | None = None,
    header: bool | None = None,
    weight: str | None = None,
    facts: Columns | None = None,
    missing_codes: Sequence[Code] = (),
    csv: CsvForm | None = None,
    fewest_rows: int = 2,
    scheduler: Workers | None = None,
) -> RowSource:
    """Return `table` as a source of rows, or say why it cannot be one.

    Notes
    -----
    Claim P8. What a library says when it fails to read is not repeated, since it may quote a
    cell; nor are names that nobody stated, where they may be cells. The same numbers give the
    same blocks from every kind of table, whatever batches or row groups they are stored in. A
    column that pandas wrote to Parquet or Arrow for an index of rows is not read, unless
    `select` or `privacy_unit` names it.

    Examples
    --------
    >>> open_table([[1.0, 2.0], [3.0, 4.0]]).columns
    ('x0', 'x1')
    >>> import numpy as np
    >>> open_table(np.array([[1.0, 2.0], [3.0, 4.0]]), privacy_unit="x0").columns
    ('x1',)
    """
    wanted = Wanted(
        columns,
        select,
        privacy_unit,
        header,
        weight,
        facts,
        tuple(missing_codes),
        COMMAS if csv is None else csv,
    )
    kind, found = find_kind(table)
    source = kind.open(found, Opening(wanted, fewest_rows, scheduler))
    if source.n_rows is not None:
        check_shape(source.n_rows, len(source.columns) - (weight is not None), fewest_rows)
    return source


def find_kind(table: Any) -> tuple[TableKind, Any]:
    """Return which kind a table is, and the table; for a path, its kind and its `Files`."""
    if is_path(table):
        return find_files(table, _kinds())
    kind = _recognize(table)
    if kind is None:
        *others, last = [kind.called for kind in _kinds() if kind.called]
        raise InputError(
            f"The table must be {', '.join(others)} or {last}, or the path of a file; got "
            f"{kind_of(table)}."
        )
    return kind, table


def is_streamed(table: Any) -> bool:
    """Return whether only `open_table` can read `table`: no array and no frame in memory."""
    if is_path(table):
        return True
    kind = _recognize(table)
    return kind is not None and not kind.in_memory


def home_of(table: Any) -> Home:
    """Return whose workers read `table`, whether that is asked for or not."""
    if is_path(table):
        return "files"
    kind = _recognize(table)
    return "here" if kind is None else kind.home


def _recognize(table: Any) -> TableKind | None:
    return next((kind for kind in _kinds() if kind.recognize(table)), None)


def _kinds() -> Iterator[TableKind]:
    """Yield the kinds in order; each is loaded when it is its turn."""
    for name in KINDS:
        kind: TableKind = import_module(f"dpcov.sensitive.tables.{name}").KIND
        yield kind
