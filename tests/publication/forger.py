"""Somebody who rewrites a published folder, with every digest made right again."""

import hashlib
import json

import dpcov
from dpcov.publication import html
from dpcov.publication.card import card_digest, card_to_bytes, card_to_json, with_files
from dpcov.publication.card_text import card_to_markdown, readme_to_markdown
from dpcov.publication.folder_files import data_files
from dpcov.publication.pictures import frames_of
from dpcov.publication.tables import tables_to_show

TEXTS = {"card.md": card_to_markdown, "README.md": readme_to_markdown}


def read(folder):
    return json.loads((folder / "card.json").read_text(encoding="utf-8"))


def digest_of(file):
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def seal(folder, card):
    """Write a card with the digests of the files as they are, its words, and its own digest."""
    card["files"] = {name: digest_of(folder / name) for name in card["files"]}
    early = {name: card["files"][name] for name in data_files(card) if name in card["files"]}
    for name, write in TEXTS.items():
        try:
            (folder / name).write_bytes(write(card | {"files": early}).encode())
            card["files"][name] = digest_of(folder / name)
        except Exception:  # noqa: S110, PERF203  # what cannot be said keeps its old words
            pass
    (folder / "card.json").write_bytes(card_to_bytes(card | {"digest": card_digest(card)}))


def seal_with_page(folder, card):
    """Write a page of what a card says, too, without pictures."""
    card["files"] = {name: digest_of(folder / name) for name in card["files"]}
    early = {name: card["files"][name].removeprefix("sha256:") for name in data_files(card)}
    asked = card["estimate"]
    release = dpcov.Release.load(folder / "release.npz")
    estimate = release.estimate(psd=asked["psd"], **asked["options"])
    rate = card["related"]["fdr"]
    page = html._render(
        with_files(card, early),
        estimate,
        tables_to_show(card, estimate, rate),
        shown_card=card_to_json(with_files(card, early)).rstrip(),
        pictures=frames_of(estimate, rate),
    )
    (folder / "page.html").write_text(page, encoding="utf-8")
    seal(folder, card)


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
