"""The book: what all lines of a ledger say together.

Owns the kinds of lines and what follows from them: accounts, reservations, releases. It is made
anew from the first line on, every time; nothing else stores a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dpcov.errors import AlteredLedgerError, BudgetError, LedgerError, ParameterError
from dpcov.ledger.account import Account, Limit, Terms, check_words
from dpcov.ledger.chain import Line
from dpcov.ledger.numbers import event_from_text
from dpcov.privacy import Event, Neighbors

__all__ = ["FORMAT", "LINES_VERSION", "Book", "Reservation"]

FORMAT = "dpcov ledger"
LINES_VERSION = 1

_SHA256 = re.compile(r"[0-9a-f]{64}")
_LIMIT = ("epsilon", "delta", "stated_delta")
_ALWAYS = ("kind", "number", "time", "dpcov")
_CHARGE = ("accounts", "data_set", "neighbors", "privacy_unit", "complete", "events")
_FIELDS: dict[str, tuple[str, ...]] = {
    "ledger": ("format", "version", "id"),
    "account": (
        "population",
        "owner",
        "neighbors",
        "privacy_unit",
        "counting",
        "data_sets",
        *_LIMIT,
    ),
    "limit": ("account", "by", "reason", *_LIMIT),
    "reservation": ("what", "request", "fingerprint", *_CHARGE),
    "drawing": ("reservation",),
    "release": ("reservation", "sha256", "n_rows", "n_columns", "kept"),
    "return": ("reservation", "by", "reason"),
    "stop": ("reservation", "events"),
    "entry": ("name", "made", *_CHARGE),
    "refusal": ("what", "request", "reason", *_CHARGE),
}


@dataclass(frozen=True)
class Reservation:
    """What became of a request: reserved, drawing, finished, stopped early, or given back."""

    number: int
    request: str
    fingerprint: str
    what: str
    accounts: tuple[str, ...]
    events: tuple[Event, ...]
    state: str = "reserved"
    sha256: str | None = None
    finished: int | None = None
    """The number of the line that says so."""
    shape: tuple[int, int] | None = None


@dataclass
class Book:
    """What follows from lines that were checked, up to the last one that was taken."""

    id: str = ""
    accounts: dict[str, Account] = field(default_factory=dict)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    refusals: int = 0

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Book:
        """Return the book of lines, or refuse what dpcov does not write."""
        book = cls()
        for line in lines:
            book.take(line)
        if not book.id or not book.accounts:
            raise AlteredLedgerError("The ledger does not begin as one does. It was altered.")
        return book

    def take(self, line: Line) -> None:
        """Take the next line, or refuse it."""
        said = line.read()
        kind = said.get("kind")
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise LedgerError(
                f"Line {line.number} of the ledger is of a kind that this version of dpcov does "
                "not know. Use a newer one."
            )
        problem = None
        if {*_ALWAYS, *_FIELDS[kind]} != set(said) or said["number"] != line.number:
            problem = "its fields are not those of its kind"
        else:
            try:
                getattr(self, f"_take_{kind}")(said)
            except BudgetError:
                problem = "it charges more than the limit"
            except (AlteredLedgerError, LedgerError, ParameterError) as error:
                problem = str(error).rstrip(".")
            except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
                problem = "its contents are none that dpcov writes"
        if problem is not None:
            raise AlteredLedgerError(f"Line {line.number} of the ledger was altered: {problem}.")

    def account(self, population: str) -> Account:
        """Return an account by its population."""
        if population not in self.accounts:
            listed = ", ".join(map(repr, self.accounts))
            raise LedgerError(f"There is no account {population!r} in the ledger; it has {listed}.")
        return self.accounts[population]

    def find(self, request: str) -> Reservation | None:
        """Return what became of a request, if it was charged and can still be finished."""
        for reservation in reversed(self.reservations.values()):
            ended = reservation.state in ("returned", "stopped")
            if reservation.request == request and not ended:
                return reservation
        return None

    def reservation(self, number: int, *states: str) -> Reservation:
        """Return a reservation that is in one of these states, or refuse."""
        found = self.reservations.get(number)
        if found is None:
            raise LedgerError(f"Line {number} of the ledger is no reservation.")
        if found.state not in states:
            became = {
                "reserved": "is still open",
                "drawing": "is spent: noise may have been drawn",
                "finished": "is spent: its release was finished",
                "returned": "was given back",
                "stopped": "was stopped early, and the rest of it given back",
            }[found.state]
            raise LedgerError(f"The reservation in line {number} {became}.")
        return found

    def check(self, said: Mapping[str, Any], events: tuple[Event, ...]) -> None:
        """Refuse a charge that an account cannot be compared with, or has no budget for."""
        for population in said["accounts"]:
            account = self.account(population)
            account.terms.check(
                Neighbors.parse(said["neighbors"]), said["privacy_unit"], said["data_set"]
            )
            if said.get("made", False):
                account.charged(events)  # it is too late to refuse what does not fit
            else:
                account.check(events)

    def _take_ledger(self, said: dict[str, Any]) -> None:
        if self.id or (said["format"], said["version"]) != (FORMAT, LINES_VERSION):
            raise LedgerError("it does not begin a ledger of this version")
        self.id = str(said["id"])

    def _take_account(self, said: dict[str, Any]) -> None:
        names = ("population", "owner", "neighbors", "privacy_unit", "counting", "data_sets")
        terms = Terms.of(**{name: said[name] for name in names})
        if terms.population in self.accounts:
            raise LedgerError(f"There is an account {terms.population!r} already.")
        self.accounts[terms.population] = Account(terms, Limit.read(said))

    def _take_limit(self, said: dict[str, Any]) -> None:
        account = self.account(said["account"])
        check_words("reason", said["reason"])
        if said["by"] != account.terms.owner:
            raise LedgerError("it was not its owner's to write")
        self.accounts[said["account"]] = replace(account, limit=Limit.read(said))

    def _take_reservation(self, said: dict[str, Any]) -> None:
        events = self._charge(said)
        if self.find(said["request"]) is not None:
            raise LedgerError("it charges a request twice")
        self.reservations[said["number"]] = Reservation(
            said["number"],
            said["request"],
            said["fingerprint"],
            said["what"],
            tuple(said["accounts"]),
            events,
        )

    def _take_drawing(self, said: dict[str, Any]) -> None:
        found = self.reservation(said["reservation"], "reserved")
        self.reservations[found.number] = replace(found, state="drawing")

    def _take_release(self, said: dict[str, Any]) -> None:
        found = self.reservation(said["reservation"], "drawing")
        if not _SHA256.fullmatch(said["sha256"]) or type(said["kept"]) is not bool:
            raise LedgerError("it names no file")
        self.reservations[found.number] = replace(
            found,
            state="finished",
            sha256=said["sha256"],
            finished=said["number"],
            shape=(int(said["n_rows"]), int(said["n_columns"])),
        )
        self._count_release(found.accounts)

    def _take_return(self, said: dict[str, Any]) -> None:
        found = self.reservation(said["reservation"], "reserved")
        check_words("reason", said["reason"])
        self.reservations[found.number] = replace(found, state="returned")
        for population in found.accounts:
            account = self.accounts[population]
            self.accounts[population] = account.given_back(found.events)

    def _take_stop(self, said: dict[str, Any]) -> None:
        """Take that a release ended early: its first events stay charged, the others do not."""
        found = self.reservation(said["reservation"], "drawing")
        drawn = tuple(event_from_text(each) for each in said["events"])
        if not drawn or len(drawn) >= len(found.events) or found.events[: len(drawn)] != drawn:
            raise LedgerError("its events are not the first of its reservation")
        self.reservations[found.number] = replace(found, state="stopped", events=drawn)
        for population in found.accounts:
            before = self.accounts[population]
            # Answers were seen: how costs are added up is not decided again.
            without = replace(before.given_back(found.events), counting=before.counting)
            after = replace(without.charged(drawn), stopped=before.stopped + 1)
            self.accounts[population] = after

    def _take_entry(self, said: dict[str, Any]) -> None:
        check_words("name", said["name"])
        if type(said["made"]) is not bool:
            raise LedgerError("it does not say whether it was made")
        self._charge(said)
        self._count_release(said["accounts"])

    def _take_refusal(self, said: dict[str, Any]) -> None:
        self.refusals += 1

    def _charge(self, said: dict[str, Any]) -> tuple[Event, ...]:
        events = tuple(event_from_text(each) for each in said["events"])
        if type(said["complete"]) is not bool:
            raise LedgerError("it does not say among which tables it holds")
        if not events or not said["accounts"] or len(set(said["accounts"])) < len(said["accounts"]):
            raise LedgerError("it charges nothing, or nobody")
        self.check(said, events)
        for population in said["accounts"]:
            charged = self.accounts[population].charged(events)
            complete = charged.complete or said["complete"]
            self.accounts[population] = replace(charged, complete=complete)
        return events

    def _count_release(self, accounts: Iterable[str]) -> None:
        for population in accounts:
            account = self.accounts[population]
            self.accounts[population] = replace(account, releases=account.releases + 1)
