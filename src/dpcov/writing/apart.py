"""What is written stays apart from what is read.

Owns the question whether two paths meet: the same file or folder, one inside the other, or
files that are links to each other. Asked of the system and not of the letters, so that
links, ``..``, relative paths and the case of names make no difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpcov.errors import FolderError

__all__ = ["check_apart"]

_Identity = tuple[int, int]


def check_apart(out: str | os.PathLike[str], sources: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write where something is read from.

    Examples
    --------
    >>> check_apart(".", ["survey.csv"])
    Traceback (most recent call last):
    dpcov.errors.FolderError: '.' is, holds or lies in 'survey.csv', which is read. Write ...
    >>> check_apart("survey", ["survey.csv"])
    """
    for source in sources:
        if _meet(Path(out), Path(source)):
            raise FolderError(
                f"{os.fspath(out)!r} is, holds or lies in {os.fspath(source)!r}, which is read. "
                "Write somewhere else; nothing was changed."
            )


def _meet(out: Path, source: Path) -> bool:
    if _identity(out) in {_identity(each) for each in _ways_up(source)} - {None}:
        return True
    if _identity(source) in {_identity(each) for each in _ways_up(out)} - {None}:
        return True
    return bool(set(_files(out)) & set(_files(source)))


def _ways_up(path: Path) -> Iterator[Path]:
    """Yield a path and the folders that it lies in, by its letters and by where links lead."""
    if "\0" in str(path):  # which nothing is called
        return
    for way in (os.path.abspath(path), os.path.realpath(path)):  # noqa: PTH100
        yield Path(way)
        yield from Path(way).parents


def _files(path: Path) -> Iterator[_Identity]:
    """Yield the identity of a file, or those of the entries of a folder."""
    try:
        inside = list(path.iterdir()) if path.is_dir() else [path]
    except (OSError, ValueError):
        return
    for each in inside:
        found = _identity(each)
        if found is not None:
            yield found


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
