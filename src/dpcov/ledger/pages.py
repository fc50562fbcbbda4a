"""A ledger that is open for one step, within one transaction.

Owns how a line is added: it must be taken by the book before the database gets it.
"""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

from dpcov.errors import AlteredLedgerError
from dpcov.ledger.book import Book
from dpcov.ledger.chain import Line, next_line
from dpcov.ledger.database import Session
from dpcov.version import __version__

__all__ = ["Pages", "begun", "kept_file"]


class Pages:
    """A ledger that is open for one step: its lines, what they say, and the next one."""

    def __init__(self, session: Session, lines: list[Line]) -> None:
        self.session, self.lines = session, lines
        self.book = Book.of(lines) if lines else Book()

    def add(self, kind: str, **said: Any) -> int:
        """Add a line, and take what it says; return its number."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        whole = {"kind": kind, "time": now, "dpcov": __version__, **said}
        line = next_line(self.lines[-1] if self.lines else None, whole)
        self.book.take(line)
        self.session.add(line)
        self.lines.append(line)
        return line.number


def kept_file(pages: Pages, sha256: str) -> bytes | None:
    """Return the file of a release that is kept, if it is the one that was recorded."""
    file = pages.session.kept(sha256)
    if file is not None and hashlib.sha256(file).hexdigest() != sha256:
        raise AlteredLedgerError("A release that the ledger keeps was altered.")
    return file


def begun(lines: list[Line]) -> list[Line]:
    """Return the lines of a ledger that has some, or refuse."""
    if not lines:
        raise AlteredLedgerError("The ledger has no lines: it was altered.")
    return lines
