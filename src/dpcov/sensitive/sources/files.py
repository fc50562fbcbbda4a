"""Rows from files: which reader belongs to a path, and why a path cannot be read.

A file is read in pieces: memory does not grow with the number of its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpcov.errors import InputError
from dpcov.sensitive.sources.arrays import NpySource
from dpcov.sensitive.sources.choice import Wanted
from dpcov.sensitive.sources.refusals import read_or_refuse

if TYPE_CHECKING:
    from dpcov.sensitive.sources import RowSource

__all__ = ["Located", "locate", "open_path"]

_KINDS = {".csv": "csv", ".npy": "npy", ".parquet": "parquet", ".pq": "parquet", ".h5ad": "h5ad"}
_KNOWN = ".csv, .parquet, .pq, .npy, .h5ad, or a folder of Parquet files"


@dataclass(frozen=True)
class Located:
    """A path that can be opened.

    Parameters
    ----------
    kind : {"csv", "h5ad", "npy", "parquet"}
        What its name says that it is.
    files : tuple of Path
        One file, or those of a folder.
    """

    kind: str
    files: tuple[Path, ...]


def open_path(name: str | os.PathLike[str], wanted: Wanted) -> RowSource:
    """Return the file or folder at a path as a source of rows.

    Parameters
    ----------
    name : str or path
        ``.csv``, ``.parquet``, ``.pq``, ``.npy``, ``.h5ad``, or a folder of Parquet files, which
        are read in the order of their names.
    wanted : Wanted
        Names and columns.
    """
    located = locate(name)
    if located.kind == "npy":
        return NpySource(located.files[0], wanted)
    if located.kind == "parquet":
        from dpcov.sensitive.sources.parquet_files import ParquetSource

        return ParquetSource(located.files, wanted)
    if located.kind == "h5ad":
        from dpcov.sensitive.sources.annotated import AnnDataSource, open_h5ad

        path = located.files[0]
        return AnnDataSource(open_h5ad(path), wanted, path.name)
    from dpcov.sensitive.sources.csv_file import CsvSource

    return CsvSource(located.files[0], wanted)


def locate(name: str | os.PathLike[str]) -> Located:
    """Return what is at a path, or say why it cannot be opened."""
    path = _as_path(name)
    if read_or_refuse(path.is_dir, _why_unreadable(path)):
        located = Located("parquet", tuple(_list_folder(path)))
    else:
        located = Located(_KINDS.get(path.suffix.lower(), ""), (path,))
    for file in located.files:
        _check_readable(file)
    if not located.kind:
        raise InputError(f"{path.name} is of an unknown kind; a path must end in {_KNOWN}.")
    return located


def _as_path(name: str | os.PathLike[str]) -> Path:
    text = os.fspath(name)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError("A path must be a text that is not empty.")
    return Path(text)


def _list_folder(folder: Path) -> list[Path]:
    inside = read_or_refuse(lambda: sorted(folder.iterdir()), _why_unreadable(folder))
    # Names that begin like this are notes that writers leave: _SUCCESS, .part-0.crc.
    seen = [entry for entry in inside if not entry.name.startswith(("_", "."))]
    if any(entry.is_dir() for entry in seen):
        raise InputError(
            f"Folder {folder.name} has folders inside. Pass one without, or describe it with "
            "pyarrow.dataset.dataset() and pass that."
        )
    files = [entry for entry in seen if _KINDS.get(entry.suffix.lower()) == "parquet"]
    if not files:
        raise InputError(f"Folder {folder.name} has no Parquet files (.parquet, .pq).")
    return files


def _check_readable(path: Path) -> None:
    def touch() -> None:
        with path.open("rb"):
            pass

    read_or_refuse(touch, _why_unreadable(path))


def _why_unreadable(path: Path) -> Callable[[Exception], str]:
    def say(error: Exception) -> str:
        if isinstance(error, FileNotFoundError):
            return f"There is no file or folder {str(path)!r}."
        if isinstance(error, PermissionError):
            return f"No permission to read {str(path)!r}."
        return f"{str(path)!r} cannot be opened."

    return say
