"""A scheduler and workers of Dask in processes of their own, that spill what they hold."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcov.sensitive.engines import dask_engine
from dpcov.sensitive.workers.carried import Carried
from either import release

N_ROWS = 6000
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, 4))
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "seed": 7}
CASES = {
    "learned": {},
    "no center": {"max_pairs": 3},
    "centers": {"max_pairs": 3, "center": "learned"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def client(folder):
    """A scheduler and two workers as somebody starts them, that spill beyond ten kilobytes."""
    from distributed import Client

    place = folder / "scheduler.json"
    environment = {
        **os.environ,
        "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "0.00001",
        "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
        "DASK_TEMPORARY_DIRECTORY": str(folder / "spilled"),
    }

    def start(part, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", *options]
        log = stack.enter_context((folder / f"{part}.log").open("a"))
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.kill)

    found = ["--scheduler-file", str(place), "--host", "127.0.0.1"]
    with ExitStack() as stack:
        start("scheduler", *found, "--port", "0", "--no-dashboard")
        for _ in range(2):
            start("worker", *found, "--nthreads", "1", "--no-nanny", "--memory-limit", "1GB",
                  "--no-dashboard")  # fmt: skip
        connected = stack.enter_context(
            Client(scheduler_file=str(place), set_as_default=False, timeout=300)
        )
        connected.wait_for_workers(2, timeout=300)
        yield connected


@pytest.fixture(autouse=True)
def in_pieces(monkeypatch):
    """Cut short tables, too."""
    monkeypatch.setattr(dask_engine.DaskEngine, "_count", lambda self, source, kernel: 5)


def contents(made, tmp_path):
    made.save(tmp_path / "release.npz")
    return (tmp_path / "release.npz").read_bytes()


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", CASES)
def test_a_scheduler_in_another_process_gives_the_same_bytes(case, client, tmp_path):
    columns = pa.table({f"x{place}": ROWS[:, place] for place in range(4)})
    pq.write_table(columns, tmp_path / "x.parquet", row_group_size=500)
    alone = contents(release(columns, **BUDGET, **CASES[case]), tmp_path)
    made = release(tmp_path / "x.parquet", engine=client, **BUDGET, **CASES[case])
    assert contents(made, tmp_path) == alone


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", CASES)
def test_workers_that_spill_give_the_same_bytes(case, client, folder, tmp_path):
    table = client.persist(da.from_array(ROWS, chunks=(500, 4)))
    made = release(table, engine=client, **BUDGET, **CASES[case])
    spilled = client.run(lambda dask_worker: len(dask_worker.data.slow))
    assert sum(spilled.values()) > 0
    assert contents(made, tmp_path) == contents(release(ROWS, **BUDGET, **CASES[case]), tmp_path)
    name = Carried.__name__.encode()
    files = [path for path in Path(folder / "spilled").rglob("*") if path.is_file()]
    assert files
    assert not any(name in path.read_bytes() for path in files)
