"""A card and an estimate, made again from a release and from what only a curator can know.

Owns which words and options of a card are taken from it: who made it, which estimate was
asked for, the digests of the files. Nothing else of a card is believed.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.errors import DpcovError, FolderError, NothingDetectableWarning
from dpcov.postprocess import AnyEstimate, Edges
from dpcov.releases import AnyRelease
from dpcov.report.card import INFINITE, card_digest, check_date, make_card

__all__ = ["Recomputed", "recompute"]

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_WORDS = ("name", "curator", "description", "date")
_LONGEST_VERSION = 40


@dataclass(frozen=True, eq=False)
class Recomputed:
    """What follows from a release.

    Parameters
    ----------
    card : dict
        The card. Its estimate and edges are None if the rule was the curator's own.
    estimate : Estimate, PairsEstimate or None
        None likewise.
    edges : Edges or None
        The related pairs; None likewise, or if the card has no list of them.
    wording : str
        The version of dpcov that the stated card says it was written by.
    """

    card: dict[str, Any]
    estimate: AnyEstimate | None
    edges: Edges | None
    wording: str


def recompute(release: AnyRelease, stated: Mapping[str, Any]) -> Recomputed:
    """Make the card of a release again, with a card's own words and options.

    Raises
    ------
    FolderError
        The words or options are none that a card of dpcov can have.
    """
    try:
        return _recompute(release, stated)
    except FolderError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, DpcovError):
        raise FolderError("card.json is not a card of dpcov, or was altered.") from None


def _recompute(release: AnyRelease, stated: Mapping[str, Any]) -> Recomputed:
    words = {name: stated["identity"][name] for name in _WORDS}
    if check_date(words["date"]) != words["date"]:
        raise FolderError("card.json was altered: its date is written in another way.")
    files = {name: _digits(digest) for name, digest in stated["files"].items()}
    wording = stated["library"]["card_written_by"]
    if not (isinstance(wording, str) and wording.isascii() and len(wording) < _LONGEST_VERSION):
        raise FolderError("card.json was altered: it states no version.")
    fdr = None if stated["edges"] is None else stated["edges"]["fdr"]
    asked = stated["estimate"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        estimate = _estimate(release, asked["options"], asked["psd"])
        if estimate is None:
            # Any estimate will do for the other parts; this one's is not shown.
            card = make_card(release, release.estimate(psd="none"), files=files, **words)
            card |= {"estimate": None, "edges": None}
            return Recomputed(card | {"digest": card_digest(card)}, None, None, wording)
    card = make_card(release, estimate, files=files, fdr=fdr, **words)
    edges = None if fdr is None else estimate.edges(fdr)
    return Recomputed(card, estimate, edges, wording)


def _estimate(
    release: AnyRelease, options: Mapping[str, Any] | None, psd: str
) -> AnyEstimate | None:
    if options is None:
        return None
    stated = dict(options)
    if stated.get("level") == INFINITE:
        stated["level"] = math.inf
    return release.estimate(psd=psd, **stated)


def _digits(digest: str) -> str:
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise FolderError("card.json was altered: a digest in it is none.")
    return found[1]
