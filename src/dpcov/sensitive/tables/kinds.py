"""What a kind of table says of itself: how it is recognized, opened and described.

Owns the form of a registration. Each kind is a module of its own with one `KIND`, and one line
in `registry.KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.source import RowSource
from dpcov.sensitive.workers.schedulers import Home, Workers

__all__ = ["Declared", "Files", "Opening", "TableKind"]


@dataclass(frozen=True)
class Files:
    """A path that was found and can be read: one file, or those of a folder in order."""

    suffix: str
    paths: tuple[Path, ...]

    @property
    def first(self) -> Path:
        """The file, or the first of them."""
        return self.paths[0]


@dataclass(frozen=True)
class Opening:
    """What a table is opened with.

    Parameters
    ----------
    wanted : Wanted
        Names and columns.
    fewest_rows : int
        How many rows a stream must turn out to have.
    scheduler : Scheduler, Executors or None
        Who computes what is not in this process; None for this process, or Dask's current ones.
    """

    wanted: Wanted
    fewest_rows: int = 2
    scheduler: Workers | None = None


@dataclass(frozen=True)
class Declared:
    """What a table declares: labels, types of columns, and which labels are an index of rows."""

    labels: Sequence[Any]
    types: Sequence[CellType]
    index: Sequence[str] = ()
    has_own_names: bool = True


def _is_none(table: Any) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class TableKind:
    """One kind of table.

    Parameters
    ----------
    called : str
        What it is called where a message lists what is accepted.
    open : callable
        From a table, or `Files`, and an `Opening` to a source of rows.
    declare : callable
        From the same and what is wanted to what the table declares. Reads no cell.
    recognize : callable
        Whether an object is of this kind, without importing the library that made it. Whether
        the table is acceptable is for `open` to say. By default no object is.
    suffixes : tuple of str
        How files of this kind end, in lower case.
    in_folders : bool
        Whether several such files in a folder are one table.
    in_memory : bool
        Whether an object of this kind is a plain array or frame, which others can check.
    home : {"here", "dask", "spark"}
        Whose workers read its rows, whether that is asked for or not.
    """

    called: str
    open: Callable[[Any, Opening], RowSource]
    declare: Callable[[Any, Wanted], Declared]
    recognize: Callable[[Any], bool] = _is_none
    suffixes: tuple[str, ...] = ()
    in_folders: bool = False
    in_memory: bool = False
    home: Home = "here"
