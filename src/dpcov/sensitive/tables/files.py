"""Paths: which files are there, which kind they are, and why a path cannot be read.

A file is read in pieces: memory does not grow with the number of its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dpcov.errors import InputError
from dpcov.sensitive.tables.kinds import Files, TableKind
from dpcov.sensitive.tables.refusals import read_or_refuse
from dpcov.sensitive.tables.table_formats import refuse_formats

__all__ = ["find_files", "is_path"]


def is_path(table: Any) -> bool:
    """Return whether `table` is the path of a file or folder."""
    return isinstance(table, (str, os.PathLike))


def find_files(name: str | os.PathLike[str], kinds: Iterable[TableKind]) -> tuple[TableKind, Files]:
    """Return what is at a path and its kind, or say why it cannot be opened.

    The files of a folder are read in the order of their names.
    """
    path = _as_path(name)
    refuse_formats([path])
    kind_of = {suffix: kind for kind in kinds for suffix in kind.suffixes}
    if read_or_refuse(path.is_dir, _why_unreadable(path)):
        paths = _list_folder(path, [each for each in kind_of if kind_of[each].in_folders])
    else:
        paths = (path,)
    for file in paths:
        _check_readable(file)
    suffix = next((each for each in kind_of if paths[0].name.lower().endswith(each)), "")
    if not suffix:
        raise InputError(
            f"{path.name} is of an unknown kind; a path must end in {', '.join(kind_of)}, or be a "
            f"folder of {_of_folders(kind_of)} files."
        )
    return kind_of[suffix], Files(suffix, paths)


def _of_folders(kind_of: dict[str, TableKind]) -> str:
    return " or ".join(suffix for suffix, kind in kind_of.items() if kind.in_folders)


def _as_path(name: str | os.PathLike[str]) -> Path:
    text = os.fspath(name)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError("A path must be a text that is not empty.")
    return Path(text)


def _list_folder(folder: Path, suffixes: list[str]) -> tuple[Path, ...]:
    inside = read_or_refuse(lambda: sorted(folder.iterdir()), _why_unreadable(folder))
    # Names that begin like this are notes that writers leave: _SUCCESS, .part-0.crc.
    seen = [entry for entry in inside if not entry.name.startswith(("_", "."))]
    if any(entry.is_dir() for entry in seen):
        raise InputError(
            f"Folder {folder.name} has folders inside. Pass one without, or describe it with "
            "pyarrow.dataset.dataset() and pass that."
        )
    files = tuple(entry for entry in seen if entry.suffix.lower() in suffixes)
    if not files:
        raise InputError(f"Folder {folder.name} has no files that end in {' or '.join(suffixes)}.")
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
