"""Rows from Dask arrays and data frames, partition by partition.

Owns what dpcov knows of Dask's collections. A partition is computed and read where it is;
what comes here are its length and, if there is a unit column, whose its rows are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.columns import Columns
from dpcov.errors import InputError
from dpcov.sensitive.tables.arrays import ArraySource, array_type, check_array, declare_array
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_array
from dpcov.sensitive.tables.dask_expressions import (
    guesses_types,
    keep_objects,
    parquet_files,
    parquet_fragments,
    partitions_of,
)
from dpcov.sensitive.tables.frames import FrameSource, declare_frame
from dpcov.sensitive.tables.key_cells import Kind
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.keys import (
    Keys,
    as_keys,
    check_keys,
    refuse_guessed_type,
    refuse_mixture,
)
from dpcov.sensitive.tables.kinds import Declared, Opening, TableKind
from dpcov.sensitive.tables.pieces import Parts, Piece, Split
from dpcov.sensitive.tables.refusals import kind_of, read_or_refuse
from dpcov.sensitive.tables.source import RowSource
from dpcov.sensitive.tables.sparse import SparseSource
from dpcov.sensitive.tables.table_formats import refuse_formats
from dpcov.sensitive.workers.schedulers import Scheduler, current_scheduler
from dpcov.sensitive.workers.tasks import make_tasks

if TYPE_CHECKING:
    from dask.delayed import Delayed

__all__ = ["KIND", "DaskSource", "Partition"]

_UNREADABLE = "The Dask collection cannot be split into its partitions."


def _open(table: Any, opening: Opening) -> DaskSource:
    """Return a Dask array or data frame as a source of rows.

    Lengths that the collection does not know are computed: those of a data frame are, and
    those of an array made by a condition.
    """
    of = _open_frame if _is_frame(table) else _open_array
    found = opening.scheduler
    return of(table, opening.wanted, found if isinstance(found, Scheduler) else None)


def _declare(table: Any, wanted: Wanted) -> Declared:
    if _is_frame(table):
        return declare_frame(table._meta)
    _check_width(table)
    return declare_array(table)


def _is_frame(table: Any) -> bool:
    """Return whether a Dask collection is a data frame, or an array; others are refused."""
    # Nobody has a collection of a kind whose module was not imported.
    arrays, frames = (sys.modules.get(f"dask.{kind}") for kind in ("array", "dataframe"))
    if frames is not None and isinstance(table, frames.DataFrame):
        return True
    if arrays is not None and isinstance(table, arrays.Array):
        return False
    raise InputError(f"The table must be a Dask array or data frame; got {kind_of(table)}.")


def _open_frame(table: Any, wanted: Wanted, scheduler: Scheduler | None) -> DaskSource:
    for files in read_or_refuse(lambda: list(parquet_fragments(table)), _UNREADABLE):
        if files:
            refuse_formats([file.path for file in files], files[0].filesystem)
    declared = FrameSource(table._meta, wanted)
    choice = declared.choice
    labels = [table.columns[place] for place in _read_places(choice)]
    kind, stored = None, table
    if choice.privacy_unit is not None:
        stored = read_or_refuse(lambda: _as_stored(table, choice), _UNREADABLE)
        # Text that Dask would have made of objects declares nothing.
        is_made = stored is not table and declared.unit_kind == Kind.TEXT
        kind = None if is_made else declared.unit_kind
    # Once for all passes: Dask may cut other partitions for other columns.
    partitions = read_or_refuse(lambda: partitions_of(stored[labels]), _UNREADABLE)
    unknown = [math.nan] * len(partitions)
    return DaskSource(choice, partitions, unknown, scheduler, tuple(map(str, labels)), kind)


def _as_stored(table: Any, choice: Choice) -> Any:
    """Return a frame whose unit column comes as it is stored, or refuse files of two types."""
    place, name = choice.unit_column
    label = table.columns[place]
    if guesses_types(table, label):
        raise refuse_guessed_type(name)
    for read in parquet_files(table, label):
        from dpcov.sensitive.tables.arrow_columns import stored_alike

        if not stored_alike(read.fragments, read.labels, read.declared):
            raise refuse_mixture(name)
    return keep_objects(table)


def _open_array(table: Any, wanted: Wanted, scheduler: Scheduler | None) -> DaskSource:
    check_array(table.ndim, table.dtype)
    _check_width(table)
    width = int(table.shape[1])
    choice = choose_from_array(width, wanted)
    choice = with_rules(choice, [array_type(table._meta)] * width, wanted)
    places = _read_places(choice)
    chosen = table if choice.is_whole else table[:, places]
    partitions = read_or_refuse(lambda: _chunks(chosen.rechunk({1: -1})), _UNREADABLE)
    whose = None
    if choice.privacy_unit is not None:
        # Before chunks are joined, which would make 64 bits of 32.
        whose = read_or_refuse(lambda: _chunks(table[:, [choice.privacy_unit]]), _UNREADABLE)
    kind = as_keys(np.empty(0, table.dtype), "").kind
    return DaskSource(choice, partitions, table.chunks[0], scheduler, unit_kind=kind, whose=whose)


def _chunks(array: Any) -> list[Any]:
    """Return the chunks of an array that has one for all of its columns."""
    return list(array.to_delayed().ravel())


def _check_width(table: Any) -> None:
    if math.isnan(table.shape[1]):
        raise InputError(
            "The table does not know the number of its columns: call its compute_chunk_sizes() "
            "first."
        )


class DaskSource:
    """The partitions of a Dask collection.

    Parameters
    ----------
    choice : Choice
        Which columns are read. Partitions have these, and the unit column last.
    partitions : sequence of Delayed
        Their rows, in order.
    known : sequence of float
        Their lengths, or NaN.
    scheduler : Scheduler, optional
        Who computes them.
    labels : tuple of str, optional
        What the columns of a partition are called, if they have names.
    unit_kind : str, optional
        The kind of keys that the collection declares.
    whose : sequence of Delayed, optional
        The unit column of each partition alone. By default it is taken from the partition.

    Notes
    -----
    Claim P20. A worker meets the unit column of its own partitions alone, in the type that
    these happen to store it in: kinds are compared here, where the keys of all come together.
    """

    def __init__(
        self,
        choice: Choice,
        partitions: Sequence[Delayed],
        known: Sequence[float],
        scheduler: Scheduler | None,
        labels: tuple[str, ...] | None = None,
        unit_kind: str | None = None,
        whose: Sequence[Delayed] | None = None,
    ) -> None:
        self.columns, self.fields = choice.names, choice.fields
        self.left_out = choice.left_out
        self.person_column = choice.person
        self._choice, self._partitions, self._labels = choice, partitions, labels
        self._unit_kind, self._whose = unit_kind, whose
        # What the whole table's types came to: a partition alone may declare other ones.
        self._facts = Columns(rule.column for rule in choice.rules) if choice.rules else None
        self._scheduler = current_scheduler() if scheduler is None else scheduler
        self._order: KeyOrder | None = None
        self._lengths = self._count(known)
        self._length = sum(self._lengths)
        self.n_rows: int | None = self._length

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Refuse: partitions are read by a scheduler, where they are."""
        raise AssertionError("unreachable: a Dask collection is read piece by piece")

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield whose the rows of each partition are; the workers send them here."""
        _, name = self._choice.unit_column
        pieces = self._pieces(None) if self._whose is None else self._unit_pieces(self._whose)
        tasks = [(read_keys, piece, piece_rows, size) for piece, piece_rows in pieces]
        order = KeyOrder()
        runs = (run for found in self._run("units", tasks) for run in found)
        for keys in check_keys(
            runs, n_rows=self._length, name=name, of="The table", declared=self._unit_kind
        ):
            order.add(keys)
            yield keys
        self._order = order

    def split(self, parts: Parts) -> Split:
        """Return the partitions, however many pieces are asked for."""
        return Split(
            tuple(replace(piece, delayed=rows) for piece, rows in self._pieces(self._order)),
            self._order,
        )

    def _pieces(self, order: KeyOrder | None) -> Iterator[tuple[Piece, Delayed]]:
        unit = None if self._choice.privacy_unit is None else self._choice.unit_column[1]
        start = 0
        for rows, length in zip(self._partitions, self._lengths, strict=True):
            read = Partition(self.columns, unit, length, self._labels, self._facts)
            yield Piece(read, length, start, has_units=order is not None), rows
            start += length

    def _unit_pieces(self, whose: Sequence[Delayed]) -> Iterator[tuple[Piece, Delayed]]:
        _, name = self._choice.unit_column
        for (piece, _), cells in zip(self._pieces(None), whose, strict=True):
            yield replace(piece, open=Partition((), name, piece.n_rows)), cells

    def _count(self, known: Sequence[float]) -> list[int]:
        if not any(math.isnan(length) for length in known):
            return [int(length) for length in known]
        tasks = [(count_rows, rows) for rows in self._partitions]
        return list(self._run("rows", tasks))

    def _run(self, name: str, tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        if not tasks:
            return iter(())
        arguments = [each[1:] for each in tasks]
        return self._scheduler.each(make_tasks(name, tasks[0][0], arguments))


@dataclass(frozen=True)
class Partition:
    """How a partition is read, once it is computed.

    Parameters
    ----------
    columns : tuple of str
        The names of the columns to read, by place.
    privacy_unit : str or None
        The name of the last column, if it says whose row it is.
    n_rows : int
        How many rows it had when they were counted.
    labels : tuple of str or None
        What its own columns must be called.
    facts : Columns or None
        What is known of the columns to read.
    """

    columns: tuple[str, ...]
    privacy_unit: str | None
    n_rows: int
    labels: tuple[str, ...] | None = None
    facts: Columns | None = None

    def __call__(self, computed: Any) -> RowSource:
        """Return the partition as a source of rows."""
        names = self.columns if self.privacy_unit is None else (*self.columns, self.privacy_unit)
        # By place two columns could be taken for each other.
        named = self.labels is None or self.labels == tuple(map(str, computed.columns))
        if computed.shape[1:] != (len(names),) or not named:
            raise InputError(
                "A partition of the table has other columns than the table declares, or in "
                "another order."
            )
        # What an empty partition says of its types means nothing: pandas often says object.
        wanted = Wanted(names, privacy_unit=self.privacy_unit)
        source: RowSource
        if computed.shape[0]:
            source = _open_partition(computed, replace(wanted, facts=self.facts))
        else:
            source = ArraySource(np.empty((0, len(names))), wanted)
        if source.n_rows != self.n_rows:
            raise InputError(
                "The table changed while it was read: a partition has another number of rows "
                "than when they were counted. Nothing was released."
            )
        return source


def count_rows(computed: Any) -> int:
    """Return the number of rows of a partition."""
    return int(computed.shape[0])


def read_keys(piece: Piece, computed: Any, size: int) -> list[Keys]:
    """Return whose the rows of a partition are."""
    return list(piece.open(computed).unit_keys(size))


def _read_places(choice: Choice) -> list[int]:
    return list(
        choice.places if choice.privacy_unit is None else (*choice.places, choice.privacy_unit)
    )


def _open_partition(computed: Any, wanted: Wanted) -> RowSource:
    if hasattr(computed, "tocsr"):
        return SparseSource(computed, wanted)
    if hasattr(computed, "columns"):
        return FrameSource(computed, wanted)
    return ArraySource(computed, wanted)


KIND = TableKind(
    called="a Dask array or data frame",
    open=_open,
    declare=_declare,
    recognize=lambda table: type(table).__module__.split(".")[0] in ("dask", "dask_expr"),
    home="dask",
)
