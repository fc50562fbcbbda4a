"""The release card: what a release is and promises, for machines.

Owns the structure of the card and its text; `card_schema.json` beside it is its JSON Schema.
Everything in it is public: stated by the curator, stated before the data were read, or
computed from the release. All but the curator's words can be computed again from the release
and from the options that the card states; what says something else than such a card is
altered. Change `CARD_VERSION` when another number follows from the same release.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Mapping
from importlib.resources import files as package_files
from typing import Any

from dpcov.errors import ParameterError
from dpcov.ledger.receipt import Receipt
from dpcov.parameters import check_number
from dpcov.postprocess import AnyEstimate
from dpcov.privacy import Neighbors
from dpcov.publication.card_collection import describe_collection
from dpcov.publication.card_data import describe_data
from dpcov.publication.card_findings import describe_related, describe_visibility
from dpcov.publication.card_guarantee import describe_guarantee, known_limits
from dpcov.publication.card_learned import describe_learned
from dpcov.publication.card_mechanism import describe_mechanism, describe_reading, describe_released
from dpcov.releases import AnyRelease
from dpcov.version import __version__

__all__ = [
    "CARD_FORMAT",
    "CARD_VERSION",
    "INFINITE",
    "card_digest",
    "card_schema",
    "card_to_bytes",
    "card_to_json",
    "check_date",
    "make_card",
    "with_files",
]

CARD_FORMAT = "dpcov release card"
CARD_VERSION = 9
INFINITE = "infinite"
"""A threshold for which JSON has no number."""


def make_card(
    release: AnyRelease,
    estimate: AnyEstimate,
    *,
    name: str = "",
    curator: str = "",
    description: str = "",
    date: str | datetime.date | None = None,
    files: Mapping[str, str] | None = None,
    fdr: float | None = None,
    receipt: Receipt | None = None,
) -> dict[str, Any]:
    """Return the card of a release and its estimate: values that JSON has.

    Parameters
    ----------
    release : Release or PairsRelease
        What was released.
    estimate : Estimate or PairsEstimate
        What was made of it.
    name, curator, description : str
        What the data product is called, who answers for it, what it is about.
    date : str or date, optional
        When it was made, as YYYY-MM-DD; today in UTC by default.
    files : mapping of str to str, optional
        Names of files and their SHA-256 digests in hexadecimal digits.
    fdr : float, optional
        The false discovery rate at which pairs count as related.
    receipt : Receipt, optional
        What the ledger that was charged says of it: `dpcov.Ledger.receipt`.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> card = dpcov.publication.make_card(release, release.estimate(), name="Four answers")
    >>> card["guarantee"]["epsilon"], card["model"], card["data"]["n_rows"]
    (1.0, 'central', 20000)
    """
    if estimate.release is not release and estimate.release != release:
        raise ParameterError(
            "The estimate was made from another release, whose promise is not the one that the "
            "card would state. Use release.estimate()."
        )
    words = {"name": name, "curator": curator, "description": description}
    identity = {field: _checked_text(field, text) for field, text in words.items()}
    card = {
        "format": CARD_FORMAT,
        "version": CARD_VERSION,
        "identity": identity | {"date": check_date(date)},
        **_facts_of(estimate, receipt),
        "ledger": None if receipt is None else receipt.to_card(),
        "estimate": _describe_estimate(estimate),
        "related": None if fdr is None else describe_related(estimate, _checked_rate(fdr)),
        "files": {},
    }
    return with_files(card, files or {})


def with_files(card: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Return a card with the digests of files, and its own anew: all else stays as it is."""
    listed = {name: f"sha256:{digest}" for name, digest in files.items()}
    whole = {**card, "files": listed}
    return whole | {"digest": card_digest(whole)}


def _checked_text(field: str, text: object) -> str:
    if not isinstance(text, str):
        raise ParameterError(f"{field} must be a string.")
    # Two halves of a surrogate pair are one letter as soon as they are read back.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _facts_of(estimate: AnyEstimate, receipt: Receipt | None) -> dict[str, Any]:
    """Return the parts of a card that follow from the release, whatever estimate is made of it."""
    release = estimate.release
    local = release.provenance.calibrated_for.neighbors is Neighbors.LOCAL
    return {
        "guarantee": describe_guarantee(release),
        "model": "local" if local else "central",
        "data": describe_data(estimate),
        "released": describe_released(release),
        "reading": describe_reading(release),
        "learned": describe_learned(release),
        "mechanism": describe_mechanism(release),
        "collection": describe_collection(release),
        "known_limits": known_limits(release, charged=receipt is not None),
        "library": {
            "name": "dpcov",
            "version": release.provenance.version,
            "card_written_by": __version__,
        },
    }


def card_schema() -> dict[str, Any]:
    """Return the JSON Schema of cards (draft 2020-12).

    Examples
    --------
    >>> card_schema()["properties"]["version"]
    {'const': 9}
    """
    text = (
        package_files("dpcov.publication").joinpath("card_schema.json").read_text(encoding="utf-8")
    )
    schema: dict[str, Any] = json.loads(text)
    return schema


def card_to_json(card: Mapping[str, Any]) -> str:
    """Return a card as the text of ``card.json``."""
    return json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def card_to_bytes(card: Mapping[str, Any]) -> bytes:
    """Return the bytes of ``card.json``: a card has one text and no other."""
    # Half a surrogate pair has no bytes in UTF-8; its escape is the one that JSON has too.
    return card_to_json(card).encode("utf-8", "backslashreplace")


def card_digest(card: Mapping[str, Any]) -> str:
    """Return the digest of all that a card says, the curator's words with it."""
    said = {part: value for part, value in card.items() if part != "digest"}
    return f"sha256:{hashlib.sha256(card_to_bytes(said)).hexdigest()}"


def _describe_estimate(estimate: AnyEstimate) -> dict[str, Any]:
    chosen = estimate.chosen
    return {
        "rule": chosen.rule,
        # Infinite when nothing is kept, which JSON has no number for.
        "threshold": chosen.threshold if math.isfinite(chosen.threshold) else None,
        "threshold_is": chosen.threshold_is,
        "paper_threshold": chosen.paper_threshold,
        "chosen_by": chosen.by,
        "pairs_kept": estimate.pairs_kept,
        "options": _options(estimate),
        "psd": estimate.psd,
        **describe_visibility(estimate),
        "costs_privacy": False,
    }


def _options(estimate: AnyEstimate) -> dict[str, Any] | None:
    """Return what the estimate can be made from again, or None: a rule of the caller's own."""
    asked = estimate.asked
    return None if asked is None else {name: _json_value(value) for name, value in asked.items()}


def _json_value(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return value
    return float(value) if math.isfinite(value) else INFINITE


def _checked_rate(fdr: float) -> float:
    return check_number("fdr", fdr, low=0.0, high=1.0)


def check_date(date: str | datetime.date | None) -> str:
    """Return a day as YYYY-MM-DD; today in UTC if none is stated."""
    if date is None:
        return datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    if isinstance(date, datetime.datetime):
        return date.date().isoformat()
    if isinstance(date, datetime.date):
        return date.isoformat()
    try:
        return datetime.date.fromisoformat(date).isoformat()
    except (TypeError, ValueError):
        raise ParameterError("date must be a day, as YYYY-MM-DD.") from None
