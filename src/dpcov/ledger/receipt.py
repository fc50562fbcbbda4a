"""Receipts: what a card says of a ledger, and a ledger of a card.

Owns the few numbers that both have, so that they can be compared: which line of which ledger
recorded the release, and what was promised about these people by then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpcov.errors import LedgerError, ParameterError
from dpcov.ledger.account import up
from dpcov.ledger.book import Book
from dpcov.ledger.chain import Line

__all__ = ["Receipt", "Standing", "receipt_of"]


@dataclass(frozen=True)
class Standing:
    """How one account stood when a release was recorded."""

    population: str
    releases: int
    epsilon: float
    """Rounded up to four digits."""
    delta: float

    @property
    def in_words(self) -> str:
        """The sentence on the card and on the page.

        Examples
        --------
        >>> Standing("Panel 2026", 3, 2.1, 1e-6).in_words
        'This is the third release about these people; together they promise (2.1, 1e-06).'
        """
        if self.releases == 1:
            return (
                "This is the first release about these people that their ledger knows; it promises "
                f"({self.epsilon:.4g}, {self.delta:g})."
            )
        return (
            f"This is the {_ordinal(self.releases)} release about these people; together they "
            f"promise ({self.epsilon:.4g}, {self.delta:g})."
        )


@dataclass(frozen=True)
class Receipt:
    """Which line of a ledger recorded a release, and how its accounts stood then."""

    ledger: str
    line: int
    head: str
    """The hash of that line, and so of all lines before."""
    accounts: tuple[Standing, ...]

    def to_card(self) -> dict[str, Any]:
        """Return the part of a card: values that JSON has."""
        return {
            "id": self.ledger,
            "line": self.line,
            "head": f"sha256:{self.head}",
            "accounts": [
                {
                    "population": each.population,
                    "releases": each.releases,
                    "epsilon": each.epsilon,
                    "delta": each.delta,
                    "in_words": each.in_words,
                }
                for each in self.accounts
            ],
        }

    @classmethod
    def from_card(cls, said: Mapping[str, Any]) -> Receipt:
        """Return the receipt that a card states; its sentences are made anew."""
        head = said["head"]
        accounts = [
            Standing(each["population"], each["releases"], each["epsilon"], each["delta"])
            for each in said["accounts"]
        ]
        for each in accounts:
            kinds = (type(each.population), type(each.releases), type(each.epsilon))
            if kinds != (str, int, float) or each.releases < 1 or not each.epsilon > 0:
                raise ParameterError("This is no receipt of a ledger.")
            if type(each.delta) is not float or not 0 < each.delta < 1:
                raise ParameterError("This is no receipt of a ledger.")
        texts = isinstance(said["id"], str) and isinstance(head, str)
        if not texts or not accounts or type(said["line"]) is not int:
            raise ParameterError("This is no receipt of a ledger.")
        return cls(said["id"], said["line"], head.removeprefix("sha256:"), tuple(accounts))


def receipt_of(lines: Sequence[Line], sha256: str) -> Receipt:
    """Return the receipt of a release by the digest of its file, as of the line that has it."""
    book = Book()
    for line in lines:
        book.take(line)
        said = line.read()
        if said["kind"] == "release" and said["sha256"] == sha256:
            charged = book.reservations[said["reservation"]].accounts
            accounts = [book.accounts[population] for population in charged]
            if any(math.isinf(account.spent) for account in accounts):
                raise LedgerError("More was spent than a card can state.")
            return Receipt(
                book.id,
                line.number,
                line.hash,
                tuple(
                    Standing(
                        account.terms.population,
                        account.releases,
                        float(up(account.spent)),
                        account.limit.delta,
                    )
                    for account in accounts
                ),
            )
    raise LedgerError("The ledger knows no such release.")


def _ordinal(number: int) -> str:
    words = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    if 2 <= number <= len(words) + 1:
        return words[number - 2]
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
