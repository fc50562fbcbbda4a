"""Where something is written, and what its writers call their files beside it.

Owns the names. Beside ``NAME`` stand, while somebody writes it: ``.NAME.dpcov``, the
reservation; ``.NAME.`` and 16 hexadecimal digits, what is being written; the same with
``.old``, what it replaces. What else begins with ``.NAME.`` is not dpcov's.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from dpcov.errors import FolderError

__all__ = ["TOKEN", "Target", "find_leftovers", "locate_target"]

TOKEN = "[0-9a-f]{16}"  # noqa: S105  # the digits that tell one writer's files from another's
# A file inside what is being written, no shorter than any that is written there.
_LONGEST_INSIDE = ".covariance.parquet." + 16 * "0"
_UNWRITABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, half surrogates, line breaks


@dataclass(frozen=True)
class Target:
    """A path to write to, whose folder is there.

    Parameters
    ----------
    stated : str
        The path in the caller's words, for messages.
    path : Path
        The same, absolute; all links but the last name are followed.
    """

    stated: str
    path: Path

    @property
    def reservation(self) -> Path:
        """The file whose lock says that somebody writes here."""
        return self.path.with_name(f".{self.path.name}.dpcov")

    def aside(self, token: str) -> Path:
        """Return where a writer writes."""
        return self.path.with_name(f".{self.path.name}.{token}")

    def old(self, token: str) -> Path:
        """Return where a writer puts what was there before."""
        return self.path.with_name(f".{self.path.name}.{token}.old")


def locate_target(path: str | os.PathLike[str]) -> Target:
    """Return a place to write to, or say why it cannot be one.

    Examples
    --------
    >>> locate_target("survey/..")
    Traceback (most recent call last):
    dpcov.errors.FolderError: 'survey/..' has no name of its own. Name what is to be written.
    """
    stated = os.fspath(path)
    given = Path(stated)
    if given.name in {"", ".", ".."}:
        raise FolderError(f"{stated!r} has no name of its own. Name what is to be written.")
    parent = _resolve(given.parent)
    # Libraries that write tables take names in UTF-8 only.
    if _categories(given.name) & _UNWRITABLE or "Cs" in _categories(str(parent)):
        raise FolderError(
            f"{stated!a} is no name to write to: it must be text in UTF-8 without control "
            "characters. Choose another."
        )
    target = Target(stated, parent / given.name)
    _check_length(target)
    return target


def find_leftovers(target: Target) -> list[Path]:
    """Return what writers that were killed left beside a target, by its name alone."""
    own = re.compile(rf"\.{re.escape(target.path.name)}\.{TOKEN}(\.old)?")
    try:
        names = os.listdir(target.path.parent)  # noqa: PTH208
    except OSError:
        return []
    return [target.path.with_name(name) for name in sorted(names) if own.fullmatch(name)]


def _resolve(parent: Path) -> Path:
    try:
        resolved = Path(os.path.realpath(parent, strict=True))
        if resolved.is_dir():
            return resolved
    except (OSError, ValueError):
        pass
    raise FolderError(f"{str(parent)!r} is not a folder that can be written to.")


def _check_length(target: Target) -> None:
    try:
        os.lstat(target.old(16 * "0") / _LONGEST_INSIDE)
    except FileNotFoundError:
        return
    except OSError:
        raise FolderError(
            f"{target.stated!r} is too long a name: a folder beside it is called the same and 22 "
            "letters more. Choose a shorter one."
        ) from None


def _categories(text: str) -> set[str]:
    return {unicodedata.category(letter) for letter in text}
