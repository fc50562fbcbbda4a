"""Which files of a folder are dpcov's own, and may be replaced or deleted.

Owns that judgement, and every deletion that rests on it. A file is dpcov's own if it is a
plain file with a name that dpcov writes, and its bytes are those whose digest is on the
card beside it; a signature, if it is a valid one of that card. Names on a card prove nothing,
since anybody may write one; links and folders are never dpcov's. Deletion goes name by name
and ends with the folder itself, which the system deletes only if it is empty.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError
from dpcov.report.signature import SIGNATURE_FILE, check_signature
from dpcov.report.verification import CARD_FILE, RELEASE_FILE, read_card, sha256_of
from dpcov.writing.names import TOKEN

__all__ = ["FILES", "is_whole", "obstacles", "remove_own", "remove_unfinished"]

FILES = (
    RELEASE_FILE,
    "covariance.csv",
    "covariance.parquet",
    "edges.csv",
    "card.md",
    "report.html",
    CARD_FILE,
)
"""What dpcov writes to a folder; the card comes last."""

# A release is saved aside in the folder, too.
_UNFINISHED = re.compile(rf"\.({'|'.join(map(re.escape, FILES))})\.{TOKEN}")


def obstacles(folder: Path) -> list[str]:
    """Return the names in a folder that are not dpcov's own, with what is wrong about them.

    Raises
    ------
    OSError
        The folder cannot be read.
    """
    digests = _digests_on_card(folder)
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    problems = ((entry.name, _problem(entry, digests)) for entry in found)
    return [f"{_shown(name)}{problem}" for name, problem in problems if problem is not None]


def is_whole(folder: Path) -> bool:
    """Return whether a folder is complete: all files on its card, unchanged, and no others."""
    try:
        digests = _digests_on_card(folder)
        return (
            digests is not None
            and RELEASE_FILE in digests
            and not folder.is_symlink()
            and set(os.listdir(folder)) - {SIGNATURE_FILE} == {*digests, CARD_FILE}  # noqa: PTH208
            and not obstacles(folder)
        )
    except OSError:
        return False


def remove_own(folder: Path) -> bool:
    """Delete a folder if all that it holds is dpcov's own; return whether it is gone.

    The card goes last: if this is stopped in the middle, what is left can still be judged.
    """
    try:
        if folder.is_symlink() or obstacles(folder):
            return False
        _delete(folder, sorted(os.listdir(folder), key=lambda name: name == CARD_FILE))  # noqa: PTH208
    except OSError:
        return False
    return True


def remove_unfinished(folder: Path) -> bool:
    """Delete a folder that a writer did not finish; return whether it is gone.

    For a writer that is known to be dead, since without a card only names can be judged. With
    a card it was complete once, and is left alone.
    """
    try:
        if _digests_on_card(folder) is not None:
            return False
        with os.scandir(folder) as entries:
            found = list(entries)
        named = all(entry.name in FILES or _UNFINISHED.fullmatch(entry.name) for entry in found)
        if folder.is_symlink() or not named or not all(map(_is_plain, found)):
            return False
        _delete(folder, [entry.name for entry in found])
    except OSError:
        return False
    return True


def _delete(folder: Path, names: list[str]) -> None:
    for name in names:
        os.unlink(folder / name)  # noqa: PTH108
    os.rmdir(folder)  # noqa: PTH106


def _digests_on_card(folder: Path) -> dict[str, Any] | None:
    card = folder / CARD_FILE
    if card.is_symlink() or not card.is_file():  # a pipe would be waited for
        return None
    try:
        return dict(read_card(folder)["files"])
    except FolderError:
        return None


def _problem(entry: os.DirEntry[str], digests: dict[str, Any] | None) -> str | None:
    """Return what is wrong with an entry, in parentheses, or None if it is dpcov's own."""
    name = entry.name
    if not _is_plain(entry):
        return " (not a plain file)"
    if digests is None or name not in {*FILES, SIGNATURE_FILE}:
        return ""
    if name == CARD_FILE:
        return None
    if name == SIGNATURE_FILE:
        return None if _is_signed(Path(entry.path).parent) else " (changed)"
    if name not in digests:
        return " (not on the card)"
    return None if digests[name] == f"sha256:{sha256_of(Path(entry.path))}" else " (changed)"


def _is_signed(folder: Path) -> bool:
    signature, _ = check_signature(folder, (folder / CARD_FILE).read_bytes(), ())
    return signature is not None


def _is_plain(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)
