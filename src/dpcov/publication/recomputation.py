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

import numpy as np

from dpcov.errors import DpcovError, FolderError, NothingDetectableWarning
from dpcov.ledger.receipt import Receipt
from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.column_errors import covariances_of
from dpcov.postprocess.psd import METHODS
from dpcov.privacy import events_epsilon
from dpcov.publication.card import INFINITE, card_digest, check_date, make_card
from dpcov.publication.comparison import is_near
from dpcov.releases import AnyRelease

__all__ = ["Recomputed", "recompute"]

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_WORDS = ("name", "curator", "description", "date")
_LONGEST_VERSION = 40
_LONGEST_RULE = 200
_FROM_RELEASE = ("threshold_is", "blind_columns", "costs_privacy")


@dataclass(frozen=True, eq=False)
class Recomputed:
    """What follows from a release.

    Parameters
    ----------
    card : dict
        The card. Its estimate is None if the rule was the curator's own.
    estimate : Estimate, PairsEstimate or None
        None likewise.
    fdr : float
        The rate at which pairs count as related.
    wording : str
        The version of dpcov that the stated card says it was written by.
    other : Estimate, PairsEstimate or None
        If the rule was the curator's own: an estimate of the same columns with another rule.
    """

    card: dict[str, Any]
    estimate: AnyEstimate | None
    fdr: float
    wording: str
    other: AnyEstimate | None = None


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
    fdr = stated["related"]["fdr"]
    receipt = _receipt(release, stated["ledger"])
    asked = stated["estimate"]
    # What overflows is refused below, in a sentence.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", NothingDetectableWarning)
        estimate = _estimate(release, asked["options"], asked["psd"])
        if estimate is None:
            # Any estimate will do for the other parts: which pairs are related, and what could
            # have been, is read from the release and not from its estimate.
            other = release.estimate(psd="none")
            _check_finite(other)
            card = make_card(release, other, files=files, fdr=fdr, receipt=receipt, **words)
            _check_own_rule(asked, card["estimate"], release.n_columns)
            card |= {"estimate": None}
            return Recomputed(card | {"digest": card_digest(card)}, None, fdr, wording, other)
        _check_finite(estimate)
        card = make_card(release, estimate, files=files, fdr=fdr, receipt=receipt, **words)
    return Recomputed(card, estimate, fdr, wording)


def _receipt(release: AnyRelease, said: Mapping[str, Any] | None) -> Receipt | None:
    """Return what a card says of a ledger, which `dpcov ledger verify --folder` compares with it.

    Whatever else was promised, together they promise no more than this release alone.
    """
    if said is None:
        return None
    receipt = Receipt.from_card(said)
    if release.simulated or any(
        events_epsilon(release.events, delta=account.delta) > account.epsilon * (1 + 1e-9)
        for account in receipt.accounts
    ):
        raise FolderError("card.json was altered: its release was not charged to a ledger so.")
    return receipt


def _estimate(
    release: AnyRelease, options: Mapping[str, Any] | None, psd: str
) -> AnyEstimate | None:
    if options is None:
        return None
    stated = dict(options)
    if stated.get("threshold") == INFINITE:
        stated["threshold"] = math.inf
    return release.estimate(psd=psd, **stated)


def _check_finite(estimate: AnyEstimate) -> None:
    """Refuse a release from which numbers follow that are not finite."""
    pairs = estimate.pairs()
    derived = [*estimate.interval(), estimate.deviations, estimate.location, estimate.entries()[2]]
    derived += [pairs.correlation, pairs.released, pairs.standard_error, pairs.q_value]
    derived += covariances_of(estimate, pairs)
    if not all(np.isfinite(numbers).all() for numbers in derived):
        raise FolderError(
            "release.npz holds numbers so large or so small that nothing can be computed from "
            "them. Nothing in the folder can be relied on."
        )


def _check_own_rule(asked: Mapping[str, Any], other: Mapping[str, Any], n_columns: int) -> None:
    """Refuse what no estimate with a rule of the curator's own says of itself."""
    derived = {name: other[name] for name in _FROM_RELEASE}
    detectable = ("smallest_detectable_correlation", "detectable_in_most_pairs")
    kept, thresholds = asked["pairs_kept"], (asked["threshold"], asked["paper_threshold"])
    if (
        list(asked) != list(other)
        or other["rule"] == "keep"  # of pairs, which have no rules
        or any(repr(asked[name]) != repr(value) for name, value in derived.items())
        or any(not is_near(asked[name], other[name]) for name in detectable)
        or not (isinstance(asked["rule"], str) and len(asked["rule"]) <= _LONGEST_RULE)
        or asked["psd"] not in METHODS
        or asked["chosen_by"] not in ("stated", "thinning of the release")
        or not (type(kept) is int and 0 <= kept <= n_columns * (n_columns - 1) // 2)
        or any(not _is_threshold(number) for number in thresholds)
    ):
        raise FolderError("card.json was altered: its estimate is none that dpcov makes.")


def _is_threshold(number: object) -> bool:
    return number is None or (type(number) is float and 0 <= number < math.inf)


def _digits(digest: str) -> str:
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise FolderError("card.json was altered: a digest in it is none.")
    return found[1]
