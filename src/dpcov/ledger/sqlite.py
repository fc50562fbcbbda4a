"""A ledger in one file: SQLite, by Python's own sqlite3.

Owns how the file is opened, locked and made durable. Only `create` makes one.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpcov.errors import AlteredLedgerError, LedgerError
from dpcov.ledger.database import Session, how_created
from dpcov.writing import give_free_name, sync_folder

__all__ = ["Sqlite"]

_PATIENCE = 120.0
_MAGIC = b"SQLite format 3\x00"
_APPEND_ONLY = tuple(
    f"CREATE TRIGGER dpcov_no_{word.lower()} BEFORE {word} ON dpcov_lines "
    "BEGIN SELECT RAISE(ABORT, 'lines of a ledger are never changed'); END"
    for word in ("UPDATE", "DELETE")
)


@dataclass(frozen=True)
class Sqlite:
    """A file."""

    path: str

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path

    @contextmanager
    def create(self) -> Iterator[Session]:
        """Begin a ledger where there is no file: beside its place first, then it gets its name."""
        place = Path(self.path)
        if place.exists() or place.is_symlink():
            raise LedgerError(f"{self.path} is there already. A ledger is never replaced.")
        aside = Path(f"{self.path}.{secrets.token_hex(8)}.new")
        try:
            with self._opened(str(aside), "rwc") as session:
                session.run("BEGIN IMMEDIATE")
                session.begin("BLOB")
                for statement in _APPEND_ONLY:
                    session.run(statement)
                yield session
                session.run("COMMIT")
            give_free_name(aside, place)  # never replaces what came in between
            sync_folder(place.parent)
        except FileExistsError:
            raise LedgerError(
                f"{self.path} is there already. A ledger is never replaced."
            ) from None
        except OSError as error:
            raise LedgerError(
                f"{self.path} cannot be written: {error.strerror or 'the system refuses'}."
            ) from None
        finally:
            for left in (aside, Path(f"{aside}-journal")):
                with suppress(OSError):
                    left.unlink()

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Begin a transaction that excludes every other writer, from its first statement on."""
        with self._found() as session:
            session.run("BEGIN IMMEDIATE")
            try:
                yield session
                session.run("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    session.run("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Begin a transaction that sees one state, and writes nothing."""
        with self._found() as session:
            session.run("BEGIN")
            try:
                yield session
            finally:
                with suppress(sqlite3.Error):
                    session.run("ROLLBACK")

    @contextmanager
    def _found(self) -> Iterator[Session]:
        """Open a file that is there. An empty one would be a new database to SQLite."""
        try:
            with Path(self.path).open("rb") as file:
                begins = file.read(len(_MAGIC))
        except FileNotFoundError:
            raise LedgerError(f"There is no ledger {self.path}. {how_created(self.path)}") from None
        except OSError as error:
            raise LedgerError(
                f"{self.path} cannot be read: {error.strerror or 'the system refuses'}."
            ) from None
        if begins != _MAGIC:
            raise AlteredLedgerError(
                f"{self.path} is no ledger, or was altered. Nothing is charged to it."
            )
        with self._opened(self.path, "rw") as session:
            yield session

    @contextmanager
    def _opened(self, path: str, mode: str) -> Iterator[Session]:
        connection: sqlite3.Connection | None = None
        problem: LedgerError
        try:
            connection = sqlite3.connect(
                f"{Path(path).absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_PATIENCE,
                isolation_level=None,
            )
            # A commit is on the disk when it returns, the end of its journal in the folder too.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            yield Session(connection, "?", self.name)
            return
        except sqlite3.OperationalError as error:
            problem = LedgerError(_explain(self.path, str(error)))
        except sqlite3.DatabaseError:
            problem = AlteredLedgerError(
                f"{self.path} is damaged, or no ledger. Nothing is charged to it."
            )
        finally:
            if connection is not None:
                connection.close()
        raise problem from None


def _explain(path: str, said: str) -> str:
    if "locked" in said:
        return f"{path} is in use by others for more than {_PATIENCE:g} s. Try again."
    if "no such table" in said or "no such column" in said:
        return f"{path} is no ledger, or was altered. Nothing is charged to it."
    return f"{path} cannot be used: the file or its folder cannot be written, or the disk is full."
