"""A charge: the steps of one release in a ledger, in their order.

Owns the order: reserve, say that noise is about to be drawn, draw, record. Each step is on the
disk before the next begins; a step out of order is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from dpcov.errors import AlteredLedgerError, LedgerError, UnfinishedRequestError
from dpcov.ledger.account import check_words
from dpcov.ledger.book import Reservation
from dpcov.ledger.ledger import Ledger
from dpcov.ledger.numbers import event_to_text
from dpcov.ledger.pages import Pages, kept_file
from dpcov.privacy import ApproxDP, Event

__all__ = ["LARGEST_KEPT", "Charge"]

_WAITS = (0.2, 2.0)
"""How long to wait, in seconds, before a release is recorded again."""

LARGEST_KEPT = 256 * 2**20
"""The longest file of a release that a ledger keeps for a retry, in bytes."""


class Charge:
    """One request to release, charged to the accounts of a ledger.

    Notes
    -----
    Claim P41. `begin` must have returned before a random word is drawn, and it returns only
    after a reservation of the same process was committed, and this step, too.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        what: str,
        promise: ApproxDP,
        complete: bool,
        request_id: str | None,
        stated: Mapping[str, Any],
    ) -> None:
        self.ledger, self.what, self.promise, self.complete = ledger, what, promise, complete
        self.request = secrets.token_hex(16)
        if request_id is not None:
            self.request = check_words("request_id", request_id)
        self.fingerprint = _fingerprint({"what": what, "promise": str(promise), **stated})
        self.number: int | None = None
        self.events: tuple[Event, ...] = ()
        self.may_be_reserved = False
        """Whether a reservation may stand: it does, or the database did not say."""
        self._may_draw = False
        self._process = os.getpid()

    def find_finished(self) -> bytes | None:
        """Return the file of the release if this request was finished before.

        Refuses what cannot be charged whatever it costs: another relation or unit, a request
        that was used for something else, or one for which noise may have been drawn.
        """
        with self.ledger.reading() as pages:
            found = self._comparable(pages)
            if isinstance(found, Reservation) and found.sha256 is not None:
                file = kept_file(pages, found.sha256)
        if isinstance(found, LedgerError):
            self._refuse(found)
        if found is None or found.sha256 is None:
            return None
        if file is None:
            raise LedgerError(
                f"This request was finished: line {found.finished} of the ledger. Its release is "
                f"too long to be kept there; its file has the sha256 {found.sha256}."
            )
        return file

    def reserve(self, events: Sequence[Event]) -> None:
        """Charge all that will be drawn, or refuse. It is on the disk when this returns."""
        self.events = tuple(events)
        refused: Exception | None
        self.may_be_reserved = True
        with self.ledger.writing() as pages:
            found = self._found(pages)
            if found is not None:
                self.number = self._taken_over(found)
                return
            said = self._said(pages)
            refused = self.ledger.try_charge(pages, self.what, said, request=self.request)
            if refused is None:
                number = pages.add(
                    "reservation",
                    what=self.what,
                    request=self.request,
                    fingerprint=self.fingerprint,
                    **said,
                )
        if refused is not None:
            self.may_be_reserved = False
            raise refused
        self.number = number

    def begin(self) -> None:
        """Say, before the first random word, that noise may be drawn from now on."""
        if self._may_draw:
            return
        if self.number is None:
            raise AssertionError("unreachable: noise was asked for before it was paid for")
        with self.ledger.writing() as pages:
            pages.book.reservation(self.number, "reserved")
            pages.add("drawing", reservation=self.number)
        self._may_draw = True

    def record(self, file: bytes, events: Sequence[Event], *, n_rows: int, n_columns: int) -> None:
        """Record the digest of what was released, and keep it for a retry."""
        if self.number is None or tuple(events) != self.events:
            raise AssertionError("unreachable: what was drawn is not what was paid for")
        digest = hashlib.sha256(file).hexdigest()
        shape = {"n_rows": n_rows, "n_columns": n_columns}
        for wait in _WAITS:  # a release that was paid for is worth some patience
            if self._is_recorded(self.number, file, digest, shape):
                return
            time.sleep(wait)
        self._record(self.number, file, digest, shape)

    def _is_recorded(self, number: int, file: bytes, digest: str, shape: Mapping[str, int]) -> bool:
        try:
            self._record(number, file, digest, shape)
        except AlteredLedgerError:
            raise
        except LedgerError:
            return False
        return True

    def _record(self, number: int, file: bytes, digest: str, shape: Mapping[str, int]) -> None:
        kept = len(file) <= LARGEST_KEPT
        with self.ledger.writing() as pages:
            if pages.book.reservation(number, "drawing", "finished").sha256 == digest:
                return  # it was recorded, and the answer was lost
            pages.book.reservation(number, "drawing")
            if kept:
                pages.session.keep(digest, file)
            pages.add(
                "release",
                reservation=number,
                sha256=digest,
                kept=kept,
                **shape,
            )

    def end_early(self, drawn: Sequence[Event]) -> bool:
        """Give back what is reserved beyond events that were drawn; return whether none is left.

        For the process that made the reservation, when it fails: nothing more will be drawn. A
        copy of it, which the system made by fork, gives nothing back: the other may go on.

        Notes
        -----
        Claim P41. An event for which no noise was drawn costs nothing. `drawn` holds every event
        whose noise was begun, so what stands afterwards is no less than what was spent.
        """
        if tuple(drawn) == self.events or not self.may_be_reserved:
            return True
        if bool(drawn) != self._may_draw or os.getpid() != self._process:
            return False
        with self.ledger.writing() as pages:
            if drawn:
                if self.number is None:
                    raise AssertionError("unreachable: noise was drawn before it was paid for")
                pages.book.reservation(self.number, "drawing")
                events = [event_to_text(event) for event in drawn]
                pages.add("stop", reservation=self.number, events=events)
                return True
            found = pages.book.find(self.request)
            if found is not None and found.fingerprint == self.fingerprint:
                pages.book.reservation(found.number, "reserved")
                reason = "it was refused or failed before any noise was drawn"
                pages.add("return", reservation=found.number, by="dpcov", reason=reason)
        return True

    def _comparable(self, pages: Pages) -> Reservation | LedgerError | None:
        """Return what stands of the same request, or why none can be charged."""
        try:
            for population in self.ledger.chosen(pages.book):
                pages.book.account(population).terms.check(
                    self.promise.neighbors, self.promise.privacy_unit, self.ledger.data_set
                )
            return self._found(pages)
        except LedgerError as refused:
            return refused

    def _refuse(self, refused: LedgerError) -> NoReturn:
        """Write a refusal down, before anything was reserved."""
        with self.ledger.writing() as pages:
            pages.add(
                "refusal",
                what=self.what,
                request=self.request,
                reason=str(refused),
                **self._said(pages),
            )
        raise refused

    def _found(self, pages: Pages) -> Reservation | None:
        """Return what stands of the same request; refuse one that cannot be gone on with."""
        found = pages.book.find(self.request)
        if found is None:
            return None
        if found.fingerprint != self.fingerprint or found.accounts != self.ledger.chosen(
            pages.book
        ):
            raise LedgerError(
                f"The request id {self.request!r} was used for another request: line "
                f"{found.number} of the ledger. Choose a new one."
            )
        if found.state == "drawing":
            refused = UnfinishedRequestError(
                f"The request {self.request!r} was begun before, and noise may have been drawn: "
                f"line {found.number} of the ledger is spent. If no process is at work on it, "
                "choose a new request id, which is charged again. Nothing more was spent."
            )
            refused.budget_spent = "nothing more"
            raise refused
        return found

    def _said(self, pages: Pages) -> dict[str, Any]:
        """Return the fields of a line that charges, or would have charged."""
        return self.ledger.charge_of(
            pages.book,
            self.events,
            neighbors=self.promise.neighbors,
            privacy_unit=self.promise.privacy_unit,
            complete=self.complete,
        )

    def _taken_over(self, found: Reservation) -> int:
        """Go on with a reservation that was made before: whoever draws first has it."""
        if found.state == "finished" or found.events != self.events:
            raise LedgerError(
                f"The request {self.request!r} was charged for something else, or was finished "
                "meanwhile. Try again."
            )
        return found.number


def _fingerprint(stated: Mapping[str, Any]) -> str:
    """Return a digest of what a caller states, which is public, to tell requests apart."""
    text = json.dumps(stated, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
