"""What every table becomes: rows that can be read block by block.

Owns the protocol of sources. Readers validate shape, types and column names, all of which are
public; they never read a cell in order to decide whether a table is acceptable. None writes one
to disk but `spool`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from dpcov.columns.fields import Field

if TYPE_CHECKING:
    from dpcov.sensitive.tables.keys import Keys

__all__ = ["MAX_STREAM_ROWS", "RowSource", "Rows"]

MAX_STREAM_ROWS = 3_800_000
"""The most rows of a stream that is read once: what fits the finest grid, with a mean."""


class Rows(Protocol):
    """Rows that can be read block by block."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """What each column of a block is: public, and known before a row is read."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None for a stream that was not read yet."""

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of `size` rows, the last one shorter, missing cells as NaN."""


class RowSource(Rows, Protocol):
    """A table that can be read block by block."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that nobody named and nobody reads: identifiers by their names."""

    @property
    def person_column(self) -> str | None:
        """A column that is called like one that says whose row it is, where none is stated."""

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield, in the order of the blocks, whose each row is.

        For a table that was opened with a unit column. The keys come in runs of any length,
        `size` where the reader can choose, and all of one kind. Two rows are of one unit
        exactly when their keys are equal.
        """
