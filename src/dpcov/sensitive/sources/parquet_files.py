"""Rows from Parquet files that belong together, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrow import check_arrow_types, import_pyarrow, read_batch
from dpcov.sensitive.sources.blocks import Part, batch_rows, cut_blocks, expect_rows
from dpcov.sensitive.sources.names import frame_names
from dpcov.sensitive.sources.refusals import read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["ParquetSource"]

# For each column. Without a buffer Arrow loads whole row groups, which may be whole files.
_BUFFER_BYTES = 1 << 14


class ParquetSource:
    """Parquet files with the same columns and types; their metadata know the rows."""

    def __init__(self, files: Sequence[Path], given: Sequence[str] | None) -> None:
        import_pyarrow()
        self._files = tuple(files)
        n_rows, first = 0, None
        for path in self._files:
            schema, count = read_or_refuse(partial(_read_metadata, path), _broken(path))
            n_rows += count
            if first is None:
                first = schema
                self.columns = frame_names(list(schema.names), given)
                check_arrow_types(schema, self.columns, of=path.name)
            else:
                self._check_sibling(schema, path, first)
        self.n_rows: int | None = n_rows

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks across files and row groups."""
        blocks = cut_blocks(self._parts(), n_columns=len(self.columns), size=size)
        return expect_rows(blocks, self.n_rows or 0, self._files[0].name)

    def _check_sibling(self, schema: pa.Schema, path: Path, first: pa.Schema) -> None:
        other = self._files[0].name
        if schema.names != first.names:
            raise InputError(
                f"{path.name} has other columns than {other}, or in another order. Files of one "
                "folder must agree."
            )
        for name, here, there in zip(self.columns, schema.types, first.types, strict=True):
            if here != there:
                raise InputError(
                    f"Column {name!r} is of another type in {path.name} than in {other}. Files of "
                    "one folder must agree."
                )

    def _parts(self) -> Iterator[Part]:
        for path in self._files:
            batches = partial(_read_batches, path, batch_rows(len(self.columns)))
            for batch in read_all_or_refuse(batches, _broken(path)):
                yield read_batch(batch, self.columns)


def _read_metadata(path: Path) -> tuple[pa.Schema, int]:
    with _open(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def _read_batches(path: Path, size: int) -> Iterator[pa.RecordBatch]:
    with _open(path) as file:
        yield from file.iter_batches(size)


def _open(path: Path) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _broken(path: Path) -> str:
    return (
        f"{path.name} is not a complete Parquet file: it is truncated, damaged, or of another "
        "format."
    )
