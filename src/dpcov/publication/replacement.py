"""How a folder gets its name: all at once, and never over anything but dpcov's own.

Owns the order of the steps. Whenever a run is killed, or the power fails, there is a
complete folder under the name, the old one or the new one; or, between steps 7 and 8, none,
and then both stand beside it, complete.

 1. The name is looked at: what is there is dpcov's own and may be replaced, or it is refused.
 2. The name is reserved, which one writer can do at a time. The token of this writer is on
    the disk, so that whoever comes later knows its files.
 3. What dead writers left is put back, deleted or said (`dpcov.publication.leftovers`), and the
    name is looked at again, now that no other writer changes it.
 4. ``.NAME.token`` is made, some bytes are written there and deleted, and what is under the
    name is tried to be renamed in a way that has no effect. Now privacy may be spent.
 5. The files are written into it, the card last.
 6. The files go to the disk, then their names, then the name of the folder.
 7. What is under the name is looked at once more and renamed to ``.NAME.token.old``.
 8. ``.NAME.token`` is renamed to ``NAME``. The folder is complete.
 9. The names go to the disk. From here on nothing can fail.
10. The old folder is deleted file by file, its card last.
11. The reservation is deleted, while it is still locked.

A run that is killed before 7 leaves the old folder in place; one that is killed after 8 the
new one. Between the two, the next writer does step 8 for it. Steps 6 to 9 and all
cleaning up are not interrupted by Ctrl-C. A folder that is complete and cannot get its name,
because something else came there in the meantime, is kept, and said.
"""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpcov.errors import FolderError, LeftoverWarning
from dpcov.publication.folder_files import RELEASE_FILE
from dpcov.publication.leftovers import mend
from dpcov.publication.ownership import is_whole, obstacles, remove_own
from dpcov.writing import (
    Reservation,
    Target,
    locate_target,
    reserve,
    sync_file,
    sync_folder,
    uninterrupted,
)

__all__ = ["Aside", "check_target", "write_aside"]

_SHOWN = 5  # of the files that stand in the way
_ROOM = 1 << 22  # bytes that must fit: most folders are smaller


@dataclass
class Aside:
    """A folder that is being written.

    Parameters
    ----------
    folder : Path
        Where to write its files.
    complete : bool
        Whether it has its name. From then on it is there, whatever happens.
    kept : bool
        Whether it is all there and could not get its name.
    """

    folder: Path
    complete: bool = False
    kept: bool = False


@contextmanager
def write_aside(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Aside]:
    """Give an empty folder to write to, which becomes `path` at the end, or vanishes.

    A release that is paid for must not be lost because its folder cannot be written: enter
    this before anything is spent.
    """
    target = locate_target(path)
    check_target(target, force)
    with reserve(target) as held:
        mend(target, held)
        check_target(target, force)
        aside = Aside(target.aside(held.token))
        try:  # from before the folder is there: Ctrl-C may come between any two steps
            _make_folder(aside.folder)
            _try_out(aside.folder, target, held)
            yield aside
            with uninterrupted():
                _put_in_place(aside, target, held, force)
        finally:
            with uninterrupted():
                _clean_up(aside, target, held)


def check_target(target: Target, force: bool) -> None:
    """Refuse a name that is taken, unless by what may be replaced."""
    path = target.path
    if not os.path.lexists(path):
        return
    if not force:
        raise FolderError(
            f"{target.stated!r} exists and is not overwritten. Choose another folder; or "
            "replace it, if dpcov wrote it, with --force (in Python, force=True)."
        )
    if path.is_symlink() or not path.is_dir():
        raise FolderError(f"{target.stated!r} is not a folder and is not replaced.")
    try:
        in_the_way = obstacles(path)
    except OSError:
        raise FolderError(f"{target.stated!r} cannot be read and is not replaced.") from None
    if in_the_way:
        raise FolderError(
            f"{target.stated!r} holds what dpcov did not write, or what was changed since: "
            f"{_listed(in_the_way)}. Only what dpcov wrote is replaced, and nothing was changed. "
            "Move these files, or choose another folder."
        )


def _make_folder(folder: Path) -> None:
    try:
        os.mkdir(folder)  # noqa: PTH102
        # The files must get into it, whatever new folders are allowed otherwise.
        os.chmod(folder, os.stat(folder).st_mode & 0o7777 | 0o700)  # noqa: PTH101, PTH116
    except OSError:
        raise FolderError(
            f"{str(folder.parent)!r} is not a folder that can be written to."
        ) from None


def _try_out(folder: Path, target: Target, held: Reservation) -> None:
    """Refuse a place where a folder could be made, and not filled or not get its name.

    The bytes are random, since some file systems have room for any number of zeros.
    """
    probe = folder / f".{RELEASE_FILE}.{held.token}"
    try:
        probe.write_bytes(os.urandom(_ROOM))
        sync_file(probe)
        if os.path.lexists(target.path):
            _try_rename(target, folder)
        os.unlink(probe)  # noqa: PTH108
    except OSError as error:
        umask = ", perhaps by a umask that takes new files from their owner"
        raise FolderError(
            f"{str(folder.parent)!r} is not a place that a folder can be written to: "
            f"{_reason(error)}{umask if error.errno == errno.EACCES else ''}. Nothing was spent."
        ) from None


def _try_rename(target: Target, not_empty: Path) -> None:
    """Refuse a folder that cannot lose its name, by a renaming that has no effect.

    Nothing is renamed to a folder that is not empty; the system refuses mount points, folders of
    other people where these are protected, and the like before it looks at that.
    """
    same_disk = os.lstat(target.path).st_dev == os.lstat(target.path.parent).st_dev
    why = "it is where another file system begins"
    if same_disk:
        try:
            os.rename(target.path, not_empty)  # noqa: PTH104
            os.rename(not_empty, target.path)  # noqa: PTH104
            why = "this file system renames over folders that are not empty"
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                return
            why = _reason(error)
    raise FolderError(
        f"{target.stated!r} cannot be replaced: {why}. Choose another folder. Nothing was spent."
    )


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _put_in_place(aside: Aside, target: Target, held: Reservation, force: bool) -> None:
    for name in os.listdir(aside.folder):  # noqa: PTH208
        sync_file(aside.folder / name)
    sync_folder(aside.folder)
    sync_folder(target.path.parent)
    try:
        check_target(target, force)  # something may have come into being in the meantime
        _rename(aside, target, held)
    except (OSError, FolderError) as error:
        why = (
            str(error)
            if isinstance(error, FolderError)
            else f"{target.stated!r} cannot be replaced: {_reason(error)}. It is as it was."
        )
        if not is_whole(aside.folder):
            raise FolderError(why) from None
        held.keep = aside.kept = True
        raise FolderError(
            f"{why} The new folder is complete, and it is {str(aside.folder)!r}: rename it. What "
            "it shows has been paid for."
        ) from None
    sync_folder(target.path.parent)


def _rename(aside: Aside, target: Target, held: Reservation) -> None:
    old = target.old(held.token)
    if os.path.lexists(target.path):
        os.rename(target.path, old)  # noqa: PTH104
    try:
        os.rename(aside.folder, target.path)  # noqa: PTH104
        aside.complete = True
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(target.path):
            os.rename(old, target.path)  # noqa: PTH104
        raise


def _clean_up(aside: Aside, target: Target, held: Reservation) -> None:
    old = target.old(held.token)
    if aside.complete:
        why = remove_own(old) if os.path.lexists(old) else None
        if why is not None:
            warnings.warn(
                f"The folder that was replaced is left as {str(old)!r}: {why}.",
                LeftoverWarning,
                stacklevel=2,
            )
        return
    if os.path.lexists(old):  # even undoing failed: the next writer needs both, and the tokens
        held.keep = True
    if not held.keep:
        with suppress(OSError):
            shutil.rmtree(aside.folder)


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
