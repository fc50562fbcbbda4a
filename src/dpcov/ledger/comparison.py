"""Whether a card and a ledger say the same of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcov.errors import LedgerError, ParameterError
from dpcov.ledger.ledger import Ledger
from dpcov.ledger.receipt import Receipt

__all__ = ["compare_with_card"]


def compare_with_card(ledger: Ledger, said: Mapping[str, Any] | None, sha256: str) -> list[str]:
    """Return what a card says that the ledger does not, about the release with this digest."""
    if said is None:
        return ["its card names no ledger: it was not charged to one"]
    try:
        stated = Receipt.from_card(said)
    except (ParameterError, LookupError, TypeError, AttributeError):
        return ["what its card says of a ledger is nothing that dpcov writes"]
    try:
        known = ledger.receipt(sha256)
    except LedgerError:
        known = None
    lines = {line["number"]: line["hash"] for line in ledger.lines()}
    if stated.ledger != ledger.lines()[0]["id"]:
        return ["its card names another ledger"]
    if lines.get(stated.line) != stated.head:
        return [
            f"line {stated.line} of the ledger is not the one that its card names: the ledger was "
            "altered, or is an older copy"
        ]
    if known is None:
        return ["the ledger does not know its release"]
    return [] if known == stated else ["its card says something else of the account"]
