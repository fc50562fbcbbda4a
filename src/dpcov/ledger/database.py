"""Databases: what a ledger asks of one, whichever it is.

Owns the statements that read and add lines within a transaction, the protocol that SQLite and
PostgreSQL fulfill, and which of them an address means.
"""

from __future__ import annotations

import os
import shlex
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from dpcov.errors import AlteredLedgerError, LedgerError
from dpcov.ledger import schema
from dpcov.ledger.chain import Line, check_chain

__all__ = [
    "Database",
    "Session",
    "command_about",
    "find_database",
    "how_created",
]


class Database(Protocol):
    """A database that holds at most one ledger."""

    @property
    def name(self) -> str:
        """What messages call it: no password."""

    def create(self) -> AbstractContextManager[Session]:
        """Begin a ledger where there is none; it is there when the block ends well."""

    def writing(self) -> AbstractContextManager[Session]:
        """Begin a transaction that excludes every other writer, from its first statement on.

        What was added is on the disk when the block ends well, and gone if it does not.
        """

    def reading(self) -> AbstractContextManager[Session]:
        """Begin a transaction that sees one state, and writes nothing."""


def command_about(word: str, name: str) -> str:
    """Return a command about the ledger that messages call so, as it can be typed.

    Examples
    --------
    >>> command_about("show", "our budget.db")
    "dpcov ledger show 'our budget.db'"
    """
    address = name.replace("postgresql://local/", "postgresql:///", 1)
    return f"dpcov ledger {word} {shlex.quote(address)}"


def how_created(name: str) -> str:
    """Say how a ledger is made where there is none."""
    return (
        f"`{command_about('create', name)} --population POPULATION --owner OWNER --epsilon LIMIT "
        "--delta LIMIT` makes a new one."
    )


@dataclass(frozen=True)
class Session:
    """The statements within one transaction."""

    connection: Any
    placeholder: str
    name: str

    def run(self, statement: str, *values: Any) -> Any:
        """Run a statement; ``?`` stands for a value."""
        return self.connection.execute(statement.replace("?", self.placeholder), values)

    def schema(self) -> int:
        """Return the version of the schema, or refuse what is no ledger."""
        row = self.run("SELECT schema FROM dpcov_ledger WHERE one = 1").fetchone()
        if row is None or not isinstance(row[0], int):
            raise AlteredLedgerError("The ledger does not say which version it has.")
        version: int = row[0]
        return version

    def lines(self) -> list[Line]:
        """Return all lines, checked."""
        if (found := self.schema()) != schema.VERSION:
            raise LedgerError(
                f"The ledger has schema {found}, and this version of dpcov reads "
                f"{schema.VERSION} alone. Use the version of dpcov that made it."
            )
        count, head = self.run("SELECT lines, head FROM dpcov_ledger WHERE one = 1").fetchone()
        found = self.run("SELECT number, text, hash FROM dpcov_lines ORDER BY number").fetchall()
        return check_chain((Line(*row) for row in found), count=count, head=head)

    def add(self, line: Line) -> None:
        """Add a line at the end."""
        self.run(
            "INSERT INTO dpcov_lines (number, text, hash) VALUES (?, ?, ?)",
            line.number,
            line.text,
            line.hash,
        )
        self.run(
            "UPDATE dpcov_ledger SET lines = ?, head = ? WHERE one = 1", line.number, line.hash
        )

    def keep(self, sha256: str, file: bytes) -> None:
        """Keep the file of a release."""
        if self.kept(sha256) is None:
            self.run("INSERT INTO dpcov_releases (sha256, file) VALUES (?, ?)", sha256, file)

    def kept(self, sha256: str) -> bytes | None:
        """Return the file of a release, if it was kept."""
        row = self.run("SELECT file FROM dpcov_releases WHERE sha256 = ?", sha256).fetchone()
        return None if row is None else bytes(row[0])

    def begin(self, bytes_type: str) -> None:
        """Make the tables, without a line in them."""
        for statement in schema.TABLES:
            self.run(statement.format(bytes=bytes_type))
        self.run(
            "INSERT INTO dpcov_ledger (one, schema, lines, head) VALUES (1, ?, 0, '')",
            schema.VERSION,
        )


def find_database(address: str | os.PathLike[str]) -> Database:
    """Return the database that an address means: a path, or ``postgresql://…``."""
    text = os.fspath(address)
    if text.startswith(("postgresql://", "postgres://")):
        from dpcov.ledger.postgresql import Postgresql

        return Postgresql(text)
    if "://" in text:
        raise LedgerError(
            "A ledger is a file, or the address of a PostgreSQL database: postgresql://…"
        )
    from dpcov.ledger.sqlite import Sqlite

    return Sqlite(text)
