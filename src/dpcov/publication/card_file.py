"""The file of a card: how it is read back from a folder that comes from anywhere.

Owns ``card.json``. It is bounded before it is parsed, and JSON is taken strictly; what it
states is not verified here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcov.columns.limits import json_problem
from dpcov.errors import FolderError
from dpcov.publication.card import CARD_FORMAT, CARD_VERSION, card_digest, card_to_bytes
from dpcov.publication.file_sizes import read_bounded

__all__ = [
    "CARD_FILE",
    "parse_card",
    "problems_of_text",
    "read_card",
    "read_card_text",
    "sha256_of",
]

CARD_FILE = "card.json"
_MOST_BYTES = 1 << 25  # 40,000 columns have 4 MB and their names
_DEEPEST = 8


def read_card(folder: Path) -> dict[str, Any]:
    """Read the card of a folder, or say why there is none. What it states is not verified."""
    return parse_card(read_card_text(folder), folder)


def sha256_of(file: Path) -> str:
    """Return the digest of a file in hexadecimal digits; of a long one it takes long."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_card_text(folder: Path) -> bytes:
    """Return the bytes of a folder's card."""
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{str(folder)!r} is not a folder. Name the folder that dpcov wrote.")
    if not folder.is_dir():
        raise FolderError(f"There is no folder {str(folder)!r}.")
    try:
        return read_bounded(folder / CARD_FILE, most=_MOST_BYTES, longer_than="any card of dpcov")
    except OSError:
        raise FolderError(f"{str(folder)!r} has no {CARD_FILE} that can be read.") from None


def parse_card(text: bytes, folder: Path) -> dict[str, Any]:
    """Return what a card's bytes state, if they are those of a card."""
    try:
        whole = text.decode("utf-8")
        # Before it is parsed: short lists take a parser 30 times their length, and deep ones
        # its stack.
        problem = json_problem(whole, most_deep=_DEEPEST)
        card: Any = None if problem else json.loads(whole, parse_constant=_refuse)
    except (ValueError, RecursionError):
        card = None
    if not _looks_like_a_card(card):
        raise FolderError(f"{str(folder / CARD_FILE)!r} is not a card of dpcov, or was altered.")
    if card["version"] != CARD_VERSION:
        raise FolderError(
            f"The card has version {card['version']}, and this version of dpcov reads "
            f"{CARD_VERSION} alone. Read it with the version of dpcov that wrote it."
        )
    return dict(card)


def _refuse(constant: str) -> None:
    raise ValueError  # Infinity and NaN, which JSON does not have


def _looks_like_a_card(card: object) -> bool:
    kinds = {"identity": dict, "guarantee": dict, "data": dict, "estimate": dict, "files": dict}
    return (
        isinstance(card, dict)
        and card.get("format") == CARD_FORMAT
        and type(card.get("version")) is int
        and card["version"] > 0
        and all(isinstance(card.get(part), kind) for part, kind in kinds.items())
    )


def problems_of_text(text: bytes, stated: Mapping[str, Any]) -> list[str]:
    """Say whether a card's text is the only one that it has, and has its digest."""
    try:
        if card_to_bytes(stated) != text:
            return [f"{CARD_FILE} was altered: its text is not as dpcov writes it"]
    except (ValueError, RecursionError):  # a number beyond all floating-point numbers
        return [f"{CARD_FILE} was altered: it states a number that is none"]
    if stated.get("digest") != card_digest(stated):
        return [f"{CARD_FILE} was altered: it has another digest than it states"]
    return []
