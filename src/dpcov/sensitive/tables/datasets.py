"""Rows from pyarrow data sets: files of any format and in any folders, one after the other.

Owns how much of a data set is in memory. Arrow's scanner decodes whole row groups, which may be
whole files, and reads ahead. Parquet files whose columns are taken as they are stored are read
without it, as files are; all else goes through a scanner that reads little ahead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrow import ArrowBatchSource
from dpcov.sensitive.tables.arrow_columns import (
    choose_from_schema,
    declare_schema,
    import_pyarrow,
    stored_alike,
    without_dictionary,
)
from dpcov.sensitive.tables.blocks import batch_rows
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.keys import refuse_mixture
from dpcov.sensitive.tables.kinds import Declared, TableKind
from dpcov.sensitive.tables.refusals import kind_of, read_all_or_refuse, read_or_refuse
from dpcov.sensitive.tables.row_groups import read_groups
from dpcov.sensitive.tables.table_formats import refuse_formats

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KIND", "DatasetSource"]

# For each column. Without a buffer Arrow loads whole row groups.
_BUFFER_BYTES = 1 << 16
_FAILED = "The data set cannot be read: a file of it is missing, truncated, or not of its schema."
_A_FILE = "A file of the data set"
_HIDDEN = (
    "privacy_unit= needs the files of the data set, to see that all store the column in one "
    "type, and it does not show them, as when it is filtered. Write what is needed to Parquet "
    "files and pass their folder."
)


class DatasetSource(ArrowBatchSource):
    """A pyarrow data set: read in its own order, twice if its format does not store counts."""

    _is_slow = True

    def __init__(self, dataset: Any, wanted: Wanted) -> None:
        _check(dataset)
        self._dataset = _with_levels_as_texts(dataset)
        choice = choose_from_schema(dataset.schema, wanted)
        if choice.privacy_unit is not None:
            place, name = choice.unit_column
            label = dataset.schema.names[place]
            files = read_or_refuse(lambda: list(dataset.get_fragments()), _HIDDEN)
            if not read_or_refuse(partial(stored_alike, files, [label], dataset.schema), _FAILED):
                raise refuse_mixture(name)
        n_rows = read_or_refuse(dataset.count_rows, _FAILED)
        super().__init__(choice, n_rows, "The data set")

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        labels = self._dataset.schema.names  # Arrow makes a new list each time
        names = [labels[place] for place in places]
        for batch in read_all_or_refuse(lambda: self._read(names), _FAILED):
            yield batch.columns
            del batch  # before the next one is read

    def _read(self, names: list[str]) -> Iterable[pa.RecordBatch]:
        files = _plain_files(self._dataset, names)
        return _scan(self._dataset, names) if files is None else _read_files(files, names)


def _with_levels_as_texts(dataset: Any) -> Any:
    """Return a data set that declares levels and no dictionaries: each file has its own."""
    import pyarrow.dataset as ds

    schema = dataset.schema
    found = [field for field in schema if without_dictionary(field.type) != field.type]
    # Of a filtered one the filter would be lost.
    if not found or not hasattr(dataset, "files") or getattr(dataset, "_scan_options", None):
        return dataset
    for field in found:
        plain = field.with_type(without_dictionary(field.type))
        schema = schema.set(schema.get_field_index(field.name), plain)
    return ds.FileSystemDataset(
        list(dataset.get_fragments()), schema, dataset.format, dataset.filesystem
    )


def _plain_files(dataset: Any, names: Sequence[str]) -> list[Any] | None:
    """Return the files of a data set, if its rows are theirs and some columns are as stored."""
    try:
        files = list(dataset.get_fragments())
    except ValueError:  # filtered, or projected
        return None
    schema = dataset.schema
    return files if all(_is_plain(file, schema, names) for file in files) else None


def _is_plain(file: Any, schema: pa.Schema, names: Sequence[str]) -> bool:
    """Return whether a Parquet file stores columns as its data set declares them."""
    import pyarrow.dataset as ds

    if type(file).__name__ != "ParquetFileFragment":
        return False
    if file.format.read_options != ds.ParquetReadOptions() or _needs_key(file):
        return False
    # A column that a folder's name states is not read from the file.
    if not set(names).isdisjoint(ds.get_partition_keys(file.partition_expression)):
        return False
    stored = file.physical_schema
    return all(
        len(stored.get_all_field_indices(name)) == 1
        and without_dictionary(stored.field(name).type) == schema.field(name).type
        for name in names
    )


def _needs_key(file: Any) -> bool:
    """Return whether a Parquet file is encrypted, with its metadata or without.

    Arrow does not tell whether a data set has a key. But encrypted metadata end with other letters,
    and metadata that are not are followed by a signature.
    """
    with file.open() as opened:
        opened.seek(-8, os.SEEK_END)
        end = opened.read()
    return bool(end != file.metadata.serialized_size.to_bytes(4, "little") + b"PAR1")


def _read_files(files: Iterable[Any], names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of Parquet files."""
    import pyarrow.parquet as pq

    for file in files:
        with file.open() as opened:
            stored = pq.ParquetFile(opened, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            groups = [group.id for group in file.row_groups]
            yield from read_groups(stored, groups, names, _A_FILE, use_threads=True)
        # Each file leaves pieces behind, which would add up over a folder.
        import_pyarrow().default_memory_pool().release_unused()


def _scan(dataset: Any, names: list[str]) -> Iterable[pa.RecordBatch]:
    """Return the batches of any data set; of Parquet files it holds about two row groups."""
    import pyarrow.dataset as ds

    options = {}
    if isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        # What a caller stated would be replaced. A key stays: it is part of the metadata, which
        # were read when rows were counted.
        stated = dataset.format.default_fragment_scan_options
        if stated == ds.ParquetFragmentScanOptions():
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=_BUFFER_BYTES, pre_buffer=False
            )
    batches: Iterable[pa.RecordBatch] = dataset.to_batches(
        columns=names,
        batch_size=batch_rows(len(names)),
        batch_readahead=1,
        fragment_readahead=1,
        **options,
    )
    return batches


def _is_dataset(table: Any) -> bool:
    return type(table).__module__ == "pyarrow._dataset"


def _check(table: Any) -> None:
    if not hasattr(table, "count_rows") or not hasattr(table, "schema"):
        raise InputError(f"The table must be a data set of pyarrow; got {kind_of(table)}.")
    for part in (table, *getattr(table, "children", ())):
        refuse_formats(getattr(part, "files", ()), getattr(part, "filesystem", None))


def _declare(table: Any, wanted: Wanted) -> Declared:
    _check(table)
    return declare_schema(table.schema)


KIND = TableKind(
    called="a pyarrow data set",
    open=lambda table, opening: DatasetSource(table, opening.wanted),
    declare=_declare,
    recognize=_is_dataset,
)
