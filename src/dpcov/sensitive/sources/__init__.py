"""Where rows come from: one stream of blocks of numbers, whatever the table is.

Owns the choice of a reader. A kind of table that is not known yet gets a module of its own
here and a line in `open_source`. Readers validate shape, types and column names, all of
which are public; they never read a cell in order to decide whether a table is acceptable,
and never write one to disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrays import ArraySource, SparseSource
from dpcov.sensitive.sources.choice import Wanted
from dpcov.sensitive.sources.keys import Keys
from dpcov.sensitive.sources.names import ACCEPTED, check_shape
from dpcov.sensitive.sources.recognition import (
    is_anndata,
    is_arrow_stream,
    is_dask,
    is_frame,
    is_lazy,
    is_path,
    is_spark,
    is_sparse,
    is_streamed,
)
from dpcov.sensitive.sources.refusals import kind_of

if TYPE_CHECKING:
    from dpcov.sensitive.schedulers import Scheduler

__all__ = ["MAX_STREAM_ROWS", "RowSource", "Rows", "is_dask", "is_streamed", "open_source"]

MAX_STREAM_ROWS = 1 << 22
"""The most rows of a stream that can be read once: what fits the finest grid."""


class Rows(Protocol):
    """Rows that can be read block by block."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None for a stream that was not read yet."""

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of `size` rows, the last one shorter, missing cells as NaN."""


class RowSource(Rows, Protocol):
    """A table that can be read block by block."""

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield, in the order of the blocks, whose each row is.

        For a table that was opened with a unit column. The keys come in runs of any length,
        `size` where the reader can choose, and all of one kind. Two rows are of one unit
        exactly when their keys are equal.
        """


def open_source(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    select: Sequence[str] | None = None,
    unit: str | None = None,
    header: bool | None = None,
    fewest_rows: int = 2,
    scheduler: Scheduler | None = None,
) -> RowSource:
    """Return `table` as a source of rows, or say why it cannot be one.

    Parameters
    ----------
    table : array, data frame, stream or path
        numpy, scipy.sparse, pandas, polars (also lazy), pyarrow, Dask arrays and data frames,
        anything with ``__arrow_c_stream__``, Spark, AnnData, nested sequences of numbers, or the
        path of a CSV, Parquet, .npy or .h5ad file or of a folder of Parquet files.
    columns : sequence of str, optional
        Names for all columns, the unit column among them, by their places. By default the
        table's own, or ``x0, x1, …`` for an array.
    select : sequence of str, optional
        The columns to read, in this order. The others may be of any type, and are not read
        where the format allows that. Not together with `columns`.
    unit : str, optional
        The column that says whose row it is. It is no part of the blocks; see
        `RowSource.unit_keys`. Whole numbers, text, categories, dates; not for streams that
        can be read only once. Of AnnData it is a column of ``obs``.
    header : bool, optional
        True says that the table's own names are names, also if they look like somebody's row.
        False says that a CSV file has none; then `columns` or `select` names all columns by place.
    fewest_rows : int, default 2
        How many rows there must be.
    scheduler : Scheduler, optional
        Who computes a Dask collection; by default the cluster that this process is connected
        to, or its own threads.

    Notes
    -----
    Claim P8. What a library says when it fails to read is not repeated, since it may quote a
    cell; nor are names that nobody stated, where they may be cells. The same numbers give the
    same blocks from every kind of table, whatever batches or row groups they are stored in. A
    column that pandas wrote to Parquet or Arrow for an index of rows is not read, unless
    `select` or `unit` names it.

    Examples
    --------
    >>> open_source(np.eye(3)).columns
    ('x0', 'x1', 'x2')
    >>> open_source(np.eye(3), unit="x0").columns
    ('x1', 'x2')
    """
    wanted = Wanted(columns, select, unit, header)
    source: RowSource
    if is_dask(table):
        from dpcov.sensitive.sources.dask_tables import open_dask

        source = open_dask(table, wanted, scheduler)
    else:
        source = _reader(table, wanted, fewest_rows)
    if source.n_rows is not None:
        check_shape(source.n_rows, len(source.columns), fewest_rows)
    return source


def _reader(table: Any, wanted: Wanted, fewest_rows: int) -> RowSource:
    if isinstance(table, (np.ndarray, list, tuple)):
        return ArraySource(table, wanted)
    if is_sparse(table):
        return SparseSource(table, wanted)
    # The other readers are loaded when they are needed: the import stays fast.
    if is_path(table):
        from dpcov.sensitive.sources.files import open_path

        return open_path(table, wanted)
    if is_anndata(table):
        from dpcov.sensitive.sources.annotated import AnnDataSource

        return AnnDataSource(table, wanted)
    if is_spark(table):
        from dpcov.sensitive.sources.spark_frame import SparkSource

        return SparkSource(table, wanted)
    from dpcov.sensitive.sources import frames

    if is_lazy(table):
        return frames.LazySource(table, wanted)
    if is_frame(table):
        return frames.FrameSource(table, wanted)
    if is_arrow_stream(table):
        from dpcov.sensitive.sources.arrow import open_arrow

        return open_arrow(table, wanted, fewest_rows=fewest_rows, most_rows=MAX_STREAM_ROWS)
    raise InputError(f"X must be {ACCEPTED}; got {kind_of(table)}.")
