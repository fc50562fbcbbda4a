"""Somebody who rewrites a published folder, with every digest made right again."""

import hashlib
import json

from dpcov.publication.card import card_digest, card_to_bytes
from dpcov.publication.card_text import card_to_markdown

EARLY = ("covariance.csv", "covariance.parquet", "edges.csv", "release.npz")


def read(folder):
    return json.loads((folder / "card.json").read_text(encoding="utf-8"))


def digest_of(file):
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def seal(folder, card):
    """Write a card with the digests of the files as they are, its words, and its own digest."""
    card["files"] = {name: digest_of(folder / name) for name in card["files"]}
    early = {name: digest for name, digest in card["files"].items() if name in EARLY}
    try:
        (folder / "card.md").write_bytes(card_to_markdown(card | {"files": early}).encode())
        card["files"]["card.md"] = digest_of(folder / "card.md")
    except Exception:  # noqa: S110  # a card that cannot be said in words keeps its old ones
        pass
    (folder / "card.json").write_bytes(card_to_bytes(card | {"digest": card_digest(card)}))


def leaves(value, place=()):
    """Yield the places of all values in a card."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*place, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*place, number))
    else:
        yield place


def get(card, place):
    for step in place:
        card = card[step]
    return card


def put(card, place, value):
    get(card, place[:-1])[place[-1]] = value


def edits(value):
    """Return other values of the same kind, and of another."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, float(value)]
    if isinstance(value, float):
        return [value * (1 + 1e-6) if value else 1e-6, -value]
    if value is None:
        return [0.5]
    return [f"{value} "]
