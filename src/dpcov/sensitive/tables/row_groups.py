"""Row groups of a Parquet file: which are read whole, and which in batches.

Owns how much of a file is in memory. Arrow's reader of batches holds a page and the dictionary of
every column all the time. For a row group of middling size that is more than its numbers, and they
are decoded faster one column after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dpcov.errors import InputError
from dpcov.sensitive.tables.blocks import batch_rows

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["plan_runs", "read_groups"]

_MOST_WHOLE_ROWS = 1 << 17  # a megabyte for each column: what its page would take
_SMALL_BYTES = 32 << 20


def read_groups(
    file: pq.ParquetFile,
    groups: Sequence[int] | None,
    names: list[str],
    called: str,
    *,
    use_threads: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of some row groups, or of all, in the order in which they are named."""
    check = partial(_check_names, called, names)
    for run, is_whole in plan_runs(file.metadata, groups, len(names)):
        # Only with threads does Arrow let go of each column's reader when it is done.
        if is_whole and use_threads:
            yield from map(check, _read_whole(file, run, names))
        else:
            rows = batch_rows(len(names))
            batches = file.iter_batches(rows, run, columns=names, use_threads=use_threads)
            yield from map(check, batches)


def _check_names(called: str, names: list[str], batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch if it has the columns that were asked for, in their order.

    Arrow gives all columns of a name where there are several, and parts of others whose whole
    name it is, and then not in this order.
    """
    if batch.schema.names != names:
        raise InputError(
            f"{called} has more than one column, or part of a column, with a name that is asked "
            "for. Rename them."
        )
    return batch


def _read_whole(file: pq.ParquetFile, run: list[int], names: list[str]) -> Iterator[pa.RecordBatch]:
    batches = file.read_row_groups(run, columns=names, use_threads=True).to_batches()
    batches.reverse()
    while batches:  # none stays here while it is used, or while the next is read
        yield batches.pop()


def plan_runs(
    metadata: pq.FileMetaData, groups: Sequence[int] | None, n_columns: int
) -> Iterator[tuple[list[int], bool]]:
    """Yield row groups that are read in one go, and whether they are read whole.

    Those are left to batches that are large, that are smaller than a batch, and that are stored
    in much less than their numbers take, and so have small pages.
    """
    waiting: list[int] = []
    for group in range(metadata.num_row_groups) if groups is None else groups:
        found = metadata.row_group(group)
        stored = found.total_byte_size * n_columns / max(1, found.num_columns)
        fits = 8 * n_columns * found.num_rows <= max(_SMALL_BYTES, 2 * stored)
        if not fits or not batch_rows(n_columns) < found.num_rows <= _MOST_WHOLE_ROWS:
            waiting.append(group)
            continue
        if waiting:
            yield waiting, False
            waiting = []
        yield [group], True
    if waiting:
        yield waiting, False
