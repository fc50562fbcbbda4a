"""A collection in a PostgreSQL database, by psycopg: for several workers or machines.

Owns the tables and the transactions. Each report is a row with its id as the key; the database
decides who was first. Rows travel in the binary form of COPY, whose rows all have one length.
Needs the extra ``server``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from dpcov.collect.runs import each_once, join, places_of
from dpcov.collect.store import Facts, Outcome, State, Sums, database_option, other_schema
from dpcov.errors import CollectionError, MissingExtraError
from dpcov.local.plan import ID_BYTES, CollectionPlan
from dpcov.local.report import Reports

__all__ = ["PostgresqlStore"]

_SCHEMA = 1
_CREATING = int.from_bytes(b"dpcov2", "big")
_NO_TABLE = "42P01"
_PATIENCE = 60  # seconds
_TABLES = (
    "CREATE TABLE dpcov_collection (one INTEGER PRIMARY KEY CHECK (one = 1), "
    "schema INTEGER NOT NULL, plan TEXT NOT NULL, simulated BOOLEAN NOT NULL, "
    "closed BOOLEAN NOT NULL)",
    "CREATE TABLE dpcov_reports (id BYTEA PRIMARY KEY, payload BYTEA NOT NULL)",
    "CREATE TABLE dpcov_sums (one INTEGER PRIMARY KEY CHECK (one = 1), through BYTEA NOT NULL, "
    "reports BIGINT NOT NULL, sums BYTEA NOT NULL)",
)
_SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_END = b"\xff\xff"
_BLOCK_BYTES = 1 << 24
_FEW = 500  # reports that are sent as parameters


class PostgresqlStore:
    """A database on a server. Its address may hold a password, and is never shown."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.RLock()
        self._connection: Any = None
        self._facts: Facts | None = None

    @property
    def name(self) -> str:
        """What messages call it: no user, no password, no options."""
        parts = urlsplit(self._address)
        host = (parts.netloc.rpartition("@")[2]) or "local"
        return f"postgresql://{host}{parts.path}"

    def create(self, facts: Facts) -> None:
        """Make a collection in a database that has none."""
        with self._transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
            there = connection.execute("SELECT to_regclass('dpcov_collection')").fetchone()[0]
            if there is not None:
                raise CollectionError(f"There is a collection in {self.name} already.")
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO dpcov_collection VALUES (1, %s, %s, %s, FALSE)",
                (_SCHEMA, facts.plan.to_json(), facts.simulated),
            )

    def facts(self) -> Facts:
        """Return what the collection is about."""
        if self._facts is None:
            with self._transaction() as connection:
                schema, plan, simulated = connection.execute(
                    "SELECT schema, plan, simulated FROM dpcov_collection"
                ).fetchone()
            if schema != _SCHEMA:
                raise other_schema(self.name, schema, _SCHEMA)
            self._facts = Facts(CollectionPlan.from_json(plan), simulated)
        return self._facts

    def state(self) -> State:
        """Return where it is."""
        with self._transaction() as connection:
            closed = connection.execute("SELECT closed FROM dpcov_collection").fetchone()[0]
            reports = connection.execute("SELECT count(*) FROM dpcov_reports").fetchone()[0]
        return State(reports, closed)

    def add(self, batches: Sequence[Reports]) -> list[Outcome]:
        """Add reports, all batches in one transaction if none of them is in another's way."""
        once = [each_once(batch) for batch in batches]
        whole = [run for run in once if run is not None]
        if len(whole) == len(batches):
            together = each_once(join(whole, self.facts().plan.payload_bytes))
            if together is not None and self._add(together) is Outcome.ACCEPTED:
                return [Outcome.ACCEPTED] * len(batches)
        # One of them is a conflict, or comes too late: find out which.
        return [Outcome.CONFLICT if run is None else self._add(run) for run in once]

    def check_writable(self) -> None:
        """Raise if nothing could be added."""
        with self._transaction() as connection:
            row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
            if row[0]:
                raise CollectionError(f"{self.name} cannot be written: it is a copy.")
            connection.execute("SELECT 1 FROM dpcov_collection")

    def close(self) -> None:
        """End the collection, and write the rows anew in the order of ids, all at once.

        The database notes with each row which transaction wrote it, and CLUSTER keeps that: it
        would tell the order in which reports came.
        """
        with self._transaction() as connection:
            connection.execute("UPDATE dpcov_collection SET closed = TRUE")
        with self._transaction() as connection:
            # Whoever adds waits: for a moment there are no rows.
            connection.execute("SELECT 1 FROM dpcov_collection FOR UPDATE")
            connection.execute(
                "CREATE TEMPORARY TABLE dpcov_anew ON COMMIT DROP AS SELECT * FROM dpcov_reports"
            )
            connection.execute("TRUNCATE dpcov_reports")
            connection.execute("INSERT INTO dpcov_reports SELECT * FROM dpcov_anew ORDER BY id")

    def in_order(self) -> Iterator[Reports]:
        """Yield all reports in the order of their ids."""
        yield from self._read("SELECT id, payload FROM dpcov_reports ORDER BY id")

    def after(self, through: bytes | None) -> Iterator[tuple[Reports, bytes | None]]:
        """Yield reports beyond a checkpoint. While others may come between them there is none."""
        closed = self.state().closed
        beyond = through if closed and through else b""
        query = (
            f"SELECT id, payload FROM dpcov_reports WHERE id > '\\x{beyond.hex()}' "  # noqa: S608
            "ORDER BY id"
        )
        for block in self._read(query):
            yield block, block.ids[-1].tobytes() if closed else None

    def checkpoint(self) -> Sums | None:
        """Return the sums that were kept: of a closed collection, since ids come in any order."""
        with self._transaction() as connection:
            row = connection.execute("SELECT through, reports, sums FROM dpcov_sums").fetchone()
        return None if row is None else Sums(bytes(row[0]), row[1], bytes(row[2]))

    def keep(self, sums: Sums) -> None:
        """Keep sums in the place of those before."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM dpcov_sums")
            connection.execute(
                "INSERT INTO dpcov_sums VALUES (1, %s, %s, %s)",
                (sums.through, sums.reports, sums.sums),
            )

    def release_connections(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._connection is not None:
                with suppress(Exception):
                    self._connection.close()
            self._connection = None

    def _add(self, run: Reports) -> Outcome:
        """Add a run with each id once, as a whole or not at all."""
        with self._transaction() as connection:
            # Closing waits for this transaction, and this one for closing.
            closed = connection.execute("SELECT closed FROM dpcov_collection FOR SHARE").fetchone()[
                0
            ]
            outcome = Outcome.ACCEPTED
            new = 0 if closed else self._insert(connection, run)
            if new < len(run):
                known = self._known(connection, run)
                at = places_of(run.ids, known)
                there = np.flatnonzero(at >= 0)
                if not np.array_equal(run.payloads[there], known.payloads[at[there]]):
                    outcome = Outcome.CONFLICT
                elif len(there) < len(run):
                    outcome = Outcome.CLOSED
            if outcome is not Outcome.ACCEPTED:
                connection.execute("ROLLBACK")
            return outcome

    def _insert(self, connection: Any, run: Reports) -> int:
        """Insert the reports that are not there, and return how many these were."""
        # In the order of ids: two who insert the same ones wait for each other once.
        if len(run) <= _FEW:
            cursor = connection.execute(
                "INSERT INTO dpcov_reports SELECT * FROM unnest(%b::bytea[], %b::bytea[]) "
                "ON CONFLICT DO NOTHING",
                (_rows(run.ids), _rows(run.payloads)),
            )
            return int(cursor.rowcount)
        _copy_to_table(connection, run)
        cursor = connection.execute(
            "INSERT INTO dpcov_reports SELECT id, payload FROM dpcov_new ORDER BY id "
            "ON CONFLICT DO NOTHING"
        )
        return int(cursor.rowcount)

    def _known(self, connection: Any, run: Reports) -> Reports:
        _copy_to_table(connection, run)
        parts = list(
            _copy_from(
                connection,
                "SELECT r.id, r.payload FROM dpcov_reports r JOIN dpcov_new n ON r.id = n.id "
                "ORDER BY r.id",
                self.facts().plan.payload_bytes,
            )
        )
        return join(parts, self.facts().plan.payload_bytes)

    def _read(self, query: str) -> Iterator[Reports]:
        """Yield what a query finds, over a connection of its own, in one state."""
        payload_bytes = self.facts().plan.payload_bytes
        other = PostgresqlStore(self._address)
        try:
            with other._transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
                # What is seen is decided behind this lock: not while rows are written anew.
                connection.execute("LOCK TABLE dpcov_reports IN ACCESS SHARE MODE")
                yield from _copy_from(connection, query, payload_bytes)
        finally:
            other.release_connections()

    @contextmanager
    def _transaction(self, mode: str = "ISOLATION LEVEL READ COMMITTED") -> Iterator[Any]:
        psycopg = _psycopg()
        problem: CollectionError
        with self._lock:
            try:
                connection = self._connected(psycopg)
                connection.execute(f"BEGIN {mode}")
                yield connection
                connection.execute("COMMIT")
                return
            except psycopg.Error as error:
                problem = self._explain(error)
                self.release_connections()
            except BaseException:
                self.release_connections()  # and with it roll back
                raise
        raise problem from None

    def _connected(self, psycopg: Any) -> Any:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._address,
                autocommit=True,
                connect_timeout=30,
                application_name="dpcov collection",
            )
            # Whatever the server's settings are: a commit is on its disk when it returns.
            self._connection.execute("SET synchronous_commit = on")
            self._connection.execute(f"SET lock_timeout = '{_PATIENCE}s'")
            if self._connection.execute("SHOW fsync").fetchone()[0] != "on":
                raise CollectionError(
                    f"{self.name} does not write to its disk (fsync is off). A crash would lose "
                    "reports that were accepted."
                )
        return self._connection

    def _explain(self, error: Any) -> CollectionError:
        if getattr(error, "sqlstate", None) == _NO_TABLE:
            return CollectionError(
                f"There is no collection in {self.name}. A new one is made by: dpcov collect "
                f"serve PLAN{database_option(self.name)}"
            )
        return CollectionError(
            f"{self.name} cannot be reached, did not answer in time, or refused the user."
        )


def _copy_to_table(connection: Any, run: Reports) -> None:
    """Fill a table of this connection with reports, in place of what was in it."""
    connection.execute(
        "CREATE TEMPORARY TABLE IF NOT EXISTS dpcov_new (id BYTEA, payload BYTEA) "
        "ON COMMIT DELETE ROWS"
    )
    connection.execute("TRUNCATE dpcov_new")
    width = run.payloads.shape[1]
    rows = np.empty((len(run), 2 + 4 + ID_BYTES + 4 + width), dtype=np.uint8)
    rows[:, :2] = _big_endian(2, 2)
    rows[:, 2:6] = _big_endian(ID_BYTES, 4)
    rows[:, 6:22] = run.ids
    rows[:, 22:26] = _big_endian(width, 4)
    rows[:, 26:] = run.payloads
    with connection.cursor().copy("COPY dpcov_new FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(_SIGNATURE)
        step = max(1, _BLOCK_BYTES // rows.shape[1])
        for start in range(0, len(rows), step):
            copy.write(rows[start : start + step].tobytes())
        copy.write(_END)


def _copy_from(connection: Any, query: str, payload_bytes: int) -> Iterator[Reports]:
    """Yield the ids and payloads that a query finds."""
    size = 2 + 4 + ID_BYTES + 4 + payload_bytes
    left = bytearray()
    begun = False
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)") as copy:
        for piece in copy:
            left += piece
            if not begun and len(left) >= len(_SIGNATURE):
                del left[: len(_SIGNATURE)]
                begun = True
            if begun and len(left) >= _BLOCK_BYTES:
                whole = len(left) // size * size
                yield _read_rows(bytes(left[:whole]), size)
                del left[:whole]
    whole = len(left) // size * size
    if whole:
        yield _read_rows(bytes(left[:whole]), size)
    if bytes(left[whole:]) != _END:
        raise CollectionError("The database sent reports of another length: it was altered.")


def _read_rows(octets: bytes, size: int) -> Reports:
    rows = np.frombuffer(octets, dtype=np.uint8).reshape(-1, size)
    lengths = np.concatenate([_big_endian(2, 2), _big_endian(ID_BYTES, 4)])
    if (rows[:, :6] != lengths).any() or (rows[:, 22:26] != _big_endian(size - 26, 4)).any():
        raise CollectionError("The database sent reports of another length: it was altered.")
    return Reports(rows[:, 6:22], rows[:, 26:])


def _rows(table: npt.NDArray[np.uint8]) -> list[bytes]:
    return [row.tobytes() for row in table]


def _big_endian(value: int, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(value.to_bytes(size, "big"), dtype=np.uint8)


def _psycopg() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError:
        raise MissingExtraError(
            "A collection in PostgreSQL needs psycopg: pip install 'dpcov[server]'"
        ) from None
    return psycopg
