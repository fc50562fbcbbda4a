"""Commits are on the disk; closing, adding and reading do not get into each other's way."""

import asyncio
import sqlite3
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from collect.people import PLAIN, made_up, released
from databases import empty_database
from dpcov.collect import Collection, Outcome, postgresql_store, sqlite_index, sqlite_store, summing
from dpcov.collect.service import arrivals
from dpcov.errors import CollectionError

ACCEPTED, CONFLICT = Outcome.ACCEPTED, Outcome.CONFLICT


@pytest.fixture
def database():
    with empty_database() as address:
        yield address


def in_thread(work):
    """Begin work; give what it returns, in a list, and its thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    return found, thread


def test_sqlite_writes_to_the_disk_before_it_says_so(tmp_path, monkeypatch):
    opened, real = [], sqlite3.connect

    def connect(*values, **options):
        opened.append(real(*values, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    with Collection.create(tmp_path, PLAIN) as collection:
        collection.add_many(made_up(PLAIN, 2))
        settings = {
            name: opened[-1].execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1}


def test_postgresql_writes_to_the_disk_whatever_its_default_is(database):
    import psycopg

    name = database.rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    with Collection.create(database, PLAIN) as collection:
        collection.add_many(made_up(PLAIN, 2))
        with collection._store._transaction() as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone()[0] == "on"


def test_a_postgresql_that_does_not_write_to_its_disk_is_refused(monkeypatch):
    class Careless:
        def execute(self, statement, *_):
            return SimpleNamespace(fetchone=lambda: ["off"])

        def close(self):
            pass

    careless = SimpleNamespace(connect=lambda *_, **__: Careless(), Error=sqlite3.Error)
    monkeypatch.setattr(postgresql_store, "_psycopg", lambda: careless)
    with pytest.raises(CollectionError, match="fsync is off"):
        Collection.create("postgresql://somewhere/x", PLAIN)


def test_closing_waits_for_reports_that_are_being_added(database, monkeypatch):
    reports = made_up(PLAIN, 4)
    inside, go_on, insert = threading.Event(), threading.Event(), postgresql_store._rows

    def slowly(table):
        inside.set()
        go_on.wait(20)
        return insert(table)

    with Collection.create(database, PLAIN) as adding, Collection.open(database) as admin:
        monkeypatch.setattr(postgresql_store, "_rows", slowly)
        outcome, adder = in_thread(lambda: adding.add_many(reports))
        assert inside.wait(20)
        _, closer = in_thread(admin.close)
        time.sleep(0.5)
        with Collection.open(database) as watching:
            was_closed = watching.state.closed
        go_on.set()
        adder.join()
        closer.join()
        assert not was_closed
        assert outcome == [ACCEPTED]
        assert np.array_equal(admin.release().matrix, released(PLAIN, reports).matrix)


def test_rows_that_are_written_anew_are_never_missed(database):
    import psycopg

    reports = made_up(PLAIN, 5)
    with (
        Collection.create(database, PLAIN) as one,
        Collection.open(database) as two,
        Collection.open(database) as admin,
    ):
        one.add_many(reports)
        with psycopg.connect(database) as reader:
            reader.execute("LOCK TABLE dpcov_reports IN ACCESS SHARE MODE")
            _, closer = in_thread(admin.close)
            time.sleep(0.5)  # closing waits before it takes the rows away
            known, adder = in_thread(lambda: one.add(reports[0].tobytes()))
            read, other = in_thread(two.digest)
            time.sleep(0.5)
        for thread in (closer, adder, other):
            thread.join()
        assert known == [ACCEPTED]
        assert read == [admin.digest()]
        assert admin.state.reports == 5


def test_who_reads_sees_one_state_whatever_comes_meanwhile(address, monkeypatch):
    monkeypatch.setattr(sqlite_index, "_MOST_RECENT", 20)
    monkeypatch.setattr(sqlite_store, "_PATIENCE", 0.2)
    reports = made_up(PLAIN, 100)
    with Collection.create(address, PLAIN) as one, Collection.open(address) as other:
        for part in np.split(reports[:50], 10):
            one.add_many(part)
        reading = one._store.after(None)
        found = [next(reading)]
        other.add_many(reports[50:])
        if not address.startswith("postgresql"):  # closing waits for readers there
            other.close()
        found += list(reading)
    assert sum(len(run) for run, _ in found) == 50


class Failing(sqlite3.Connection):
    """A connection whose commit fails once, behind a statement that begins in some way."""

    behind, was_said = "", False

    def execute(self, statement, *values):
        Failing.was_said |= bool(Failing.behind) and statement.startswith(Failing.behind)
        if statement == "COMMIT" and Failing.was_said:
            Failing.behind, Failing.was_said = "", False
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(statement, *values)


@pytest.mark.parametrize("behind", ["DELETE FROM runs", "INSERT INTO runs"])
def test_a_commit_that_fails_does_not_hide_what_others_write(tmp_path, monkeypatch, behind):
    reports = made_up(PLAIN, 3)
    real = sqlite3.connect
    Collection.create(tmp_path, PLAIN).disconnect()
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, factory=Failing, **k))
    with Collection.open(tmp_path) as one, Collection.open(tmp_path) as other:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_index, "_MOST_RECENT", 2)
            patch.setattr(Failing, "behind", behind)
            if behind.startswith("DELETE"):
                assert one.add_many(reports[:2]) is ACCEPTED  # settles, and that fails
            else:
                with pytest.raises(CollectionError, match="disk is full"):
                    one.add_many(reports[:2])
            assert Failing.behind == ""
        assert other.add(reports[2].tobytes()) is ACCEPTED
        changed = reports[2].copy()
        changed[-1] ^= 1
        assert one.add(changed.tobytes()) is CONFLICT
        assert one.add_many(reports) is ACCEPTED
        assert one.state.reports == 3


def test_reports_that_come_while_others_are_added_up_are_noticed(address, monkeypatch):
    reports = made_up(PLAIN, 3)
    digest = Collection.digest

    def late(self):
        with Collection.open(address) as other:
            other.add(reports[2].tobytes())
        return digest(self)

    with Collection.create(address, PLAIN) as collection:
        collection.add_many(reports[:2])
        monkeypatch.setattr(Collection, "digest", late)
        with pytest.raises(CollectionError, match="came while they were added up"):
            collection.release(interim=True)


def test_sums_that_are_not_those_of_the_reports_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(summing, "_APART", 1)
    with Collection.create(tmp_path, PLAIN) as collection:
        collection.add_many(made_up(PLAIN, 20))
        collection.close()
        collection.release()
        with sqlite3.connect(tmp_path / sqlite_store.FILE) as connection:
            connection.execute("UPDATE sums SET reports = 21")
        connection.close()
        with pytest.raises(CollectionError, match="not those of its reports"):
            collection.release()


def test_large_batches_of_one_commit_know_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcov.collect.sqlite_batch.LARGE", 2)
    reports = made_up(PLAIN, 4)
    changed = reports.copy()
    changed[:, -1] ^= 1
    with Collection.create(tmp_path, PLAIN) as collection:
        batches = [reports[:3], reports[1:], changed[:2], reports[:1]]
        found = collection.add_batches([collection.parse(batch) for batch in batches])
        assert found == [ACCEPTED, ACCEPTED, CONFLICT, ACCEPTED]
        assert collection.state.reports == 4
        assert collection.release(interim=True).n_rows == 4


def test_nothing_is_left_of_where_many_reports_were_before(tmp_path):
    reports = made_up(PLAIN, 400)
    with Collection.create(tmp_path, PLAIN) as collection:
        for report in reports:
            collection.add(report.tobytes())
        collection.close()
    octets = b"".join(file.read_bytes() for file in list(tmp_path.iterdir()))
    found = [octets.count(report[18:34].tobytes()) for report in reports]
    assert set(found) <= {0, 1}  # an id may go over the end of a page
    assert sum(found) > 390


def test_who_waits_for_a_commit_is_answered_and_commits_have_a_size(monkeypatch):
    monkeypatch.setattr(arrivals, "_MOST_TOGETHER", 4)
    reports, sizes = made_up(PLAIN, 2), []

    def add(batches):
        sizes.append(sum(map(len, batches)))
        time.sleep(0.02)
        return [ACCEPTED] * len(batches)

    async def submit_all():
        queue = arrivals.Arrivals(add)
        waiting = [queue.submit(reports) for _ in range(7)]
        try:
            return await asyncio.wait_for(asyncio.gather(*waiting), 10)
        finally:
            await queue.end()

    assert asyncio.run(submit_all()) == [ACCEPTED] * 7
    assert sizes == [4, 4, 4, 2]
