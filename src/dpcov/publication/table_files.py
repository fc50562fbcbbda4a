"""Tables as files: CSV and Parquet.

Owns how a cell is written. Numbers are written so that they are read back to the bit; what is not
known is an empty cell, or null.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcov.errors import MissingExtraError
from dpcov.publication.series import Series, Table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FLAGS", "write_csv_text", "write_table"]

FLAGS = {False: "FALSE", True: "TRUE"}
"""How whether something holds is written: R reads true and false as text."""


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

    columns = {name: _to_arrow(series.values) for name, series in table.items()}
    pq.write_table(pa.table(columns), path)


def _to_arrow(values: Any) -> pa.Array:
    """Return values as an Arrow array, nan as null.

    From their bytes: `pyarrow.array` looks whether they are pandas', and so imports it.
    """
    import pyarrow as pa

    if isinstance(values, list):
        texts = [text.encode() for text in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        parts = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(pa.string(), len(texts), parts)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])
    unknown = np.isnan(values)
    known = _bits(~unknown) if unknown.any() else None
    cells = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [known, cells])


def _bits(flags: Any) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags, bitorder="little"))
