"""Which files of a folder are dpcov's own, and may be replaced or deleted.

Owns that judgement, and every deletion that rests on it. A file is dpcov's own if it is a
plain file with a name that dpcov writes, and its bytes are those whose digest is on the
card beside it; the card, if it has the only text and the digest of what it states. Names on a
card prove nothing, since anybody may write one; links and folders are never dpcov's. Only what was
judged is deleted, name by name, and each only if it is still the same file; then the folder itself,
which the system deletes only if it is empty.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError
from dpcov.publication.card_file import (
    CARD_FILE,
    parse_card,
    problems_of_text,
    read_card_text,
    sha256_of,
)
from dpcov.publication.folder_files import ALL_FILES, RELEASE_FILE
from dpcov.writing.names import TOKEN

__all__ = ["is_whole", "obstacles", "remove_own", "remove_unfinished"]

# A release is saved aside in the folder, too.
_UNFINISHED = re.compile(rf"\.({'|'.join(map(re.escape, ALL_FILES))})\.{TOKEN}")
_Identity = tuple[int, int, int, int]


def obstacles(folder: Path) -> list[str]:
    """Return the names in a folder that are not dpcov's own, with what is wrong about them.

    Raises
    ------
    OSError
        The folder cannot be read.
    """
    problems = _judge(folder)[1]
    return [f"{_shown(name)}{problem}" for name, problem in problems.items()]


def is_whole(folder: Path) -> bool:
    """Return whether a folder is complete: all files on its card, unchanged, and no others."""
    try:
        digests = _digests_on_card(folder)
        return (
            digests is not None
            and RELEASE_FILE in digests
            and not folder.is_symlink()
            and {*digests, CARD_FILE} <= set(os.listdir(folder))  # noqa: PTH208
            and not obstacles(folder)
        )
    except OSError:
        return False


def remove_own(folder: Path) -> str | None:
    """Delete a folder if all that it holds is dpcov's own; return why it is not gone, or None.

    The card goes last: if this is stopped in the middle, what is left can still be judged.
    """
    try:
        if folder.is_symlink():
            return "it is a link"
        judged, problems = _judge(folder)
        if problems:
            return "something in it changed"
        return _delete(folder, judged)
    except OSError as error:
        return f"it cannot be deleted: {(error.strerror or type(error).__name__).lower()}"


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
        named = all(entry.name in ALL_FILES or _UNFINISHED.fullmatch(entry.name) for entry in found)
        if folder.is_symlink() or not named or not all(map(_is_plain, found)):
            return False
        return (
            _delete(folder, {entry.name: _identity(folder / entry.name) for entry in found}) is None
        )
    except OSError:
        return False


def _judge(folder: Path) -> tuple[dict[str, _Identity], dict[str, str]]:
    """Return which files were looked at, the card last, and what is wrong about which."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: (entry.name == CARD_FILE, entry.name))
    # Before anything is read: what changes while it is read is another file afterwards.
    identities = {entry.name: _identity(Path(entry.path)) for entry in found}
    digests = _digests_on_card(folder)
    problems = {entry.name: _problem(entry, digests) for entry in found}
    return identities, {name: why for name, why in sorted(problems.items()) if why is not None}


def _delete(folder: Path, judged: dict[str, _Identity]) -> str | None:
    """Delete the files that were judged, and then the folder; return why it is not gone."""
    for name, identity in judged.items():
        if _identity(folder / name) != identity:
            return f"{_shown(name)} changed while it was deleted"
        os.unlink(folder / name)  # noqa: PTH108
    if os.listdir(folder):  # noqa: PTH208
        return "something came into it while it was deleted"
    os.rmdir(folder)  # noqa: PTH106
    return None


def _identity(file: Path) -> _Identity:
    about = os.lstat(file)
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _digests_on_card(folder: Path) -> dict[str, Any] | None:
    card = folder / CARD_FILE
    if card.is_symlink() or not card.is_file():  # a pipe would be waited for
        return None
    try:
        return dict(parse_card(read_card_text(folder), folder)["files"])
    except FolderError:
        return None


def _is_altered(folder: Path) -> bool:
    """Return whether the text of a card is not the only one of what it states."""
    try:
        text = read_card_text(folder)
        return bool(problems_of_text(text, parse_card(text, folder)))
    except FolderError:
        return True


def _problem(entry: os.DirEntry[str], digests: dict[str, Any] | None) -> str | None:
    """Return what is wrong with an entry, in parentheses, or None if it is dpcov's own."""
    name = entry.name
    if not _is_plain(entry):
        return " (not a plain file)"
    if digests is None or name not in ALL_FILES:
        return ""
    if name == CARD_FILE:
        return " (changed)" if _is_altered(Path(entry.path).parent) else None
    if name not in digests:
        return " (not on the card)"
    return None if digests[name] == f"sha256:{sha256_of(Path(entry.path))}" else " (changed)"


def _is_plain(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)
