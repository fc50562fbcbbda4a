"""What runs that were killed left beside a folder: said, put back, or deleted.

Owns these three. A complete folder is never deleted. It is put back under its name if
nothing has that name: this is what the run that was killed would have done next, it
replaces nothing, and what it shows was paid for. The new folder goes before the old one,
since it was complete, on the disk, before the old one lost its name. What is not complete
is deleted if its writer is dead, it has no card yet, which comes last, and all its files
have names of dpcov's; the rest is said.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from dpcov.errors import FolderError, LeftoverWarning
from dpcov.publication.ownership import is_whole, remove_own, remove_unfinished
from dpcov.writing import Reservation, Target, find_leftovers, is_reserved, sync_folder
from dpcov.writing.names import locate_target

__all__ = ["check_not_hidden", "describe_leftovers", "mend"]


def mend(target: Target, held: Reservation) -> None:
    """Put back or delete what dead writers left, and warn of the rest.

    Raises
    ------
    FolderError
        A complete folder was put back. Nobody has seen it yet, so it is not replaced now.
    """
    put_back = any(_put_back(target, token) for token in reversed(held.dead))
    for token in held.dead:
        _clear(target, token)
    for sentence in describe_leftovers(target):
        warnings.warn(sentence, LeftoverWarning, stacklevel=2)
    if put_back:
        raise FolderError(
            f"A run that was stopped had left {target.stated!r} complete but under another name. "
            "It has its name again, and nothing else was done: look at it with dpcov show. To "
            "replace it, ask once more with --force (in Python, force=True)."
        )


def describe_leftovers(target: Target) -> list[str]:
    """Return a sentence about each thing that looks left by a run that was stopped."""
    return [_describe(found) for found in find_leftovers(target)]


def check_not_hidden(path: str | os.PathLike[str]) -> None:
    """Say where a folder is that a run which was killed left under another name.

    Raises
    ------
    FolderError
        There is nothing at this path, but something beside it.
    """
    if os.path.lexists(path):
        return
    try:
        target = locate_target(path)
    except FolderError:
        return
    if is_reserved(target):
        raise FolderError(f"{target.stated!r} is being written by another run of dpcov.")
    # The new one, if it is complete; the old one only ever loses its name to such a new one.
    found = sorted(find_leftovers(target), key=lambda each: each.name.endswith(".old"))
    whole = next(filter(is_whole, found), None)
    if whole is not None:
        raise FolderError(
            f"There is no folder {target.stated!r}, but a run that was stopped left it complete as "
            f"{str(whole)!r}. Rename that to {target.stated!r} to have it back."
        )


def _put_back(target: Target, token: str) -> bool:
    for hidden in (target.aside(token), target.old(token)):
        if not os.path.lexists(target.path) and is_whole(hidden):
            os.rename(hidden, target.path)  # noqa: PTH104
            sync_folder(target.path.parent)
            return True
    return False


def _clear(target: Target, token: str) -> None:
    aside, old = target.aside(token), target.old(token)
    # Without the new one beside it, the old one was replaced, as had been asked for.
    if old.is_dir() and not os.path.lexists(aside):
        _remove(old, remove_own(old) is None)
    if aside.is_dir():
        _remove(aside, remove_unfinished(aside))


def _remove(folder: Path, is_gone: bool) -> None:
    if is_gone:
        warnings.warn(
            f"A run that was stopped had left {str(folder)!r} behind; it was deleted.",
            LeftoverWarning,
            stacklevel=2,
        )


def _describe(found: Path) -> str:
    if is_whole(found):
        return (
            f"A run that was stopped left a complete folder as {str(found)!r}. If it is a release, "
            "it counts like any other. Rename it to keep it, or delete it."
        )
    return (
        f"{str(found)!r} looks like what a run of dpcov leaves when it is killed. Delete it if "
        "nothing in it is yours."
    )
