"""Files of reports of the local model: reports one after the other, and nothing else.

Owns reading them strictly, and writing them: aside, and with their name when all are there.
A file is replaced only if it is one of these, for the same plan.
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
from dpcov.local import Plan
from dpcov.local.report import parse_reports
from dpcov.writing import Target, locate_target, reserve, sync_file, sync_folder, uninterrupted

__all__ = ["NewReports", "read_reports", "write_reports"]

_BLOCK = 4096


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


def read_reports(file: Path, plan: Plan) -> Iterator[npt.NDArray[np.uint8]]:
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
def write_reports(out: Path, plan: Plan, *, force: bool) -> Iterator[NewReports]:
    """Give a file to write reports to, which becomes `out` at the end, or vanishes."""
    target = locate_target(out)
    _check_target(target, plan, force)
    with reserve(target) as held:
        for token in held.dead:  # whose reports nobody was sent
            _discard(target.aside(token))
        _check_target(target, plan, force)
        aside = target.aside(held.token)
        try:
            with aside.open("xb") as file:
                new = NewReports(file, replaces=os.path.lexists(target.path))
                yield new
            with uninterrupted():
                sync_file(aside)
                _check_target(target, plan, force)
                _give_name(aside, target)
                new.complete = True
                sync_folder(target.path.parent)
        finally:
            with uninterrupted():
                _discard(aside)


def _check_target(target: Target, plan: Plan, force: bool) -> None:
    path = target.path
    if not os.path.lexists(path):
        return
    if not force:
        raise FolderError(
            f"{target.stated!r} exists. To report again, send the same reports again: new ones are "
            "a second disclosure, and the promises add up. --force makes them all the same."
        )
    if path.is_symlink() or not path.is_file() or not _holds_reports(path, plan):
        raise FolderError(
            f"{target.stated!r} is not a file of reports for this plan, and nothing else is "
            "replaced. Move it, or choose another name."
        )


def _give_name(aside: Path, target: Target) -> None:
    """Give the file its name, over nothing that came there since it was looked at."""
    if not os.path.lexists(target.path):
        try:
            os.link(aside, target.path)
            return  # the other name is deleted with whatever else is left
        except FileExistsError:
            raise FolderError(f"{target.stated!r} came into being in the meantime.") from None
        except OSError:  # a file system without links
            pass
    os.replace(aside, target.path)  # noqa: PTH105


def _holds_reports(file: Path, plan: Plan) -> bool:
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
