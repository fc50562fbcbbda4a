"""A ledger in a PostgreSQL database, by psycopg.

Owns how it is reached, locked and made durable. All writers lock one row first, so that check
and charge are one step for each of them. Needs the extra ``ledger``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dpcov.errors import AlteredLedgerError, LedgerError, MissingExtraError
from dpcov.ledger.database import Session, command_about, how_created

__all__ = ["Postgresql"]

_PATIENCE = 120  # seconds
_CREATING = int.from_bytes(b"dpcov", "big")
_NO_TABLE, _TABLE_IS_THERE = "42P01", "42P07"
_APPEND_ONLY = (
    "CREATE FUNCTION dpcov_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'lines of a ledger are never changed'; END $$",
    "CREATE TRIGGER dpcov_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dpcov_lines "
    "FOR EACH STATEMENT EXECUTE FUNCTION dpcov_refuse()",
)


@dataclass(frozen=True)
class Postgresql:
    """A database on a server. Its address may hold a password, and is never shown."""

    address: str = field(repr=False)

    @property
    def name(self) -> str:
        """What messages call it: no user, no password, no options."""
        parts = urlsplit(self.address)
        host = (parts.netloc.rpartition("@")[2]) or "local"
        return f"postgresql://{host}{parts.path}"

    @contextmanager
    def create(self) -> Iterator[Session]:
        """Begin a ledger in a database that has none."""
        with self._transaction() as session:
            # Two who create at once come one after the other, and the second finds a table.
            session.run("SELECT pg_advisory_xact_lock(?)", _CREATING)
            session.begin("BYTEA")
            for statement in _APPEND_ONLY:
                session.run(statement)
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Begin a transaction that excludes every other writer, from its first statement on."""
        with self._transaction() as session:
            # Whoever waits here sees what the one before committed: each statement sees anew.
            session.run("SELECT one FROM dpcov_ledger WHERE one = 1 FOR UPDATE")
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Begin a transaction that sees one state, and writes nothing."""
        with self._transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY") as session:
            yield session

    @contextmanager
    def _transaction(self, mode: str = "ISOLATION LEVEL READ COMMITTED") -> Iterator[Session]:
        psycopg = _psycopg()
        connection: Any = None
        problem: LedgerError
        try:
            connection = psycopg.connect(
                self.address, autocommit=True, connect_timeout=30, application_name="dpcov ledger"
            )
            session = Session(connection, "%s", self.name)
            session.run(f"BEGIN {mode}")
            # Whatever the server's settings are: a commit is on its disk when it returns.
            session.run("SET LOCAL synchronous_commit = on")
            session.run(f"SET LOCAL lock_timeout = '{_PATIENCE}s'")
            if session.run("SHOW fsync").fetchone()[0] != "on":
                raise LedgerError(
                    f"{self.name} does not write to its disk (fsync is off). A crash would forget "
                    "what was spent."
                )
            yield session
            session.run("COMMIT")
            return
        except psycopg.Error as error:
            problem = self._explain(error)
        finally:
            if connection is not None:
                with suppress(psycopg.Error):  # what is not committed is rolled back by closing
                    connection.close()
        raise problem from None

    def _explain(self, error: Any) -> LedgerError:
        code = getattr(error, "sqlstate", None)
        if code == _NO_TABLE:
            return LedgerError(f"There is no ledger in {self.name}. {how_created(self.name)}")
        if code == _TABLE_IS_THERE:
            return LedgerError(
                f"There is a ledger in {self.name} already. A ledger is never replaced."
            )
        if code is not None and code.startswith(("22", "23", "42")):
            return AlteredLedgerError(
                f"What {self.name} holds is no ledger, or was altered. Nothing is charged to it."
            )
        return LedgerError(
            f"{self.name} cannot be reached, did not answer in time, or refused the user. Whether "
            f"the last step was committed is not known: look with "
            f"`{command_about('show', self.name)}`."
        )


def _psycopg() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError:
        raise MissingExtraError(
            "A ledger in PostgreSQL needs psycopg: pip install 'dpcov[ledger]'"
        ) from None
    return psycopg
