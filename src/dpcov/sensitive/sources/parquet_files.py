"""Rows from Parquet files that belong together, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrow import check_arrow_types, import_pyarrow, read_batch
from dpcov.sensitive.sources.blocks import Part, batch_rows, check_count, cut_blocks
from dpcov.sensitive.sources.names import frame_names
from dpcov.sensitive.sources.refusals import read_all_or_refuse, read_or_refuse

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["ParquetSource"]

# Without a buffer Arrow loads whole row groups, which may be whole files.
_BUFFER_BYTES = 1 << 16


class ParquetSource:
    """Parquet files with the same columns and types; their metadata know the rows."""

    def __init__(self, files: Sequence[Path], given: Sequence[str] | None) -> None:
        import_pyarrow()
        self._files = tuple(files)
        n_rows, first = 0, None
        for path in self._files:
            with _open(path) as file:
                schema = read_or_refuse(lambda file=file: file.schema_arrow, _broken(path))  # type: ignore[misc]
                n_rows += file.metadata.num_rows
            if first is None:
                first = schema
                self.columns = frame_names(list(schema.names), given)
                check_arrow_types(schema, self.columns, of=path.name)
            else:
                _check_sibling(schema, path, first, self._files[0])
        self.n_rows: int | None = n_rows

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks across files and row groups."""
        blocks = cut_blocks(self._parts(), n_columns=len(self.columns), size=size)
        return check_count(blocks, self.n_rows or 0, self._files[0].name)

    def _parts(self) -> Iterator[Part]:
        for path in self._files:
            with _open(path) as file:
                batches = read_all_or_refuse(
                    lambda file=file: file.iter_batches(batch_rows(len(self.columns))),  # type: ignore[misc]
                    _broken(path),
                )
                for batch in batches:
                    yield read_batch(batch, self.columns)


def _open(path: Path) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return read_or_refuse(
        lambda: pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False), _broken(path)
    )


def _broken(path: Path) -> str:
    return (
        f"{path.name} is not a complete Parquet file: it is truncated, damaged, or of another "
        "format."
    )


def _check_sibling(schema: pa.Schema, path: Path, first: pa.Schema, other: Path) -> None:
    if schema.names != first.names:
        raise InputError(
            f"{path.name} has other columns than {other.name}, or in another order. Files of one "
            "folder must agree."
        )
    for name, here, there in zip(schema.names, schema.types, first.types, strict=True):
        if here != there:
            raise InputError(
                f"Column {name!r} is of another type in {path.name} than in {other.name}. Files "
                "of one folder must agree."
            )
