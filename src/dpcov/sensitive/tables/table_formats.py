"""Folders of table formats: Delta Lake, Apache Iceberg and Apache Hudi.

Some of the files in such a folder are rows that were deleted, or that stand in another file by now.
Which ones is written in the format's own log, and its own readers know. Read as plain files such a
folder gives some people several rows. It is refused, wherever in it the files are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from dpcov.errors import InputError

__all__ = ["refuse_formats"]

_DELTA, _HUDI, _ICEBERG = "_delta_log", ".hoodie", "metadata"
_CALLED = {
    _DELTA: ("Delta Lake", "deltalake.DeltaTable({!r}).to_pyarrow_table()"),
    _HUDI: ("Hudi", "pyarrow.Table.from_batches(hudi.HudiTable({!r}).read_snapshot())"),
    _ICEBERG: ("Iceberg", "pyiceberg.table.StaticTable.from_metadata({!r}).scan().to_arrow()"),
}
_LOG = ".metadata.json"


def refuse_formats(paths: Iterable[str | os.PathLike[str]], filesystem: Any = None) -> None:
    """Refuse files, or folders of them, that lie within the folder of a table format.

    They are in a file system of pyarrow, by default in this system's own.

    Notes
    -----
    Claim P8. Names of files alone are looked at.
    """
    base = getattr(filesystem, "base_fs", None)
    if base is not None:  # a part of another file system
        refuse_formats((PurePosixPath(filesystem.base_path, path) for path in paths), base)
        return
    if _is_reader_s_own(filesystem):
        return
    found: Iterable[tuple[str, str] | None]
    if filesystem is None or filesystem.type_name == "local":
        found = map(_local_log, dict.fromkeys(each for path in paths for each in _around(path)))
    else:
        folders = dict.fromkeys(each for path in paths for each in PurePosixPath(path).parents)
        found = _logs(filesystem, folders)
    for log in filter(None, found):
        raise _refuse(*log)


def _refuse(mark: str, path: str) -> InputError:
    called, reader = _CALLED[mark]
    return InputError(
        f"The files lie in the folder of a table of {called}. Some of its files may hold rows that "
        "were deleted or replaced, and people would count twice. Read it with the format's own "
        f"reader and pass that table: {reader.format(path)}"
    )


def _around(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path and all folders around it, also around what a link leads to."""
    for start in dict.fromkeys((Path(path).absolute(), Path(os.path.realpath(path)))):
        yield from (start, *start.parents)


def _local_log(folder: Path) -> tuple[str, str] | None:
    """Return which format a folder is of, and where its reader begins."""
    with suppress(OSError):  # a folder that may not be looked into
        for mark in (_DELTA, _HUDI):
            if (folder / mark).is_dir():
                return mark, str(folder)
        logs = list(map(str, (folder / _ICEBERG).glob(f"*{_LOG}")))
        if logs:
            return _ICEBERG, _newest(logs)
    return None


def _logs(filesystem: Any, folders: Iterable[PurePosixPath]) -> Iterator[tuple[str, str]]:
    """Yield the same of folders in another file system, which is asked once for all of them."""
    from pyarrow import fs

    places = [(mark, folder) for folder in folders for mark in _CALLED]
    with suppress(OSError):
        asked = filesystem.get_file_info([str(folder / mark) for mark, folder in places])
        for (mark, folder), found in zip(places, asked, strict=True):
            if found.type != fs.FileType.Directory:
                continue
            if mark != _ICEBERG:
                yield mark, str(folder)
                continue
            inside = filesystem.get_file_info(fs.FileSelector(found.path))
            logs = [each.path for each in inside if each.path.endswith(_LOG)]
            if logs:
                yield mark, _newest(logs)


def _newest(logs: Iterable[str]) -> str:
    """Return the last of numbered names: v10 comes after v9."""
    return max(logs, key=lambda name: (len(name), name))


def _is_reader_s_own(filesystem: Any) -> bool:
    """Return whether Delta's own reader gives the files: those that count and no other."""
    handler = getattr(filesystem, "handler", None)
    return type(handler).__module__.split(".")[0] == "deltalake"
