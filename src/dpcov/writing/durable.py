"""Bytes that are still there when the power fails.

Owns the calls that make them so: a file is on the disk before it gets its name, and the
folder with the name after it. Also, that a name which is given to a new file was nobody's.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["give_free_name", "replacing_file", "sync_file", "sync_folder"]


def sync_file(path: Path) -> None:
    """Return when the contents of a file are on the disk."""
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Return when the names in a folder are on the disk, where a system can do that.

    Windows cannot, nor can some file systems of others: names are then as safe as they make
    them, and that is no reason to fail.
    """
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Give a path to write a file to, which becomes `path` at the end, or vanishes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with replacing_file(Path(place, "table.csv")) as aside:
    ...         _ = aside.write_text("a,b")
    ...     Path(place, "table.csv").read_text()
    'a,b'
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield aside
        sync_file(aside)
        os.replace(aside, path)  # noqa: PTH105
        sync_folder(path.parent)
    finally:
        aside.unlink(missing_ok=True)


def give_free_name(aside: Path, path: Path) -> None:
    """Rename a file to a name that nothing has.

    Where a file system has no links, the name is taken with an empty file first.

    Raises
    ------
    FileExistsError
        Something has that name; both are as they were.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     one, other = Path(place, "one"), Path(place, "other")
    ...     _ = one.write_text("1"), other.write_text("2")
    ...     give_free_name(one, other)
    Traceback (most recent call last):
    FileExistsError: ...
    """
    try:
        os.link(aside, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(aside, path)  # noqa: PTH105
    else:
        with suppress(OSError):  # the name is given, and the other one is the caller's to delete
            os.unlink(aside)  # noqa: PTH108


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # where fsync leaves the bytes in the drive's memory
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)
