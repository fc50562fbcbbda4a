"""A collection in one SQLite file, by Python's own sqlite3.

Owns the tables and when reports are on the disk. Reports are kept in runs: what one commit
brought, in the order of ids. Small runs are *recent*; when there are many they are merged into
*settled* ones, which are never changed again, so that the order in which reports came is
forgotten. Large batches settle at once.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dpcov.collect.runs import merge
from dpcov.collect.sqlite_batch import Batch
from dpcov.collect.sqlite_index import RunIndex
from dpcov.collect.sqlite_runs import (
    extent,
    numbering_of,
    ordered,
    read_runs,
    write_in_order,
    write_runs,
)
from dpcov.collect.store import Facts, Outcome, State, Sums, database_option, other_schema
from dpcov.errors import CollectionError, DpcovError
from dpcov.local.plan import CollectionPlan
from dpcov.local.report import Reports

__all__ = ["FILE", "SqliteStore"]

FILE = "reports.sqlite3"
"""The name of the file in the folder of a collection."""
_SCHEMA = 1
_PATIENCE = 60.0
_TABLES = (
    "CREATE TABLE collection (one INTEGER PRIMARY KEY CHECK (one = 1), schema INTEGER NOT NULL, "
    "plan TEXT NOT NULL, simulated INTEGER NOT NULL, closed INTEGER NOT NULL, "
    "generation INTEGER NOT NULL, reports INTEGER NOT NULL)",
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, settled INTEGER NOT NULL, "
    "ids BLOB NOT NULL, payloads BLOB NOT NULL)",
    "CREATE INDEX recent ON runs (number) WHERE settled = 0",
    "CREATE TABLE sums (one INTEGER PRIMARY KEY CHECK (one = 1), through BLOB NOT NULL, "
    "reports INTEGER NOT NULL, sums BLOB NOT NULL)",
)


class SqliteStore:
    """A folder with one file in it.

    Several processes may use it at once: each transaction looks whether another one has written
    since, and then reads the index again.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._file = self.folder / FILE
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._facts: Facts | None = None
        self._index: RunIndex | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.folder)

    def create(self, facts: Facts) -> None:
        """Make a collection in a folder that has none."""
        if self._file.exists():
            raise CollectionError(f"There is a collection in {self.name} already.")
        with self._explained():
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing(self._opened("rwc")) as connection, _transaction(connection):
                for statement in _TABLES:
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO collection VALUES (1, ?, ?, ?, 0, 0, 0)",
                    (_SCHEMA, facts.plan.to_json(), facts.simulated),
                )

    def facts(self) -> Facts:
        """Return what the collection is about."""
        if self._facts is None:
            with self._session() as connection:
                schema, plan, simulated = connection.execute(
                    "SELECT schema, plan, simulated FROM collection WHERE one = 1"
                ).fetchone()
            if schema != _SCHEMA:
                raise other_schema(self.name, schema, _SCHEMA)
            self._facts = Facts(CollectionPlan.from_json(plan), bool(simulated))
        return self._facts

    def state(self) -> State:
        """Return where it is."""
        with self._session() as connection:
            reports, closed = connection.execute(
                "SELECT reports, closed FROM collection WHERE one = 1"
            ).fetchone()
        return State(int(reports), bool(closed))

    def add(self, batches: Sequence[Reports]) -> list[Outcome]:
        """Add reports in one transaction, each batch as a whole or not at all."""
        payload_bytes = self.facts().plan.payload_bytes
        with self._session() as connection:
            with _transaction(connection):
                index = self._current_index(connection)
                closed = connection.execute("SELECT closed FROM collection").fetchone()[0]
                batch = Batch(index, batches, closed=bool(closed))
                runs = [(run, True) for large in batch.large for run in index.pieces(large)]
                if len(small := batch.small(payload_bytes)):
                    runs.append((small, False))
                written = write_runs(connection, runs)
                if written:
                    _count(connection, sum(len(run) for run, _ in runs))
            # What was committed is known from now on.
            index.generation += bool(written)
            for (run, settled), number in zip(runs, written, strict=True):
                index.note(run, number, settled=settled)
            if index.is_untidy:
                with suppress(CollectionError, sqlite3.Error):  # they are on the disk as they are
                    self._settle(connection)
        return batch.outcomes

    def check_writable(self) -> None:
        """Raise if nothing could be added."""
        with self._session() as connection, _transaction(connection):
            connection.execute("UPDATE collection SET schema = schema WHERE one = 1")

    def close(self) -> None:
        """End the collection: write all reports anew in the order of ids, and the file after that.

        Runs have other numbers then, and sums that were kept are of no use any more.
        """
        plan = self.facts().plan
        with self._session() as connection:
            with _transaction(connection):
                closed, count = connection.execute(
                    "SELECT closed, reports FROM collection"
                ).fetchone()
                if not closed:
                    written = write_in_order(connection, plan, count)
                    if written != count:
                        raise CollectionError(f"{self.name} holds an id twice: it was altered.")
                    connection.execute("DELETE FROM sums")
                    connection.execute(
                        "UPDATE collection SET closed = 1, generation = generation + 1"
                    )
            self._index = None
            with suppress(sqlite3.Error):  # others may read, or the disk may have no room
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def in_order(self) -> Iterator[Reports]:
        """Yield all reports in the order of their ids, some of the leading byte at a time."""
        plan = self.facts().plan
        with self._snapshot() as connection:
            count, last = extent(connection)
            yield from ordered(connection, plan, count, last)

    def after(self, through: bytes | None) -> Iterator[tuple[Reports, bytes | None]]:
        """Yield settled runs beyond a checkpoint, then recent ones."""
        last = 0 if through is None else int.from_bytes(through[1:], "big")
        plan = self.facts().plan
        with self._snapshot() as connection:
            numbering = numbering_of(connection)
            for number, _, run in read_runs(connection, plan, "settled = 1 AND number > ?", last):
                yield run, numbering + number.to_bytes(8, "big")
            for _, _, run in read_runs(connection, plan, "settled = 0"):
                yield run, None

    def checkpoint(self) -> Sums | None:
        """Return the sums that were kept, if they are about runs as they are numbered now."""
        with self._session() as connection:
            numbering = numbering_of(connection)
            row = connection.execute("SELECT through, reports, sums FROM sums").fetchone()
        if row is None or bytes(row[0])[:1] != numbering:
            return None
        return Sums(bytes(row[0]), int(row[1]), bytes(row[2]))

    def keep(self, sums: Sums) -> None:
        """Keep sums in the place of those before."""
        with self._session() as connection, _transaction(connection):
            connection.execute(
                "INSERT OR REPLACE INTO sums VALUES (1, ?, ?, ?)",
                (sums.through, sums.reports, sums.sums),
            )

    def release_connections(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._index = None

    def _settle(self, connection: sqlite3.Connection) -> None:
        """Merge recent runs into settled ones."""
        with _transaction(connection):
            index = self._current_index(connection)
            plan = self.facts().plan
            recent = list(read_runs(connection, plan, "settled = 0"))
            if not recent:
                return
            # Ids are known once each: nothing is lost, which is checked.
            whole = merge([run for _, _, run in recent], plan.payload_bytes)
            if len(whole) != sum(len(run) for _, _, run in recent):
                raise CollectionError(f"{self.name} holds an id twice: it was altered.")
            connection.execute("DELETE FROM runs WHERE settled = 0")
            runs = [(run, True) for run in index.pieces(whole)]
            written = write_runs(connection, runs)
            connection.execute("UPDATE collection SET generation = generation + 1")
        index.generation += 1  # only now: a commit that failed is no reason to read all again
        index.forget_recent()
        for (run, settled), number in zip(runs, written, strict=True):
            index.note(run, number, settled=settled)

    def _current_index(self, connection: sqlite3.Connection) -> RunIndex:
        """Return the index, read again if another process has written."""
        generation = connection.execute("SELECT generation FROM collection").fetchone()[0]
        if self._index is None or self._index.generation != generation:
            index = RunIndex(self.facts().plan, generation, lambda number: self._run(number))
            settled = []
            for number, is_settled, run in read_runs(connection, self.facts().plan):
                if is_settled:
                    settled.append((run.ids, number))
                else:
                    index.note(run, number, settled=False)
            index.note_settled(settled)
            self._index = index
        return self._index

    def _run(self, number: int) -> Reports:
        """Return one run, within the transaction that is open."""
        if self._connection is None:
            raise AssertionError("unreachable: a run is read within a transaction")
        plan = self.facts().plan
        for _, _, run in read_runs(self._connection, plan, "number = ?", number):
            return run
        raise CollectionError(f"{self.name} lost a run of reports: it was altered.")

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._explained():
            if self._connection is None:
                if not self._file.exists():
                    raise CollectionError(
                        f"There is no collection in {self.name}. A new one is made by: dpcov "
                        f"collect serve PLAN{database_option(self.name)}"
                    )
                self._connection = self._opened("rw")
            try:
                yield self._connection
            except BaseException:
                # What was noted may not be what is on the disk.
                self._index = None
                raise

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Give a connection of its own that sees one state, whatever is written meanwhile."""
        self.facts()
        with self._explained(), closing(self._opened("rw")) as connection:
            connection.execute("BEGIN")
            yield connection

    def _opened(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._file.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # A commit is on the disk when it returns.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        problem = ""
        try:
            yield
            return
        except DpcovError:
            raise
        except sqlite3.OperationalError as error:
            said = str(error)
            if "locked" in said:
                problem = f"{self.name} is in use by others. Try again."
            elif "no such table" in said or "no such column" in said:
                problem = f"{self.name} holds no collection, or it was altered."
            else:
                problem = f"{self.name} cannot be used: it cannot be written, or the disk is full."
        except sqlite3.DatabaseError:
            problem = f"{self.name} is damaged, or no collection."
        except OSError as error:
            problem = f"{self.name} cannot be used: {error.strerror or 'the system refuses'}."
        raise CollectionError(problem) from None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _count(connection: sqlite3.Connection, more: int) -> None:
    connection.execute(
        "UPDATE collection SET reports = reports + ?, generation = generation + 1", (more,)
    )
