"""A Spark frame on its executors: one core against two, and both against numpy.

Each number of cores has a process of its own, since a session keeps its master. Beside the release
stands what Spark takes to hand the same rows to a Python function that only counts them: the part
of the time that no sum can save. Needs Java and the extra `spark`; without them there is no table.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.measure import Table

__all__ = ["tables"]

_COLUMNS = 50
_ROWS_A_FILE, _FILES = 250_000, 8
_ROUNDS = 2
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # One file for each task.
    "spark.sql.files.maxPartitionBytes": "512m",
    "spark.sql.files.openCostInBytes": "512m",
}


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        product = _write(folder)
        found = {cores: _in_process(cores, folder) for cores in (1, 2)}
    yield _table(product, found)


def _write(folder: Path) -> float:
    """Write the files, and return the seconds of X.T @ X of all rows, on one thread."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    seconds = 0.0
    for index in range(_FILES):
        rows = generator.standard_normal((_ROWS_A_FILE, _COLUMNS))
        table = pa.table({f"c{place}": column for place, column in enumerate(rows.T)})
        pq.write_table(table, folder / f"part-{index:02}.parquet")
        with threadpool_limits(1):
            seconds += min(_seconds(partial(np.matmul, rows.T, rows)) for _ in range(3))
    return seconds


def _in_process(cores: int, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.spark_engine", str(cores), str(folder)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def _table(product: float, found: dict[int, dict[str, float]]) -> Table:
    n_rows = _ROWS_A_FILE * _FILES
    table = Table(
        f"A release of a Spark frame on its executors, Parquet files of {n_rows:,} × {_COLUMNS} "
        f"(load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; X.T @ X of the rows in "
        f"memory on one core {product:.2f} s)",
        (
            "cores",
            "seconds",
            "rows/s",
            "against one (goal ≥ 1.6)",
            "core seconds / X.T @ X (goal ≤ 1.5)",
            "Spark alone, seconds",
            "ours beside it, core seconds / X.T @ X",
        ),
    )
    for cores, times in found.items():
        whole, alone = times["release"], times["count"]
        cells = (
            f"{whole:.2f}",
            f"{n_rows / whole:,.0f}",
            f"{found[1]['release'] / whole:.2f}",
            f"{cores * whole / product:.1f}",
            f"{alone:.2f}",
            f"{cores * (whole - alone) / product:.1f}",
        )
        table.rows.append((str(cores), *cells))
    return table


def _measure(cores: int, folder: str) -> dict[str, float]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    for key, value in _QUIET.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(folder)
    works: dict[str, Callable[[], Any]] = {
        "release": lambda: dpcov.release(
            frame, epsilon=1.0, delta=1e-9, row_norm=10.0, progress=False
        ),
        "count": lambda: frame.mapInArrow(_count, "n long").toArrow(),
    }
    for work in works.values():  # the machine of Java compiles what it runs often
        work()
    best = dict.fromkeys(works, float("inf"))
    for _ in range(_ROUNDS):
        for name, work in works.items():
            best[name] = min(best[name], _seconds(work))
    session.stop()
    return best


def _count(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.RecordBatch.from_arrays([pa.array([sum(map(len, batches))])], ["n"])


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), sys.argv[2])))
