"""Rows from Parquet files that belong together, one after the other."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrow import ArrowBatchSource
from dpcov.sensitive.tables.arrow_columns import (
    choose_from_schema,
    declare_schema,
    finest_type,
    import_pyarrow,
    without_dictionary,
)
from dpcov.sensitive.tables.choice import Choice, Wanted
from dpcov.sensitive.tables.kinds import TableKind
from dpcov.sensitive.tables.pieces import FilePiece, Parts, Split, cut_runs
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse
from dpcov.sensitive.tables.row_groups import read_groups

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["KIND", "ParquetSource"]

# For each column. Without a buffer Arrow loads whole row groups, which may be whole files.
_BUFFER_BYTES = 1 << 16


class ParquetSource(ArrowBatchSource):
    """Parquet files with the same columns and types; their metadata know the rows."""

    _is_slow = True

    def __init__(self, files: Sequence[Path], wanted: Wanted) -> None:
        import_pyarrow()
        read = [(path, *_read_schema(path)) for path in files]
        # An empty file has no cells, and pandas often writes them with other types.
        filled = [each for each in read if each[2]] or read[:1]
        self._files = tuple(path for path, _, _ in filled)
        self._groups: tuple[tuple[int, ...] | None, ...] = (None,) * len(self._files)
        first, schema, _ = filled[0]
        self._labels = tuple(schema.names)
        choice = choose_from_schema(schema, wanted, of=first.name)
        for path, sibling, count in read:
            if sibling.names != schema.names:
                raise InputError(
                    f"{path.name} has other columns than {first.name}, or in another order. Files "
                    "of one folder must agree."
                )
            if count:
                self._check_types(sibling, path, schema, choice)
        self._coarse = _in_seconds(self._files, choice)
        super().__init__(choice, sum(count for _, _, count in read), first.name)

    def _check_types(self, schema: pa.Schema, path: Path, first: pa.Schema, choice: Choice) -> None:
        other = self._files[0].name
        # Columns that are not read may differ, and categories are the same people as text.
        types, others = first.types, schema.types  # Arrow makes a new list each time
        pairs = [
            (place, without_dictionary(others[place]), without_dictionary(types[place]))
            for place in choice.places
        ]
        if choice.privacy_unit is not None:
            unit = choice.privacy_unit
            pairs.append((unit, finest_type(others[unit]), finest_type(types[unit])))
        for place, here, there in pairs:
            if here != there:
                raise InputError(
                    f"Column {choice.labels[place]!r} is of another type in {path.name} than in "
                    f"{other}. Files of one folder must agree."
                )

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        names = [self._labels[place] for place in places]
        # Texts of few kinds are stored as a dictionary, and need not be written out.
        few = [
            self._labels[place]
            for place, rule in zip(self._choice.places, self._choice.rules, strict=True)
            if rule.mode == "text" and rule.column.levels is not None and place in places
        ]
        for path, groups in zip(self._files, self._groups, strict=True):
            batches = partial(_read_batches, path, groups, names, few)
            for batch in read_all_or_refuse(batches, _broken(path)):
                yield self._as_written(batch.columns, places, path)
                del batch  # before the next one is read

    def _as_written(
        self, columns: Sequence[Any], places: tuple[int, ...], path: Path
    ) -> Sequence[Any]:
        """Return the columns with the unit's times in seconds, if they were written like that."""
        kind = self._coarse.get(path.absolute())
        if kind is None:
            return columns
        # A file that was rewritten may have kept the note only, and Arrow would quote a time.
        differs = f"{path.name} notes another type of its unit column than it has. Write it again."
        return [
            read_or_refuse(partial(column.cast, kind), differs)
            if place == self._choice.privacy_unit
            else column
            for place, column in zip(places, columns, strict=True)
        ]

    def split(self, parts: Parts) -> Split:
        """Return runs of row groups, of about as many rows as are asked for."""
        stored = [
            (path.absolute(), group, length)
            for path in self._files
            for group, length in enumerate(_group_lengths(path))
        ]
        runs = cut_runs([length for _, _, length in stored], parts)
        pieces = [self._of_groups(stored[run]) for run in runs]
        opened = [(FilePiece(piece, piece._files), piece._length) for piece in pieces]
        return Split.of(opened, self._order)

    def _of_groups(self, stored: Sequence[tuple[Path, int, int]]) -> ParquetSource:
        narrow = copy.copy(self)
        narrow._files = tuple(dict.fromkeys(path for path, _, _ in stored))
        narrow._groups = tuple(
            tuple(group for path, group, _ in stored if path == file) for file in narrow._files
        )
        narrow._length = narrow.n_rows = sum(length for _, _, length in stored)
        narrow._order = None
        return narrow


def _read_schema(path: Path) -> tuple[pa.Schema, int]:
    """Return what a Parquet file says of its columns, and its number of rows."""

    def read() -> tuple[pa.Schema, int]:
        with _open(path) as file:
            return file.schema_arrow, file.metadata.num_rows

    return read_or_refuse(read, _broken(path))


def _read_batches(
    path: Path, groups: tuple[int, ...] | None, names: list[str], few: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of some row groups, or of all; those of few texts as dictionaries."""
    with _open(path, few) as file:
        # Without a thread for each column, since several pieces are read at a time.
        yield from read_groups(file, groups, names, path.name, use_threads=groups is None)
    # Each file leaves pieces behind, which would add up over a folder.
    import_pyarrow().default_memory_pool().release_unused()


def _in_seconds(files: Sequence[Path], choice: Choice) -> dict[Path, pa.DataType]:
    """Return the files whose unit column was in seconds, which Parquet stores as milliseconds.

    What Arrow notes about its own types tells them, and with them how far times were rounded.
    """
    if choice.privacy_unit is None:
        return {}
    found = {}
    for path in files:
        note = read_or_refuse(partial(_read_note, path), _broken(path))
        kind = None if note is None else note.types[choice.privacy_unit]
        if str(kind).startswith(("time32[s]", "timestamp[s")):
            found[path.absolute()] = kind
    return found


def _read_note(path: Path) -> pa.Schema | None:
    with _open(path) as file:
        note = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if note is None:
        return None
    pyarrow = import_pyarrow()
    return pyarrow.ipc.read_schema(pyarrow.BufferReader(base64.b64decode(note)))


def _group_lengths(path: Path) -> list[int]:
    """Return the number of rows of each row group."""

    def read() -> list[int]:
        with _open(path) as file:
            groups = range(file.metadata.num_row_groups)
            return [file.metadata.row_group(group).num_rows for group in groups]

    return read_or_refuse(read, _broken(path))


def _open(path: Path, few: Sequence[str] = ()) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        path, buffer_size=_BUFFER_BYTES, pre_buffer=False, read_dictionary=list(few) or None
    )


def _broken(path: Path) -> str:
    return (
        f"{path.name} is not a complete Parquet file: it is truncated, damaged, or of another "
        "format."
    )


KIND = TableKind(
    called="",
    open=lambda files, opening: ParquetSource(files.paths, opening.wanted),
    # The files of a folder must agree, which is for the reader to check.
    declare=lambda files, wanted: declare_schema(_read_schema(files.first)[0]),
    suffixes=(".parquet", ".pq"),
    in_folders=True,
)
