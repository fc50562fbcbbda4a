"""Both databases do the same: what is written is there for all, and what failed is not."""

import multiprocessing
import sqlite3

import pytest

import dpcov
from dpcov.errors import AlteredLedgerError, BudgetError, LedgerError
from dpcov.ledger.database import find_database
from dpcov.ledger.postgresql import Postgresql
from ledger.ledgers import ONE, ROWS, WHO, kinds, new, tamper

WRITTEN = """
CREATE TABLE dpcov_ledger (one INTEGER PRIMARY KEY CHECK (one = 1), schema INTEGER NOT NULL, \
lines INTEGER NOT NULL, head TEXT NOT NULL);
CREATE TABLE dpcov_lines (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL \
UNIQUE);
CREATE TABLE dpcov_releases (sha256 TEXT PRIMARY KEY, file BLOB NOT NULL);
INSERT INTO dpcov_lines VALUES (1, '{"dpcov":"0.1.0","format":"dpcov ledger","id":\
"00112233445566778899aabbccddeeff","kind":"ledger","number":1,"time":\
"2026-01-01T00:00:00+00:00","version":1}', '%s');
INSERT INTO dpcov_lines VALUES (2, '{"counting":null,"data_sets":[],"delta":\
"4722366482869645/4722366482869645213696","dpcov":"0.1.0","epsilon":"3","kind":"account",\
"neighbors":"replace","number":2,"owner":"Data office","population":"Panel 2026",\
"privacy_unit":null,"stated_delta":"0","time":"2026-01-01T00:00:00+00:00"}', '%s');
INSERT INTO dpcov_ledger VALUES (1, 1, 2, '%s');
"""
HASHES = (
    "00461de3fa3094aba00b26f565a688947d81dc0e9109e1d0024091d164d4c34a",
    "c589ee6fc6bc5f8e9f0674986dd94ef9dc3346f603619937a5089b6a2286a685",
)


@pytest.fixture
def written_once(tmp_path):
    """Give a ledger that was written once. A change of the format needs another number."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(WRITTEN % (*HASHES, HASHES[1]))
    connection.close()
    return path


def test_a_release_is_charged_and_recorded(address):
    ledger = new(address)
    first = dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")
    assert kinds(ledger)[2:] == ["reservation", "drawing", "release"]
    assert dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring") == first
    assert ledger.account().spent == 1.0


def test_a_refusal_is_written_down(address):
    ledger = new(address)
    with pytest.raises(BudgetError):
        ledger.enter("tables", epsilon=50.0)
    assert kinds(dpcov.Ledger(address))[2:] == ["refusal"]


def test_what_fails_in_the_middle_leaves_no_line(address):
    ledger = new(address)
    with pytest.raises(ZeroDivisionError):
        _fail_within(ledger)
    assert kinds(ledger) == ["ledger", "account"]
    with ledger.writing() as pages:
        pages.add("refusal", **_refusal())
    assert kinds(ledger) == ["ledger", "account", "refusal"]


def _fail_within(ledger):
    with ledger.writing() as pages:
        pages.add("refusal", **_refusal())
        _ = 1 / 0


def _refusal():
    charge = {"data_set": "", "neighbors": "replace", "privacy_unit": None, "complete": True}
    who = {"what": "release", "request": "x", "reason": "test", "accounts": ["Panel 2026"]}
    return who | charge | {"events": []}


def test_a_ledger_is_made_once(address):
    new(address)
    with pytest.raises(LedgerError, match="never replaced"):
        new(address)
    assert kinds(dpcov.Ledger(address)) == ["ledger", "account"]


def test_a_creation_that_fails_can_be_tried_again(address, monkeypatch):
    def fail(self, line):
        raise LedgerError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr("dpcov.ledger.database.Session.add", fail)
        with pytest.raises(LedgerError, match="stopped"):
            new(address)
    with pytest.raises(LedgerError, match="dpcov ledger create"):
        dpcov.Ledger(address)
    new(address)


def test_readers_see_one_state_while_somebody_writes(address):
    ledger = new(address)
    with ledger.writing() as pages:
        pages.add("refusal", **_refusal())
        if address.startswith("postgresql"):
            assert kinds(ledger) == ["ledger", "account"]


def test_a_second_writer_waits_for_the_first(address):
    ledger = new(address)
    context = multiprocessing.get_context("spawn")
    with ledger.writing() as pages:
        other = context.Process(target=_enter, args=(address,))
        other.start()
        other.join(timeout=2.0)
        assert other.is_alive()
        pages.add("refusal", **_refusal())
    other.join(timeout=300.0)
    assert other.exitcode == 0
    assert kinds(ledger)[2:] == ["refusal", "entry"]


def _enter(address):
    dpcov.Ledger(address).enter("tables", epsilon=0.1)


def test_lines_cannot_be_changed_by_accident(address):
    ledger = new(address)
    for statement in ("UPDATE dpcov_lines SET text = ''", "DELETE FROM dpcov_lines"):
        with pytest.raises(LedgerError), ledger.database.writing() as session:
            session.run(statement)
    assert ledger.verify()


def test_another_schema_is_not_touched(address):
    ledger = new(address)
    with ledger.database.writing() as session:
        session.run("UPDATE dpcov_ledger SET schema = 7 WHERE one = 1")
    with pytest.raises(LedgerError, match="schema 7"):
        kinds(ledger)


def test_a_ledger_of_this_format_is_read_and_charged(written_once):
    ledger = dpcov.Ledger(written_once)
    dpcov.release(ROWS, **ONE, ledger=ledger)
    assert ledger.account("Panel 2026").spent == 1.0
    assert ledger.verify()


def test_an_address_is_shown_without_user_and_password():
    database = find_database("postgresql://me:secret@localhost:5432/budget?sslmode=require")
    assert database == Postgresql("postgresql://me:secret@localhost:5432/budget?sslmode=require")
    assert database.name == "postgresql://localhost:5432/budget"
    assert "secret" not in repr(database)


def test_a_server_that_is_not_there_is_said_without_a_password():
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        dpcov.Ledger("postgresql://me:secret@127.0.0.1:1/budget")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    ledger = new(tmp_path / "budget.db")
    tamper(ledger.address, "PRAGMA user_version = 1")
    (tmp_path / "budget.db").rename(tmp_path / "elsewhere.db")
    with pytest.raises(LedgerError, match="There is no ledger"):
        ledger.change_limit(by=WHO["owner"], reason="x", epsilon=4.0)


def test_a_server_that_does_not_write_to_its_disk_is_refused(postgresql, monkeypatch):
    new(postgresql)
    run = dpcov.ledger.database.Session.run

    def lying(self, statement, *values):
        if statement == "SHOW fsync":
            return run(self, "SELECT 'off'")
        return run(self, statement, *values)

    monkeypatch.setattr("dpcov.ledger.database.Session.run", lying)
    with pytest.raises(LedgerError, match="fsync is off"):
        dpcov.Ledger(postgresql)


def test_a_postgresql_whose_lines_were_altered_is_refused(postgresql):
    import psycopg

    new(postgresql)
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP TRIGGER dpcov_append_only ON dpcov_lines")
        connection.execute("UPDATE dpcov_lines SET text = text || ' ' WHERE number = 2")
    with pytest.raises(AlteredLedgerError):
        dpcov.Ledger(postgresql)


def test_a_file_is_written_to_the_disk_at_every_commit(tmp_path):
    ledger = new(tmp_path / "budget.db")
    with ledger.database.writing() as session:
        assert session.run("PRAGMA synchronous").fetchone()[0] == 3  # EXTRA
        assert session.run("PRAGMA journal_mode").fetchone()[0] == "delete"


def test_of_two_who_create_at_once_one_is_refused(address):
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_create, args=(address,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=300.0)
    assert sorted(process.exitcode for process in both) == [0, 7]
    assert kinds(dpcov.Ledger(address)) == ["ledger", "account"]


def _create(address):
    try:
        new(address)
    except LedgerError as error:
        raise SystemExit(7 if "never replaced" in str(error) else 8) from None
