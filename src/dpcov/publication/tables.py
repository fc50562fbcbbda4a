"""An estimate as tables in files: the covariance with names, and the related pairs.

Owns their columns. Numbers are written so that they are read back to the bit.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpcov.errors import MissingExtraError
from dpcov.postprocess import AnyEstimate, Edges

__all__ = [
    "EDGES_HEADING",
    "MOST_COLUMNS",
    "covariance_table",
    "edge_rows",
    "rows_of",
    "text_of",
    "write_covariance",
    "write_edges",
    "write_rows",
]

MOST_COLUMNS = 2000
"""Beyond so many columns a covariance is written as a list of its entries that are not zero."""

EDGES_HEADING = ("first", "second", "value", "standard_error", "q_value", "estimate")


class Writes(Protocol):
    """Whatever text can be written to."""

    def write(self, text: str, /) -> object: ...


EdgeRow = tuple[str, str, float, float, float, float]
Table = dict[str, list[str] | npt.NDArray[np.float64]]


def write_covariance(estimate: AnyEstimate, folder: Path) -> None:
    """Write ``covariance.csv`` and ``covariance.parquet``.

    A table with the names in its first column and a column for each name; or, beyond
    `MOST_COLUMNS`, the entries on and above the diagonal that are not zero, as ``first``,
    ``second``, ``covariance``.
    """
    table = covariance_table(estimate)
    _write_csv(folder / "covariance.csv", list(table), rows_of(table))
    _write_parquet(folder / "covariance.parquet", table)


def covariance_table(estimate: AnyEstimate) -> Table:
    """Return the columns of the covariance's files, by name."""
    names = [text_of(name) for name in estimate.columns]
    if len(names) > MOST_COLUMNS:
        return _entries(estimate, names)
    return {_free_name(names): names} | dict(zip(names, estimate.covariance.T, strict=True))


def rows_of(table: Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table."""
    return zip(*table.values(), strict=True)


def write_edges(edges: Edges, estimate: AnyEstimate, path: Path) -> None:
    """Write the related pairs, the surest first: as released, and as in the estimate."""
    _write_csv(path, EDGES_HEADING, edge_rows(edges, estimate))


def edge_rows(edges: Edges, estimate: AnyEstimate) -> Iterator[EdgeRow]:
    """Yield the rows of ``edges.csv``."""
    place = {name: number for number, name in enumerate(estimate.columns)}
    first, second = (
        np.array([place[name] for name in names], dtype=np.intp)
        for names in (edges.first, edges.second)
    )
    entries = estimate.entries_at(first, second).tolist()
    for edge, entry in zip(edges, entries, strict=True):
        yield (text_of(edge.first), text_of(edge.second), *edge[2:], entry)


def _entries(estimate: AnyEstimate, names: list[str]) -> Table:
    first, second, values = estimate.entries()
    listed = np.array(names, dtype=object)
    return {
        "first": listed[first].tolist(),
        "second": listed[second].tolist(),
        "covariance": values,
    }


def _write_csv(path: Path, heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        write_rows(file, heading, rows)


def write_rows(file: Writes, heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a heading and rows as the text of a CSV file."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([_cell(cell) for cell in row] for row in rows)


def _write_parquet(path: Path, table: Table) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'dpcov[files]'") from None
    pq.write_table(pa.table({name: pa.array(column) for name, column in table.items()}), path)


def _cell(cell: Any) -> Any:
    return repr(float(cell)) if isinstance(cell, float) else cell


def text_of(name: str) -> str:
    """Return a name as it is written in tables."""
    # A name may hold half a surrogate pair, which UTF-8 has no bytes for.
    return name.encode("utf-8", "backslashreplace").decode()


def _free_name(names: list[str]) -> str:
    name = "column"
    while name in names:
        name += "_"
    return name
