"""Files of reports of the local model: reports one after the other, and nothing else.

Owns reading them strictly, and writing them: aside, and with their name when all are there.
A file is replaced only if it is one of these, for the same plan: it loses its name first, and
what has lost it is judged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from dpcov.errors import FolderError, MalformedReportError, ReportError
from dpcov.local import CollectionPlan
from dpcov.local.report import parse_reports
from dpcov.writing import (
    Target,
    give_free_name,
    locate_target,
    reserve,
    sync_file,
    sync_folder,
    uninterrupted,
)

__all__ = ["NewReports", "read_reports", "write_reports"]

_BLOCK = 4096
_AGAIN = (
    "To report again, send the same reports again: new ones are a second disclosure, and the "
    "promises add up. --force makes them all the same."
)


@dataclass
class NewReports:
    """A file of reports that is being written.

    Parameters
    ----------
    file : BinaryIO
        Where to write reports.
    replaces : bool
        Whether there are reports of that name already.
    complete : bool
        Whether the file has its name.
    """

    file: BinaryIO
    replaces: bool
    complete: bool = False


def read_reports(file: Path, plan: CollectionPlan) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the reports in a file as tables of bytes, some thousands at a time."""
    size = plan.report_bytes
    if os.path.getsize(file) % size:  # noqa: PTH202
        raise MalformedReportError(
            f"{file.name} is not a file of reports for this plan: each has {size} bytes."
        )
    with file.open("rb") as content:
        while octets := content.read(size * _BLOCK):
            yield np.frombuffer(octets, dtype=np.uint8).reshape(-1, size)


@contextmanager
def write_reports(
    out: Path, plan: CollectionPlan, *, force: bool, exists: str = _AGAIN
) -> Iterator[NewReports]:
    """Give a file to write reports to, which becomes `out` at the end, or vanishes.

    `exists` says what to do when there is one already.
    """
    target = locate_target(out)
    _check_target(target, plan, force, exists)
    with reserve(target) as held:
        for token in held.dead:
            _mend(target, token, plan)
        _check_target(target, plan, force, exists)
        aside = target.aside(held.token)
        try:
            with aside.open("xb") as file:
                new = NewReports(file, replaces=os.path.lexists(target.path))
                yield new
            with uninterrupted():
                sync_file(aside)
                _check_target(target, plan, force, exists)
                old = _take_away(target, held.token, plan)
                _give_name(aside, target, old)
                new.complete = True
                sync_folder(target.path.parent)
                if old is not None:
                    _discard(old)
        finally:
            with uninterrupted():
                _discard(aside)


def _check_target(target: Target, plan: CollectionPlan, force: bool, exists: str) -> None:
    path = target.path
    if not os.path.lexists(path):
        return
    if not force:
        raise FolderError(f"{target.stated!r} exists. {exists}")
    if path.is_symlink() or not path.is_file() or not _holds_reports(path, plan):
        raise _other(target)


def _other(target: Target, where: str = "") -> FolderError:
    return FolderError(
        f"{target.stated!r} is not a file of reports for this plan, and nothing else is replaced. "
        f"Move it, or choose another name.{where}"
    )


def _take_away(target: Target, token: str, plan: CollectionPlan) -> Path | None:
    """Take the name from the reports that have it, and return what they are called now.

    Whatever has the name in that moment is judged afterwards, and gets it back if it is something
    else.
    """
    old = target.old(token)
    try:
        os.rename(target.path, old)  # noqa: PTH104
    except FileNotFoundError:
        return None
    if old.is_symlink() or not old.is_file() or not _holds_reports(old, plan):
        raise _other(target, "" if _put_back(old, target) else f" It is {str(old)!r} now.")
    return old


def _give_name(aside: Path, target: Target, old: Path | None) -> None:
    """Give the file its name, over nothing that came there since it was looked at."""
    try:
        give_free_name(aside, target.path)
    except FileExistsError:
        kept = "" if old is None else f" The reports that were there are {str(old)!r}."
        raise FolderError(f"{target.stated!r} came into being in the meantime.{kept}") from None
    except OSError:
        if old is not None:
            _put_back(old, target)
        raise


def _put_back(old: Path, target: Target) -> bool:
    """Give what was there its name again, unless that is taken by now; return whether it has it."""
    try:
        if old.is_dir() and not old.is_symlink():  # which is not renamed over a file
            os.rename(old, target.path)  # noqa: PTH104
        else:
            give_free_name(old, target.path)
    except OSError:
        return False
    return True


def _mend(target: Target, token: str, plan: CollectionPlan) -> None:
    """Finish what a dead writer began: its reports were sent to nobody, older ones perhaps."""
    old = target.old(token)
    if os.path.lexists(old) and not os.path.lexists(target.path):
        _put_back(old, target)
    elif old.is_file() and _holds_reports(old, plan):
        _discard(old)
    _discard(target.aside(token))


def _holds_reports(file: Path, plan: CollectionPlan) -> bool:
    counted = 0
    try:
        for table in read_reports(file, plan):
            counted += len(parse_reports(table, plan))
    except (ReportError, OSError):
        return False
    return counted > 0


def _discard(file: Path) -> None:
    if file.is_file() and not file.is_symlink():
        with suppress(OSError):
            os.unlink(file)  # noqa: PTH108
