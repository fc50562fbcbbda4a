"""The same bytes from Dask as from anything else; and what a cluster does when workers die."""

import os
import signal
import time
from contextlib import ExitStack, contextmanager, suppress

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import EngineError, InputError, MissingValueError, ParameterError
from dpcov.mechanisms import dense, door
from dpcov.sensitive.engines import dask_engine
from dpcov.sensitive.sums import signs
from either import release

N_ROWS = 6000
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, 4))
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
WHO = [f"person {who}" for who in np.random.default_rng(1).integers(0, 2500, N_ROWS)]
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "seed": 7}
DENSE = {**BUDGET, "row_norm": 3.0}
CELL = "987654321012"  # must not be in any message, nor be a part of a random name

MEASURES = {
    "moments": {"row_norm": 3.0},
    "radius": {},
    "facts": {"columns": {name: {"lower": -2.0, "upper": 2.5} for name in NAMES}},
    "pairs": {"max_pairs": 3, "center": 0.1},
    "centers": {"max_pairs": 3, "center": "learned"},
    "variances": {
        "max_pairs": 3,
        "center": "stated",
        "row_norm": 3.0,
        "cell_bound": 2.0,
    },
    "differences": {"max_pairs": 3, "center": "differences", "row_norm": 3.0, "cell_bound": 2.0},
    "no center": {"max_pairs": 3},
}
UNITS = {"privacy_unit": "who", "rows_per_unit": 2}
PARTLY = {"a": (-3, 3), "b": (0, None), "c": {}, "d": {"center": 0.1, "scale": 1.0}}
HOLES = FRAME.mask(np.random.default_rng(2).random(FRAME.shape) < 0.05)
WITH_UNITS = HOLES.assign(who=WHO)
LEARNING = {
    "nothing stated": (FRAME, {}),
    "stated in part": (FRAME, {"columns": PARTLY}),
    "missing cells": (HOLES, {"missing": "center"}),
    "add-remove": (FRAME, {"neighbors": "add-remove"}),
    "units": (WITH_UNITS, {"missing": "center", "columns": PARTLY, **UNITS}),
    "pairs": (FRAME, {"max_pairs": 3, "center": "learned"}),
    "pairs of units": (
        WITH_UNITS,
        {"max_pairs": 3, "missing": "center", "neighbors": "add-remove", **UNITS},
    ),
    "differences": (FRAME, {"max_pairs": 3, "center": "differences"}),
    "differences of people": (
        WITH_UNITS,
        {
            "max_pairs": 3,
            "center": "differences",
            "missing": "center",
            "privacy_unit": "who",
            "rows_per_unit": 1,
        },
    ),
}
PASSES = {"columns": {}, "lengths": {}, "moments": {}}
PASSES |= dict.fromkeys(("centers", "co-movements"), LEARNING["pairs"][1])
BLOCK = 700  # rows of signs: pieces and partitions end within blocks of twice as many


def dask_array(count):
    return da.from_array(ROWS, chunks=(-(-N_ROWS // count), 3))


def dask_frame(count, table=FRAME):
    return dd.from_pandas(table, npartitions=count, sort=False)


def contents(release, tmp_path):
    """Return what a release would publish."""
    release.save(tmp_path / "release.npz")
    return (tmp_path / "release.npz").read_bytes()


@pytest.fixture(autouse=True)
def in_pieces(monkeypatch):
    """Cut short tables, too, within blocks in which rows are paired."""
    monkeypatch.setattr(dask_engine.DaskEngine, "_count", lambda self, source, kernel: 5)
    monkeypatch.setattr(signs, "_MOST_BLOCK_ROWS", BLOCK)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("measure", MEASURES)
def test_a_release_has_the_same_bytes_from_dask_as_from_numpy(measure, tmp_path):
    options = {"columns": NAMES, **BUDGET, **MEASURES[measure]}
    plain = {**options, "columns": MEASURES[measure].get("columns")}
    serial = contents(release(FRAME, **plain), tmp_path)
    if measure != "facts":
        assert contents(release(ROWS, **options), tmp_path) == serial
    for count in (1, 3, 7):
        assert contents(release(dask_frame(count), **plain), tmp_path) == serial
        if measure != "facts":
            assert contents(release(dask_array(count), **options), tmp_path) == serial


@pytest.mark.claim("P7")
@pytest.mark.parametrize("measure", ["moments", "radius", "pairs", "centers"])
def test_a_release_of_units_has_the_same_bytes_from_dask(measure, tmp_path):
    table = FRAME.assign(who=WHO)
    options = {**BUDGET, **UNITS, **MEASURES[measure]}
    serial = contents(release(table, **options), tmp_path)
    for count in (1, 3, 7):
        assert contents(release(dask_frame(count, table), **options), tmp_path) == serial
    assert contents(release(table, engine="dask", **options), tmp_path) == serial


def write(kind, folder):
    if kind == "csv":
        FRAME.to_csv(folder / "x.csv", index=False)
        return folder / "x.csv"
    table = pa.Table.from_pandas(FRAME)
    pq.write_table(table, folder / "x.parquet", row_group_size=500)
    return folder / "x.parquet"


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "arrow", "lazy", "csv", "parquet"])
def test_every_kind_of_table_has_the_same_bytes_with_the_engine(kind, tmp_path):
    table = {
        "numpy": lambda: ROWS,
        "pandas": lambda: FRAME,
        "polars": lambda: pl.from_pandas(FRAME),
        "arrow": lambda: pa.Table.from_pandas(FRAME),
        "lazy": lambda: pl.from_pandas(FRAME).lazy(),
    }.get(kind, lambda: write(kind, tmp_path))()
    made = dpcov.release(table, engine="dask", columns=NAMES, **DENSE)
    serial = dpcov.release(ROWS, columns=NAMES, **DENSE)
    assert contents(made, tmp_path) == contents(serial, tmp_path)


def test_a_parquet_file_with_units_has_the_same_bytes_with_the_engine(tmp_path):
    table = FRAME.assign(who=WHO)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "x.parquet", row_group_size=500)
    made = dpcov.release(tmp_path / "x.parquet", engine="dask", **DENSE, **UNITS)
    serial = dpcov.release(table, **DENSE, **UNITS)
    assert contents(made, tmp_path) == contents(serial, tmp_path)


def test_the_noise_is_drawn_once(monkeypatch):
    drawn = []
    real = dense.release_gram
    monkeypatch.setattr(dense, "release_gram", lambda *a, **k: drawn.append(1) or real(*a, **k))
    dpcov.release(dask_frame(7), **DENSE)
    assert drawn == [1]


def test_pairs_without_a_center_are_about_the_same_on_workers():
    made = dpcov.release_pairs(dask_frame(3), max_pairs=3, **BUDGET)
    assert made.provenance.center == "differences"


def test_an_unknown_engine_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(door, "open_table", lambda *a, **k: pytest.fail("opened"))
    with pytest.raises(ParameterError, match="engine must be None, 'dask'"):
        dpcov.release(ROWS, engine="sparks", **DENSE)


@pytest.mark.parametrize("engine", ["spark", "driver"])
def test_an_engine_for_spark_frames_is_refused_for_others(engine, monkeypatch):
    monkeypatch.setattr(door, "open_table", lambda *a, **k: pytest.fail("opened"))
    with pytest.raises(ParameterError, match=f"engine='{engine}' is for Spark data frames"):
        dpcov.release(ROWS, engine=engine, **DENSE)


def test_the_estimator_asks_for_a_table_in_memory():
    with pytest.raises(InputError, match="in memory"):
        dpcov.SparseCovariance(epsilon=1.0, delta=1e-6, row_norm=1.0).fit(dask_frame(2))


@contextmanager
def kept_environment():
    """Undo what starting a worker leaves behind: one thread for BLAS, in this process too."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def start_cluster(stack):
    """Start two worker processes; a task may outlive the death of one worker, not of two."""
    from distributed import LocalCluster

    with kept_environment():
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        )
    stack.callback(end_cluster, cluster)
    return cluster


def end_cluster(cluster):
    """End a cluster. One whose worker hangs does not end: its processes end with this one."""
    from distributed import TimeoutError as NotInTime  # of Python 3.10 it is another one

    with suppress(NotInTime):
        cluster.close(timeout=60)


def has_both_workers(cluster):
    """Return whether workers that were killed have started again: now and then one hangs."""
    from distributed import TimeoutError as NotInTime

    try:
        cluster.wait_for_workers(2, timeout=90)
    except NotInTime:
        return False
    return True


@pytest.fixture(scope="module")
def clusters():
    """The cluster that tests share, and the stack that ends it."""
    settings = {
        # On a busy machine a new process takes longer than the usual 15 seconds.
        "distributed.deploy.lost-worker-timeout": "10 minutes",
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
    }
    with dask.config.set(settings), ExitStack() as stack:
        yield [start_cluster(stack)], stack


@pytest.fixture
def cluster(clusters):
    """Two workers that live: of a new cluster, if those that a test killed do not come back."""
    made, stack = clusters
    if not has_both_workers(made[-1]):
        made.append(start_cluster(stack))
    return made[-1]


@pytest.fixture
def client(cluster):
    from distributed import Client

    with kept_environment(), Client(cluster) as connected:
        yield connected


@pytest.mark.parametrize("measure", ["moments", "radius", "variances"])
def test_a_cluster_gives_the_same_bytes(measure, client, tmp_path):
    options = {**BUDGET, **MEASURES[measure]}
    serial = contents(release(FRAME, **options), tmp_path)
    told = []
    made = release(FRAME, engine=client, progress=lambda *each: told.append(each), **options)
    assert contents(made, tmp_path) == serial
    assert told[-1][1:] == (N_ROWS, N_ROWS)
    assert len(told) >= 5, "the rows were told piece by piece"
    assert contents(release(dask_frame(3), **options), tmp_path) == serial


def test_a_cluster_reads_files_itself_and_keeps_units_apart(client, tmp_path):
    table = FRAME.assign(who=WHO)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "x.parquet", row_group_size=500)
    serial = contents(dpcov.release(table, **DENSE, **UNITS), tmp_path)
    for each in (tmp_path / "x.parquet", dask_frame(3, table)):
        made = dpcov.release(each, engine="dask", **DENSE, **UNITS)
        assert contents(made, tmp_path) == serial


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", LEARNING)
def test_a_cluster_learns_the_same(case, client, tmp_path):
    table, options = LEARNING[case]
    (tmp_path / "parts").mkdir()
    for place in range(0, N_ROWS, 1500):
        part = pa.Table.from_pandas(table[place : place + 1500], preserve_index=False)
        pq.write_table(part, tmp_path / "parts" / f"{place}.parquet", row_group_size=400)
    serial = contents(release(table, **BUDGET, **options), tmp_path)
    for each in (tmp_path / "parts", dask_frame(3, table), table):
        made = release(each, engine=client, **BUDGET, **options)
        assert contents(made, tmp_path) == serial


@pytest.mark.claim("P7")
@pytest.mark.parametrize("reading", PASSES)
def test_a_worker_that_is_killed_in_any_pass_changes_nothing(reading, client, tmp_path):
    def slowly(part):
        time.sleep(0.1)
        return part

    pids = list(client.run(os.getpid).values())
    killed = []

    def kill_one(name, done, total):
        if name == reading and not killed and done < total:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    table = dask_array(12).map_blocks(slowly, dtype=float)
    options = BUDGET | PASSES[reading]
    made = release(table, engine=client, progress=kill_one, **options)
    assert killed
    assert contents(made, tmp_path) == contents(release(ROWS, **options), tmp_path)


def held_tasks(client):
    """Return the names of tasks that somebody still wants, when the cluster has come to rest."""

    def names(dask_scheduler):
        return [str(name) for name in dask_scheduler.tasks]

    for _ in range(1000):
        found = client.run_on_scheduler(names)
        if not found:
            break
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("reading", ["columns", "lengths", "co-movements"])
def test_workers_that_die_again_and_again_are_an_error(reading, client, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "release_gram", lambda *a, **k: pytest.fail("released"))
    flag = tmp_path / "die"

    def die(part):
        if len(part) and flag.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    order = [name for name in PASSES if PASSES[name] == PASSES[reading]]
    before = [None, *order][order.index(reading)]
    if before is None:
        flag.touch()

    def arm(name, done, total):
        if name == before and done == total:
            flag.touch()

    table = dask_array(3).map_blocks(die, dtype=float, meta=np.empty((0, 0)))
    options = BUDGET | PASSES[reading]
    with pytest.raises(EngineError, match="Workers died again and again") as caught:
        release(table, engine=client, progress=arm, **options)
    assert caught.value.__context__ is caught.value.__cause__ is None
    said = door.NOTHING_SPENT if before is None else "The rest of the budget was not used."
    assert str(caught.value).endswith(said)
    # The cluster has forgotten it: what failed is computed anew when it is asked for again.
    assert held_tasks(client) == []
    flag.unlink()
    monkeypatch.undo()
    if not has_both_workers(client.cluster):
        pytest.skip("the cluster does not start its workers again")
    monkeypatch.setattr(dask_engine.DaskEngine, "_count", lambda self, source, kernel: 5)
    again = release(table, engine=client, **options)
    assert contents(again, tmp_path) == contents(release(ROWS, **options), tmp_path)


@pytest.mark.parametrize(
    ("reading", "how"), [("columns", "close"), ("moments", "close"), ("co-movements", "restart")]
)
def test_a_cluster_that_is_lost_is_an_error_of_the_engine(reading, how, cluster):
    from distributed import Client

    def lose(name, done, total):
        if name == reading and connected.status == "running" and not lost:
            lost.append(name)
            try:
                connected.close() if how == "close" else connected.restart(timeout=100)
            except TimeoutError:  # a worker of the cluster hangs: nothing of ours was tried
                pytest.skip("the cluster does not restart")

    lost = []
    with (
        kept_environment(),
        Client(cluster, set_as_default=False) as connected,
        pytest.raises(EngineError, match="connection to the Dask cluster was lost") as caught,
    ):
        release(dask_array(5), engine=connected, progress=lose, **BUDGET | PASSES[reading])
    assert caught.value.__context__ is caught.value.__cause__ is None
    said = "The rest of the budget was not used."
    said = door.NOTHING_SPENT if reading == "columns" else said
    assert str(caught.value).endswith(said)


@pytest.mark.claim("P8")
def test_a_cluster_repeats_no_cell_in_errors_names_or_logs(client):
    rows = np.full((N_ROWS, 4), float(CELL))
    rows[3000, 1] = np.nan
    with pytest.raises(MissingValueError, match="missing or infinite") as caught:
        dpcov.release(rows, engine=client, **DENSE)
    assert caught.value.__context__ is caught.value.__cause__ is None
    logs = repr(client.get_worker_logs()) + repr(client.get_scheduler_logs())
    stories = repr(client.run(lambda dask_worker: list(map(repr, dask_worker.state.tasks))))
    assert CELL not in logs + stories


@pytest.mark.claim("P8")
def test_a_collection_that_fails_on_a_cluster_repeats_nothing(client):
    # Another one: Dask's workers write what a function of the user's raises to their logs.
    cell = "765432"

    def fail(part):
        raise ValueError(cell)

    table = dask_frame(2).map_partitions(fail, meta=FRAME[:0])
    with pytest.raises(InputError, match="Dask could not compute the table") as caught:
        dpcov.release(table, engine=client, **DENSE)
    assert cell not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_a_client_need_not_be_the_default_of_its_process(cluster, tmp_path):
    from distributed import Client

    with kept_environment(), Client(cluster, set_as_default=False) as connected:
        made = dpcov.release(dask_array(3), engine=connected, **BUDGET)
    assert contents(made, tmp_path) == contents(dpcov.release(ROWS, **BUDGET), tmp_path)


def test_a_client_that_is_closed_is_refused(cluster):
    from distributed import Client

    client = Client(cluster)
    client.close()
    with pytest.raises(ParameterError, match="a Client that is closed; connect a new one"):
        dpcov.release(ROWS, engine=client, **DENSE)
