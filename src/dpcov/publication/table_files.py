"""Tables as files: CSV and Parquet.

Owns how a cell is written. Numbers are written so that they are read back to the bit; what is not
known is an empty cell, or null.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dpcov.errors import MissingExtraError
from dpcov.publication.series import Series, Table

__all__ = ["FLAGS", "write_csv_text", "write_table"]

FLAGS = {False: "false", True: "true"}
"""How whether something holds is written."""


class Writes(Protocol):
    """Whatever text can be written to."""

    def write(self, text: str, /) -> object: ...


def write_table(table: Table, stem: Path) -> None:
    """Write a table as ``.csv`` and ``.parquet``."""
    with stem.with_name(f"{stem.name}.csv").open("x", encoding="utf-8", newline="") as file:
        write_csv_text(file, table)
    _write_parquet(stem.with_name(f"{stem.name}.parquet"), table)


def write_csv_text(file: Writes, table: Table) -> None:
    """Write a table as the text of a CSV file."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*map(_cells, table.values()), strict=True))


def _cells(series: Series) -> Iterator[str]:
    values = series.values
    if isinstance(values, list):
        return iter(values)
    if values.dtype == np.bool_:
        return (FLAGS[value] for value in values.tolist())
    if np.isnan(values).any():
        return ("" if value != value else repr(value) for value in values.tolist())
    return map(repr, values.tolist())


def _write_parquet(path: Path, table: Table) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'dpcov[files]'") from None

    def column(series: Series) -> Any:
        if isinstance(series.values, list):
            return pa.array(series.values, pa.string())
        return pa.array(series.values, from_pandas=True)

    pq.write_table(pa.table({name: column(series) for name, series in table.items()}), path)
