"""Whether a published folder is what its card says.

Owns the comparison of files with digests, and of the card with the release. Digests detect
damage and carelessness, not a forger who writes a new card: compare the digest of the card
with one that comes another way.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError, ReleaseFileError
from dpcov.releases import Release
from dpcov.report.card import CARD_FORMAT, CARD_VERSION, facts_of

__all__ = [
    "CARD_FILE",
    "RELEASE_FILE",
    "Verification",
    "read_card",
    "sha256_of",
    "verify_folder",
]

RELEASE_FILE, CARD_FILE = "release.npz", "card.json"
# What a card says of the guarantee that cannot change with the wording of a later version.
_COMPARED = ("holds", "statement", "variant", "epsilon", "delta", "rho")


@dataclass(frozen=True)
class Verification:
    """What a look at a folder found.

    Parameters
    ----------
    checked : tuple of str
        The files whose digests are those in the card.
    problems : tuple of str
        What is wrong.
    unlisted : tuple of str
        Files that the card says nothing about.
    card_sha256 : str
        The digest of the card itself, to be compared with one from elsewhere.
    """

    checked: tuple[str, ...]
    problems: tuple[str, ...]
    unlisted: tuple[str, ...]
    card_sha256: str

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify_folder(path: str | os.PathLike[str]) -> Verification:
    """Compare the files of a folder with the digests in its card, and the card with the release.

    Parameters
    ----------
    path : path
        A folder that `write_folder` wrote.

    Raises
    ------
    FolderError
        There is no such folder, or it has no card that can be read.
    """
    folder = Path(path)
    card = read_card(folder)
    checked, problems = [], []
    for name, stated in card["files"].items():
        problem = _compare(folder, name, stated)
        if problem is None:
            checked.append(name)
        else:
            problems.append(problem)
    if RELEASE_FILE not in card["files"]:
        problems.append(f"the card does not list {RELEASE_FILE}")
    elif RELEASE_FILE in checked:
        problems += _contradictions(folder / RELEASE_FILE, card)
    listed = {*card["files"], CARD_FILE}
    unlisted = sorted(file.name for file in folder.iterdir() if file.name not in listed)
    digest = sha256_of(folder / CARD_FILE)
    return Verification(tuple(checked), tuple(problems), tuple(unlisted), digest)


def read_card(folder: Path) -> dict[str, Any]:
    """Read the card of a folder, or say why there is none."""
    if not folder.is_dir():
        raise FolderError(f"There is no folder {str(folder)!r}.")
    try:
        card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    except OSError:
        raise FolderError(f"{str(folder)!r} has no {CARD_FILE} that can be read.") from None
    except (ValueError, RecursionError):
        card = None
    if not _looks_like_a_card(card):
        raise FolderError(f"{str(folder / CARD_FILE)!r} is not a card of dpcov, or was altered.")
    if card["version"] > CARD_VERSION:
        raise FolderError(
            f"The card has version {card['version']}; this version of dpcov reads up to "
            f"{CARD_VERSION}. Upgrade dpcov to read it."
        )
    return dict(card)


def _looks_like_a_card(card: object) -> bool:
    kinds = {"identity": dict, "guarantee": dict, "data": dict, "estimate": dict, "files": dict}
    return (
        isinstance(card, dict)
        and card.get("format") == CARD_FORMAT
        and type(card.get("version")) is int
        and all(isinstance(card.get(part), kind) for part, kind in kinds.items())
    )


def _compare(folder: Path, name: str, stated: object) -> str | None:
    if name != Path(name).name or name in {"", ".", ".."}:
        return f"the card names {name!r}, which is not a file of this folder"
    if not (folder / name).is_file():
        return f"{name} is missing"
    try:
        found = sha256_of(folder / name)
    except OSError:
        return f"{name} cannot be read"
    return None if stated == f"sha256:{found}" else f"{name} was altered"


def _contradictions(file: Path, card: dict[str, Any]) -> list[str]:
    """Say what the card states and the release does not."""
    try:
        release = Release.load(file)
    except ReleaseFileError:
        return [f"{file.name} cannot be read as a release"]
    facts = facts_of(release)
    differ = [
        f"guarantee.{part}"
        for part in _COMPARED
        if card["guarantee"].get(part) != facts["guarantee"][part]
    ]
    differ += [part for part in ("model", "data") if card.get(part) != facts[part]]
    return [f"the card states another {part} than the release" for part in differ]


def sha256_of(file: Path) -> str:
    """Return the digest of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
