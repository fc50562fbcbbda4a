"""A standalone master and two workers of Spark: the same bytes, also when an executor dies.

It takes minutes to start: set DPCOV_TEST_SPARK=1 to run these.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.engines import spark_engine
from dpcov.sensitive.workers.carried import Carried
from either import release

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("DPCOV_TEST_SPARK") != "1" or shutil.which("java") is None,
        reason="needs Java and DPCOV_TEST_SPARK=1",
    ),
    pytest.mark.filterwarnings("ignore"),  # Spark's own
]
N_ROWS = 6000
GENERATOR = np.random.default_rng(0)
TABLE = pa.table(
    {
        **{name: GENERATOR.normal(size=N_ROWS) for name in "abc"},
        "who": [f"person {who}" for who in GENERATOR.integers(0, 2500, N_ROWS)],
    }
)
NUMBERS = TABLE.drop_columns("who")
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "seed": 7}
UNITS = {"privacy_unit": "who", "missing": "center"}
CASES = {
    "moments": (NUMBERS, {"row_norm": 3.0}),
    "learned": (NUMBERS, {}),
    "units": (TABLE, {"rows_per_unit": 2, **UNITS}),
    "centers": (NUMBERS, {"max_pairs": 2, "center": "learned"}),
    "no center": (NUMBERS, {"max_pairs": 2}),
    "differences of people": (
        TABLE,
        {"max_pairs": 2, "center": "differences", "rows_per_unit": 1, **UNITS},
    ),
}
CELL = "987654"


def start(stack, folder, *words):
    """Start a part of Spark, and end it with the tests."""
    import pyspark

    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *words]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    log = stack.enter_context((folder / f"{len(list(folder.iterdir()))}.log").open("w"))
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Return the address of a master on this machine, and the processes of its two workers."""
    pytest.importorskip("pyspark")
    folder = tmp_path_factory.mktemp("spark")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    deploy = "org.apache.spark.deploy"
    with ExitStack() as stack:
        start(stack, folder, f"{deploy}.master.Master", *place, "--port", str(port))
        for _ in range(300):
            with socket.socket() as found:
                if found.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        address = f"spark://127.0.0.1:{port}"
        share = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), address]
        yield address, [start(stack, folder, f"{deploy}.worker.Worker", *place, *share)
                        for _ in range(2)]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return where Spark writes: what it spills and shuffles, and its log of events."""
    return {name: tmp_path_factory.mktemp(name) for name in ("local", "events")}


@pytest.fixture(scope="module")
def session(workers, folders):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(workers[0])
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.io.encryption.enabled": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folders["events"].as_uri(),
        "spark.local.dir": str(folders["local"]),
        # So that even small results take the way of large ones, through the block managers.
        "spark.task.maxDirectResultSize": "1k",
    }.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def folders_of(tmp_path_factory):
    """Return a folder of files for each table."""

    def write(table):
        folder = tmp_path_factory.mktemp("survey")
        for place in range(0, N_ROWS, 2000):
            path = folder / f"{place:05}.parquet"
            pq.write_table(table.slice(place, 2000), path, row_group_size=400)
        return folder

    return {id(table): write(table) for table in (NUMBERS, TABLE)}


@pytest.fixture(scope="module")
def frames(session, tmp_path_factory):
    """Return a frame of files for each table: in ten partitions, in the order of the rows."""

    def write(table):
        folder = tmp_path_factory.mktemp("parts")
        for place in range(0, N_ROWS, 600):
            pq.write_table(table.slice(place, 600), folder / f"{place:05}.parquet")
        session.conf.set("spark.sql.files.openCostInBytes", str(1 << 30))
        return session.read.parquet(str(folder))

    return {id(table): write(table) for table in (NUMBERS, TABLE)}


def contents(made, tmp_path):
    made.save(tmp_path / "release.npz")
    return (tmp_path / "release.npz").read_bytes()


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", CASES)
def test_two_workers_give_the_bytes_of_the_table_in_memory(case, frames, tmp_path):
    table, options = CASES[case]
    frame = frames[id(table)]
    made = release(frame, **BUDGET, **options)
    # Which rows of a unit are the first depends on the order in which Spark lists the files.
    there = frame.toArrow()
    assert contents(made, tmp_path) == contents(release(there, **BUDGET, **options), tmp_path)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", CASES)
def test_files_that_two_workers_read_give_the_same_bytes(
    case, session, folders_of, tmp_path, monkeypatch
):
    monkeypatch.setattr(spark_engine, "choose_parts", lambda *_, **__: [3, 2, 1, 1])
    table, options = CASES[case]
    made = release(folders_of[id(table)], engine=session, **BUDGET, **options)
    assert contents(made, tmp_path) == contents(release(table, **BUDGET, **options), tmp_path)


def executors(workers):
    import psutil

    return [
        child
        for worker in workers[1]
        for child in psutil.Process(worker.pid).children(recursive=True)
        if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())
    ]


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", ["learned", "centers"])
def test_an_executor_that_is_killed_changes_nothing(case, frames, workers, tmp_path):
    table, options = CASES[case]

    def slowly(batches):
        import time

        for batch in batches:
            time.sleep(1.0)
            yield batch

    frame = frames[id(table)]
    slow = frame.mapInArrow(slowly, frame.schema)
    killed = []

    def kill():
        found = executors(workers)
        killed.append(found[0].pid)
        found[0].kill()

    later = threading.Timer(4.0, kill)
    later.start()
    try:
        made = release(slow, **BUDGET, **options)
    finally:
        later.cancel()
    assert killed
    assert contents(made, tmp_path) == contents(release(table, **BUDGET, **options), tmp_path)


@pytest.mark.claim("P7")
def test_an_executor_that_is_killed_while_it_reads_files_changes_nothing(
    session, folders_of, workers, tmp_path, monkeypatch
):
    class Slow(spark_engine.SumPieces):
        def __call__(self, place, batches):
            import time

            time.sleep(2.0)
            return super().__call__(place, batches)

    monkeypatch.setattr(spark_engine, "choose_parts", lambda *_, **__: [3, 2, 1, 1])
    monkeypatch.setattr(spark_engine, "SumPieces", Slow)
    killed = []

    def kill():
        found = executors(workers)
        killed.append(found[0].pid)
        found[0].kill()

    later = threading.Timer(4.0, kill)
    later.start()
    try:
        made = release(folders_of[id(NUMBERS)], engine=session, **BUDGET)
    finally:
        later.cancel()
    assert killed
    assert contents(made, tmp_path) == contents(release(NUMBERS, **BUDGET), tmp_path)


@pytest.mark.claim("P34")
@pytest.mark.parametrize("kind", ["frame", "files"])
def test_no_sum_is_on_any_disk_of_spark_in_the_clear(
    kind, frames, folders_of, session, folders, workers
):
    if kind == "frame":
        release(frames[id(NUMBERS)], **BUDGET)
    else:
        release(folders_of[id(NUMBERS)], engine=session, **BUDGET)
    name = Carried.__name__.encode()
    assert name in bytes(ForkingPickler.dumps(Carried(1))), "a pickle names what is in it"
    files = [
        path
        for folder in (*folders.values(), Path(session.sparkContext._temp_dir))
        for path in folder.rglob("*")
        if path.is_file()
    ]
    assert files, "there is a log of events at least"
    assert not any(name in path.read_bytes() for path in files)


@pytest.mark.claim("P8")
def test_what_fails_on_an_executor_is_not_repeated(frames):
    frame = frames[id(NUMBERS)]

    def fail(batches):
        raise ValueError(CELL)

    broken = frame.mapInArrow(fail, frame.schema)
    with pytest.raises(InputError, match="cannot be computed") as caught:
        dpcov.release(broken, **BUDGET)
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
