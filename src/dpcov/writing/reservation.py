"""One writer at a time: the reservation of a name.

Owns ``.NAME.dpcov``. Whoever holds its lock may write ``NAME``. The system drops the lock
when a process ends, however it ends: a file that a killed writer left is no obstacle. It
lists the tokens of its writers, each written down before anything is called by it, so the
next one knows which files beside ``NAME`` are those of a writer that is dead.

Where a file system has no locks, the file itself is the reservation, and what a killed
writer left must be deleted by hand; the refusal says so.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpcov.errors import FolderError
from dpcov.writing.durable import sync_folder
from dpcov.writing.names import TOKEN, Target
from dpcov.writing.signals import uninterrupted

__all__ = ["Reservation", "is_reserved", "reserve"]

_MOST_BYTES = 1 << 16
_CONTENT = re.compile(rf"((?:{TOKEN}\n)*)[0-9a-f]{{0,16}}".encode())  # the last line may be torn
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# What it is called that a file system has no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EBADF}


@dataclass
class Reservation:
    """A name that nobody else writes to.

    Parameters
    ----------
    token : str
        The digits in the names of this writer's files.
    dead : tuple of str
        Those of writers that were killed.
    keep : bool
        Leave the list of tokens behind, for the next writer to mend what this one could not.
    """

    token: str
    dead: tuple[str, ...]
    keep: bool = False


@contextmanager
def reserve(target: Target) -> Iterator[Reservation]:
    """Be the only one who writes to a target, or be refused.

    Raises
    ------
    FolderError
        Somebody else writes there, or nobody can.
    """
    descriptor, held = None, None
    try:
        with uninterrupted():
            descriptor = _take(target)
            held = _note_token(descriptor, target)
        yield held
    finally:
        with uninterrupted():
            if descriptor is not None:
                _give_back(descriptor, None if held is None or held.keep else target.reservation)


def is_reserved(target: Target) -> bool:
    """Return whether somebody writes to a target at this moment."""
    try:
        descriptor = os.open(target.reservation, _FLAGS)
    except OSError:
        return False
    try:
        return _lock(descriptor) is False
    finally:
        os.close(descriptor)


def _take(target: Target) -> int:
    while True:
        descriptor, is_new = _open(target)
        try:
            locked = _lock(descriptor)
            if locked is False:
                raise FolderError(
                    f"Another run of dpcov is writing {target.stated!r}. Wait until it is done, "
                    "or choose another name."
                )
            if locked is None and not is_new:
                raise FolderError(
                    f"Another run of dpcov may be writing {target.stated!r}: this file system has "
                    f"no locks to tell. If none is, delete {str(target.reservation)!r}."
                )
            if _is_still_there(descriptor, target.reservation):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # whoever had it deleted it in the meantime


def _open(target: Target) -> tuple[int, bool]:
    file = target.reservation
    while True:
        try:
            return os.open(file, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileExistsError:
            pass
        except OSError:
            raise FolderError(
                f"{str(target.path.parent)!r} is not a folder that can be written to."
            ) from None
        try:
            return os.open(file, _FLAGS), False
        except FileNotFoundError:
            continue  # deleted between the two
        except OSError:
            raise _not_ours(file) from None


def _lock(descriptor: int) -> bool | None:
    """Return whether the lock was taken, or None if there are no locks here."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, _MOST_BYTES, os.SEEK_SET)  # a locked byte cannot be read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return None if error.errno in _NO_LOCKS else False
    return True


def _is_still_there(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False


def _note_token(descriptor: int, target: Target) -> Reservation:
    """Write a new token down, on the disk, before anything gets its name."""
    file = target.reservation
    os.lseek(descriptor, 0, os.SEEK_SET)
    is_ours = _is_ours(os.fstat(descriptor))
    found = _CONTENT.fullmatch(os.read(descriptor, _MOST_BYTES)) if is_ours else None
    if found is None:
        raise _not_ours(file)
    token = secrets.token_hex(8)
    dead = tuple(each for each in found[1].decode().split() if _left_files(target, each))
    listed = "".join(f"{each}\n" for each in (*dead, token)).encode()
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, listed)
        os.ftruncate(descriptor, len(listed))  # after it: what is cut off was tokens, too
        os.fsync(descriptor)
    except OSError as error:
        if not found[1]:  # nobody else's tokens are lost
            os.unlink(file)  # noqa: PTH108
        raise FolderError(
            f"{str(file.parent)!r} cannot be written to: {(error.strerror or '').lower()}."
        ) from None
    sync_folder(file.parent)
    return Reservation(token, dead)


def _is_ours(about: os.stat_result) -> bool:
    """Return whether a file may be written to: a link to a file of the user's is theirs."""
    is_mine = os.name == "nt" or about.st_uid == os.geteuid()
    return stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and is_mine


def _left_files(target: Target, token: str) -> bool:
    return os.path.lexists(target.aside(token)) or os.path.lexists(target.old(token))


def _give_back(descriptor: int, file: Path | None) -> None:
    # Deleted while it is locked, or another writer could lock the file that is deleted.
    if file is not None and os.name != "nt":
        with suppress(OSError):
            os.unlink(file)  # noqa: PTH108
    os.close(descriptor)
    if file is not None and os.name == "nt":  # which deletes no open file, another writer's neither
        with suppress(OSError):
            os.unlink(file)  # noqa: PTH108


def _not_ours(file: Path) -> FolderError:
    return FolderError(
        f"{str(file)!r} is not a file of dpcov, or belongs to somebody else. Move it, or choose "
        "another name."
    )
