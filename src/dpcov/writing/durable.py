"""Bytes that are still there when the power fails.

Owns the calls that make them so: a file is on the disk before it gets its name, and the
folder with the name after it.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["replacing_file", "sync_file", "sync_folder"]


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


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # where fsync leaves the bytes in the drive's memory
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)
