import hashlib
import sqlite3
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from collect.people import GAUSSIAN, PLAIN, PLAN, made_up, released
from databases import empty_database
from dpcov import local
from dpcov.collect import (
    Collection,
    Outcome,
    merge_collections,
    sqlite_batch,
    sqlite_index,
    summing,
)
from dpcov.collect.runs import places_of, sort_run
from dpcov.collect.sqlite_store import FILE, SqliteStore
from dpcov.errors import (
    CollectionError,
    ForeignReportError,
    MalformedReportError,
    ParameterError,
    ReportError,
)
from dpcov.local.report import Reports
from dpcov.privacy import Pure

ACCEPTED, CONFLICT, CLOSED = Outcome.ACCEPTED, Outcome.CONFLICT, Outcome.CLOSED


@pytest.fixture
def small_runs(monkeypatch):
    """Let runs settle after some reports, so that all ways through the store are taken."""
    monkeypatch.setattr(sqlite_index, "LARGE", 40)
    monkeypatch.setattr(sqlite_batch, "LARGE", 40)
    monkeypatch.setattr(sqlite_index, "_MOST_RECENT", 100)
    monkeypatch.setattr(sqlite_index, "_RUN_REPORTS", 64)
    monkeypatch.setattr(summing, "_APART", 128)


@pytest.fixture
def opened():
    """Give what opens a collection for the time of a test."""
    with ExitStack() as stack:
        yield stack.enter_context


def with_other_payload(report):
    other = report.copy()
    other[..., -1] ^= 1
    return other


@pytest.mark.parametrize("plan", [PLAIN, PLAN, GAUSSIAN])
def test_reports_are_counted_once_and_released_to_the_bit(address, plan):
    reports = made_up(plan, 60)
    with Collection.create(address, plan) as collection:
        assert collection.add(reports[0].tobytes()) is ACCEPTED
        assert collection.add(reports[0].tobytes()) is ACCEPTED
        assert collection.add_many(reports[:40]) is ACCEPTED
        assert collection.add_many(reports) is ACCEPTED
        assert collection.state.reports == 60
        collection.close()
        release = collection.release()
    truth = released(plan, reports)
    assert np.array_equal(release.matrix, truth.matrix)
    assert release.n_rows == 60
    assert release.noise_scale == truth.noise_scale
    assert release.promise == truth.promise


@pytest.mark.claim("P51")
def test_a_known_id_with_other_bytes_is_a_conflict_and_adds_nothing(address):
    reports = made_up(PLAIN, 5)
    with Collection.create(address, PLAIN) as collection:
        assert collection.add_many(reports[:3]) is ACCEPTED
        mixed = np.concatenate([reports[3:], with_other_payload(reports[:1])])
        assert collection.add_many(mixed) is CONFLICT
        assert collection.add(with_other_payload(reports[1]).tobytes()) is CONFLICT
        assert collection.state.reports == 3
        twice = np.concatenate([reports[4:], with_other_payload(reports[4:])])
        assert collection.add_many(twice) is CONFLICT
        assert collection.add_many(np.concatenate([reports[4:], reports[4:]])) is ACCEPTED
        assert collection.state.reports == 4


def test_batches_of_one_commit_know_each_other(address):
    reports = made_up(PLAIN, 4)
    with Collection.create(address, PLAIN) as collection:
        batches = [
            reports[:2],
            reports[1:3],
            with_other_payload(reports[2:3]),
            np.concatenate([reports[3:], with_other_payload(reports[:1])]),
            reports[3:],
        ]
        found = collection.add_batches([collection.parse(batch) for batch in batches])
        assert found == [ACCEPTED, ACCEPTED, CONFLICT, CONFLICT, ACCEPTED]
        assert collection.state.reports == 4


def test_closing_is_final_and_known_reports_are_confirmed(address):
    reports = made_up(PLAIN, 4)
    with Collection.create(address, PLAIN) as collection:
        collection.add_many(reports[:3])
        collection.close()
        collection.close()
        assert collection.add(reports[0].tobytes()) is ACCEPTED
        assert collection.add(with_other_payload(reports[0]).tobytes()) is CONFLICT
        assert collection.add(reports[3].tobytes()) is CLOSED
        assert collection.add_many(reports) is CLOSED
        assert collection.state.reports == 3
    with Collection.open(address) as again:
        assert again.state.closed
        assert again.add(reports[3].tobytes()) is CLOSED


def test_closing_in_another_process_is_seen_at_once(address):
    reports = made_up(PLAIN, 300)
    with Collection.create(address, PLAIN) as serving, Collection.open(address) as admin:
        serving.add_many(reports[:200])
        admin.close()
        assert serving.add(reports[250].tobytes()) is CLOSED
        assert serving.add(reports[7].tobytes()) is ACCEPTED
        assert serving.add(with_other_payload(reports[7]).tobytes()) is CONFLICT


@pytest.mark.claim("P51")
@pytest.mark.usefixtures("small_runs")
@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_any_batches_gives_the_same_release(address, seed):
    rng = np.random.default_rng(seed)
    reports = made_up(PLAIN, 700, seed)
    counted = set()
    with Collection.create(address, PLAIN) as one, Collection.open(address) as other:
        for _ in range(60):
            chosen = rng.integers(0, 700, rng.choice([1, 3, 20, 45, 150]))
            collection = one if rng.random() < 0.7 else other
            assert collection.add_many(reports[chosen]) is ACCEPTED
            counted |= set(chosen.tolist())
            if rng.random() < 0.2:
                assert collection.add(with_other_payload(reports[chosen[0]]).tobytes()) is CONFLICT
            if rng.random() < 0.1:
                assert collection.release(interim=True).n_rows == len(counted)
        assert one.state.reports == len(counted)
        one.close()
        release = other.release()
        recomputed = other.release(recompute=True)
    truth = released(PLAIN, reports[sorted(counted)])
    assert np.array_equal(release.matrix, truth.matrix)
    assert np.array_equal(recomputed.matrix, truth.matrix)
    assert recomputed == release or np.array_equal(recomputed.matrix, release.matrix)


@pytest.mark.usefixtures("small_runs")
def test_writers_at_the_same_time_count_each_report_once(address):
    reports = made_up(PLAIN, 400)
    outcomes = []
    Collection.create(address, PLAIN).disconnect()

    def write(seed):
        rng = np.random.default_rng(seed)
        with Collection.open(address) as mine:
            for start in range(0, 400, 25):
                chosen = rng.permutation(400)[:10].tolist() + list(range(start, start + 25))
                outcomes.append(mine.add_many(reports[chosen]))

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) == {ACCEPTED}
    with Collection.open(address) as collection:
        assert collection.state.reports == 400
        collection.close()
        assert np.array_equal(collection.release().matrix, released(PLAIN, reports).matrix)


def test_reports_come_out_as_they_came_in_and_the_digest_is_theirs(address):
    reports = made_up(PLAIN, 100)
    with Collection.create(address, PLAIN) as collection:
        collection.add_many(reports)
        out = np.concatenate(list(collection.reports()))
        order = sorted(range(100), key=lambda place: reports[place, 18:34].tobytes())
        assert np.array_equal(out, reports[order])
        assert collection.digest() == hashlib.sha256(out.tobytes()).hexdigest()
        collection.close()
        release = collection.release()
    made = release.provenance.collected
    assert (made.plan, made.final) == (PLAIN.id, True)
    assert made.digest == hashlib.sha256(out.tobytes()).hexdigest()


def test_the_order_of_arrival_is_not_kept(tmp_path):
    reports = made_up(PLAIN, 50)
    with Collection.create(tmp_path, PLAIN) as collection:
        for report in reports:
            collection.add(report.tobytes())
        collection.close()
        first = (tmp_path / FILE).read_bytes()
    again = tmp_path / "again"
    with Collection.create(again, PLAIN) as collection:
        for report in reports[::-1]:
            collection.add(report.tobytes())
        collection.close()
        second = (again / FILE).read_bytes()
    for report in reports:  # each is there once, and nothing is left of where it was before
        assert first.count(report[18:34].tobytes()) == 1
    place = [first.index(report[18:34].tobytes()) for report in reports]
    assert place == [second.index(report[18:34].tobytes()) for report in reports]


@pytest.mark.usefixtures("small_runs")
def test_a_closed_file_is_in_the_order_of_ids_as_a_whole(tmp_path):
    reports = made_up(PLAIN, 500)
    with Collection.create(tmp_path, PLAIN) as collection:
        for start in range(0, 500, 50):
            collection.add_many(reports[start : start + 50])
        before = collection.release(interim=True)
        collection.close()
        after = collection.release()
        assert collection.add_many(reports) is ACCEPTED
    assert np.array_equal(before.matrix, after.matrix)
    with sqlite3.connect(tmp_path / FILE) as connection:
        runs = connection.execute("SELECT ids FROM runs ORDER BY number").fetchall()
    connection.close()
    ids = b"".join(run for (run,) in runs)
    assert ids == b"".join(sorted(report[18:34].tobytes() for report in reports))


@pytest.mark.usefixtures("small_runs")
def test_sums_from_before_closing_are_not_added_to_those_after(tmp_path):
    reports = made_up(PLAIN, 600)
    with Collection.create(tmp_path, PLAIN) as collection, Collection.open(tmp_path) as other:
        collection.add_many(reports)
        other.release(interim=True)
        store = other._store
        kept = store.checkpoint()
        assert kept is not None
        collection.close()
        store.keep(kept)  # somebody who was adding up meanwhile
        assert store.checkpoint() is None
        assert np.array_equal(other.release().matrix, released(PLAIN, reports).matrix)


@pytest.mark.claim("P51")
def test_nothing_but_reports_and_the_plan_is_kept(tmp_path):
    with Collection.create(tmp_path, PLAIN) as collection:
        collection.add_many(made_up(PLAIN, 3))
    with sqlite3.connect(tmp_path / FILE) as connection:
        columns = connection.execute(
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c "
            "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'"
        ).fetchall()
    connection.close()
    assert {name for _, name in columns} == {
        *("one", "schema", "plan", "simulated", "closed", "generation", "reports"),
        *("number", "settled", "ids", "payloads"),
        *("through", "sums"),
    }


def test_a_release_before_the_minimum_or_before_closing_is_refused(address):
    reports = made_up(PLAN, 4)
    with Collection.create(address, PLAN) as collection:
        collection.add_many(reports[:2])
        with pytest.raises(CollectionError, match="is open"):
            collection.release()
        with pytest.raises(CollectionError, match="fewer reports than the plan's minimum"):
            collection.release(interim=True)
        collection.add_many(reports)
        assert not collection.release(interim=True).provenance.collected.final
        collection.close()
        assert collection.release().provenance.collected.final


def test_what_is_no_report_of_the_plan_is_refused(address):
    with Collection.create(address, PLAIN) as collection:
        with pytest.raises(MalformedReportError):
            collection.add(b"x" * 50)
        with pytest.raises(ForeignReportError):
            collection.add(local.randomize([0.1, 0.2], PLAIN, seed=1))
        with pytest.raises(ReportError, match="no report"):
            collection.add_many([])
        assert collection.state.reports == 0


def test_simulated_reports_have_collections_of_their_own(address):
    reports = local.simulate_reports(np.zeros((5, 2)), PLAIN, seed=1)
    with Collection.create(address, PLAIN, simulated=True) as collection:
        assert collection.add_many(reports) is ACCEPTED
        release = collection.release(interim=True)
        assert release.simulated
        assert release.events == (Pure("report", 2.0),)
    with pytest.raises(CollectionError, match="another plan"):
        Collection.create_or_open(address, PLAIN)


def test_a_collection_is_never_replaced_and_belongs_to_one_plan(address):
    with Collection.create_or_open(address, PLAIN) as first:
        first.add_many(made_up(PLAIN, 2))
    with pytest.raises(CollectionError, match="already"):
        Collection.create(address, PLAIN)
    with pytest.raises(CollectionError, match="another plan"):
        Collection.create_or_open(address, PLAN)
    with Collection.create_or_open(address, PLAIN) as again:
        assert again.state.reports == 2


def test_what_is_no_collection_is_refused(tmp_path):
    with pytest.raises(CollectionError, match="There is no collection"):
        Collection.open(tmp_path)
    (tmp_path / FILE).write_bytes(b"nothing" * 1000)
    with pytest.raises(CollectionError, match="damaged"):
        Collection.open(tmp_path)
    with pytest.raises(CollectionError, match="folder, or the address"):
        Collection.open("mysql://somewhere/x")
    with pytest.raises(ParameterError, match="CollectionPlan"):
        Collection.create(tmp_path / "new", "plan")


def test_sums_that_were_kept_are_used_and_damaged_ones_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(summing, "_APART", 1)
    monkeypatch.setattr(sqlite_index, "_MOST_RECENT", 10)
    reports = made_up(PLAIN, 90)
    with Collection.create(tmp_path, PLAIN) as collection:
        for start in range(0, 90, 9):
            collection.add_many(reports[start : start + 9])
        collection.close()
        first = collection.release()
        with sqlite3.connect(tmp_path / FILE) as connection:
            kept = connection.execute("SELECT reports FROM sums").fetchone()[0]
            assert kept == 90
            connection.execute("UPDATE sums SET sums = x'00'")
        connection.close()
        with pytest.raises(CollectionError, match="recompute"):
            collection.release()
        assert np.array_equal(collection.release(recompute=True).matrix, first.matrix)


@pytest.mark.usefixtures("small_runs")
def test_any_tree_of_merges_gives_the_same_bytes(tmp_path, opened):
    reports = made_up(PLAIN, 500)
    other = with_other_payload(reports[:3])  # somebody sent two different things
    parts = [reports[:200], np.concatenate([other[:1], reports[150:400]]), reports[390:]]
    sources = []
    for number, part in enumerate(parts):
        sources.append(opened(Collection.create(tmp_path / f"part{number}", PLAIN)))
        assert sources[-1].add_many(part) is ACCEPTED
    first = opened(merge_collections(sources[:2], tmp_path / "first"))
    trees = [
        opened(merge_collections(sources, tmp_path / "all")),
        opened(merge_collections(sources[::-1], tmp_path / "backwards")),
        opened(merge_collections([first, sources[2]], tmp_path / "tree")),
    ]
    assert {tree.state.reports for tree in trees} == {500}
    assert len({tree.digest() for tree in trees}) == 1
    matrices = [tree.release(interim=True).matrix for tree in trees]
    assert all(np.array_equal(matrix, matrices[0]) for matrix in matrices)
    other_plan = opened(Collection.create(tmp_path / "x", PLAN))
    with pytest.raises(ForeignReportError):
        merge_collections([sources[0], other_plan], tmp_path / "y")
    with pytest.raises(CollectionError, match="already"):
        merge_collections(sources, tmp_path / "all")


def test_collections_of_both_kinds_are_merged(address, tmp_path, opened):
    reports = made_up(PLAIN, 50)
    one = opened(Collection.create(address, PLAIN))
    one.add_many(reports[:30])
    other = opened(Collection.create(tmp_path / "other", PLAIN))
    other.add_many(reports[20:])
    made = opened(merge_collections([one, other], tmp_path / "made"))
    assert made.state.reports == 50


def test_a_failed_commit_leaves_what_was_there(tmp_path, monkeypatch):
    reports = made_up(PLAIN, 20)
    with Collection.create(tmp_path, PLAIN) as collection:
        collection.add_many(reports[:10])

        def fail(*_):
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr("dpcov.collect.sqlite_store._count", fail)
            with pytest.raises(CollectionError, match="disk is full"):
                collection.add_many(reports[10:])
        assert collection.state.reports == 10
        assert collection.add_many(reports) is ACCEPTED
        assert collection.state.reports == 20


def test_ids_that_share_a_half_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_index, "_MOST_RECENT", 1)  # all settle at once
    reports = made_up(PLAIN, 64)
    reports[:32, 18:26] = reports[0, 18:26]
    reports[32:, 26:34] = reports[0, 26:34]
    with Collection.create(tmp_path, PLAIN) as collection:
        for report in reports:
            assert collection.add(report.tobytes()) is ACCEPTED
        assert collection.state.reports == 64
        for report in reports:
            assert collection.add(with_other_payload(report).tobytes()) is CONFLICT


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path):
    file = Path(tmp_path) / "file"
    file.write_text("x")
    with pytest.raises(CollectionError, match="cannot be used"):
        Collection.create(file / "inside", PLAIN)


def count_after_adding_twice(folder):
    """Let two processes add the same report; return how often it was counted."""
    report = made_up(PLAIN, 1)[0].tobytes()
    with Collection.create(folder, PLAIN) as one, Collection.open(folder) as other:
        for collection in (one, other, one, other):
            collection.add(report)
        return one.state.reports


def forget(*_, **__):
    """Remember nothing of what is on the disk."""


@pytest.mark.claim("P51")
def test_a_planted_bug_counts_a_report_twice(tmp_path, monkeypatch):
    assert count_after_adding_twice(tmp_path / "without") == 1
    monkeypatch.setattr(sqlite_index.RunIndex, "note", forget)
    assert count_after_adding_twice(tmp_path / "with") > 1


@pytest.mark.claim("P51")
def test_a_planted_bug_does_not_see_what_others_wrote(tmp_path, monkeypatch):
    current = SqliteStore._current_index

    def stale(store, connection):
        return store._index or current(store, connection)

    def count(folder):
        reports = made_up(PLAIN, 2)
        with Collection.create(folder, PLAIN) as one, Collection.open(folder) as other:
            one.add(reports[0].tobytes())
            other.add(reports[1].tobytes())
            one.add(reports[1].tobytes())
            return one.state.reports

    assert count(tmp_path / "without") == 2
    monkeypatch.setattr(SqliteStore, "_current_index", stale)
    assert count(tmp_path / "with") == 3


def test_sums_that_were_kept_hold_the_mean_too(address, monkeypatch):
    monkeypatch.setattr(summing, "_APART", 1)
    reports = made_up(PLAN, 60)
    assert PLAN.mean
    with Collection.create(address, PLAN) as collection:
        collection.add_many(reports)
        collection.close()
        first, again = collection.release(), collection.release()
    assert np.array_equal(first.matrix, again.matrix)
    assert np.array_equal(again.mean, released(PLAN, reports).mean)


def test_a_closed_database_does_not_tell_which_rows_came_first():
    reports = made_up(PLAIN, 10)
    with empty_database() as address, Collection.create(address, PLAIN) as collection:
        for report in reports:
            collection.add(report.tobytes())
        collection.close()
        assert np.array_equal(collection.release().matrix, released(PLAIN, reports).matrix)
        psycopg = pytest.importorskip("psycopg")
        with psycopg.connect(address) as connection:
            rows = connection.execute(
                "SELECT xmin::text, cmin::text, id FROM dpcov_reports ORDER BY ctid"
            ).fetchall()
    assert len({(transaction, command) for transaction, command, _ in rows}) == 1
    ids = [report_id for _, _, report_id in rows]
    assert ids == sorted(report[18:34].tobytes() for report in reports)


def test_ids_that_share_a_half_cost_no_more_than_others():
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 256, (100_000, 16), dtype=np.uint8)
    ids[:, :8] = 7
    run = sort_run(Reports(ids, ids))
    begun = time.process_time()
    for _ in range(20):
        assert places_of(run.ids[-1:], run).tolist() == [99_999]
    assert time.process_time() - begun < 5  # one after the other it would be a minute
    assert np.array_equal(places_of(ids[:50], run), [run_place(run, each) for each in ids[:50]])
    absent = np.array([[7] * 8 + [0] * 8, [7] * 8 + [255] * 8, [9] * 16, [0] * 16], np.uint8)
    assert places_of(absent, run).tolist() == [-1] * 4


def run_place(run, report_id):
    return int(np.flatnonzero((run.ids == report_id).all(axis=1))[0])
