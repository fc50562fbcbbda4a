"""Spark's executors, on frames and on files: one core against two, and both against numpy.

Each number of cores has a process of its own, since a session keeps its master. `local[1]` has a
thread of Java and a process of Python that both work, and so uses two cores: one core is a process
that is pinned to one before Java starts; `local[1]` without that stands beside it. A release of a
frame is compared with what Spark takes to hand the same rows to a Python function that only counts
them, and to one that multiplies them in numpy; a release of files with a loop over the batches of
pyarrow on one core. Needs Java and the extra `spark`; without them there is no table.
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
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.measure import Table

__all__ = ["tables"]

_COLUMNS = 50
_ROWS_A_FILE, _FILES = 250_000, 20
_ROUNDS = {"frame": 1, "files": 3, "alone": 2}
_BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9, "row_norm": 10.0, "progress": False}
_CASES = {"one core": (1, True), "local[1]": (1, False), "two cores": (2, False)}
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # One file for each task.
    "spark.sql.files.maxPartitionBytes": "512m",
    "spark.sql.files.openCostInBytes": "512m",
}
Found = dict[str, dict[str, tuple[float, float]]]
"""Seconds and CPU seconds of each work, in each case."""


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        alone, _ = _in_process("alone", "one core", folder)["numpy"]
        yield _files_table(alone, {case: _in_process("files", case, folder) for case in _CASES})
        yield _frame_table(alone, {case: _in_process("frame", case, folder) for case in _CASES})


def write(folder: Path) -> None:
    """Write the files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    for index in range(_FILES):
        columns = generator.standard_normal((_COLUMNS, _ROWS_A_FILE))
        table = pa.table({f"c{place}": column for place, column in enumerate(columns)})
        pq.write_table(table, folder / f"part-{index:02}.parquet", row_group_size=_ROWS_A_FILE // 4)


def _in_process(kind: str, case: str, folder: Path) -> dict[str, tuple[float, float]]:
    command = [sys.executable, "-m", "benchmarks.spark_engine", kind, case, str(folder)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, tuple[float, float]] = json.loads(said.splitlines()[-1])
    return found


def _size() -> str:
    load, cores = os.getloadavg()[0], os.cpu_count()
    return f"{_ROWS_A_FILE * _FILES:,} × {_COLUMNS} (load before: {load:.1f} on {cores} cores)"


def _files_table(alone: float, found: Found) -> Table:
    table = Table(
        f"A release of Parquet files that Spark's executors read, {_size()}, against numpy X.T @ X "
        f"on the batches of pyarrow on one core ({alone:.2f} s)",
        (
            "cores",
            "seconds",
            "rows/s",
            "against one (goal ≥ 1.6)",
            "CPU seconds",
            "CPU seconds / numpy (goal ≤ 1.5)",
        ),
    )
    for case, times in found.items():
        seconds, used = times["release"]
        cells = (*_speed(found, case), f"{used:.1f}", f"{used / alone:.2f}")
        table.rows.append((case, f"{seconds:.2f}", *cells))
    return table


def _frame_table(alone: float, found: Found) -> Table:
    table = Table(
        f"A release of a Spark frame on its executors, {_size()}, against a mapInArrow that "
        f"multiplies or counts the same batches (numpy without Spark, from files: {alone:.2f} s)",
        (
            "cores",
            "seconds",
            "rows/s",
            "against one (goal ≥ 1.6)",
            "numpy on the same executors, seconds",
            "release / numpy (goal ≤ 1.5)",
            "CPU seconds / numpy",
            "rows only counted, seconds",
        ),
    )
    for case, times in found.items():
        (seconds, used), (product, product_used) = times["release"], times["numpy"]
        cells = (
            *_speed(found, case),
            f"{product:.2f}",
            f"{seconds / product:.2f}",
            f"{used / product_used:.2f}",
            f"{times['count'][0]:.2f}",
        )
        table.rows.append((case, f"{seconds:.2f}", *cells))
    return table


def _speed(found: Found, case: str) -> tuple[str, str]:
    """Return the rows a second, and against those of one core."""
    seconds, one = found[case]["release"][0], found["one core"]["release"][0]
    return f"{_ROWS_A_FILE * _FILES / seconds:,.0f}", f"{one / seconds:.2f}"


def _measure(kind: str, case: str, folder: str) -> dict[str, tuple[float, float]]:
    cores, is_pinned = _CASES[case]
    if is_pinned:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if kind == "alone":
        with threadpool_limits(1):
            return _best(kind, {"numpy": lambda: _multiply_files(Path(folder))})
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    for key, value in _QUIET.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def works(path: str) -> dict[str, Callable[[], Any]]:
        if kind == "files":
            return {"release": lambda: dpcov.release(path, engine=session, **_BUDGET)}
        frame = session.read.parquet(path)
        return {
            "release": lambda: dpcov.release(frame, **_BUDGET),
            "numpy": lambda: frame.mapInArrow(_multiply, "sums binary").toArrow(),
            "count": lambda: frame.mapInArrow(_count, "n long").toArrow(),
        }

    for work in works(f"{folder}/part-00.parquet").values():
        work()  # Java compiles what it runs often, and Python imports
        work()
    found = _best(kind, works(folder))
    session.stop()
    return found


def _best(kind: str, works: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, float]]:
    best = dict.fromkeys(works, (float("inf"), 0.0))
    for _ in range(_ROUNDS[kind]):
        for name, work in works.items():
            best[name] = min(best[name], _seconds(work))
    return best


def _multiply_files(folder: Path) -> Any:
    import pyarrow.parquet as pq

    total = np.zeros((_COLUMNS, _COLUMNS))
    batch: Any
    for path in sorted(folder.iterdir()):
        for batch in pq.ParquetFile(path).iter_batches(1 << 14):
            rows = np.column_stack([column.to_numpy() for column in batch.columns])
            total += rows.T @ rows
    return total


def _multiply(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield X.T @ X of a partition, as somebody would write it by hand."""
    import numpy as np
    import pyarrow as pa

    total: Any = 0.0
    for batch in batches:
        rows = np.column_stack([column.to_numpy() for column in batch.columns])
        total = total + rows.T @ rows
    yield pa.RecordBatch.from_arrays([pa.array([np.asarray(total).tobytes()])], ["sums"])


def _count(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.RecordBatch.from_arrays([pa.array([sum(map(len, batches))])], ["n"])


def _seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds, and CPU seconds of this process and of all that it started."""
    used, start = _cpu_seconds(), time.perf_counter()
    work()
    return time.perf_counter() - start, _cpu_seconds() - used


def _cpu_seconds() -> float:
    import psutil  # comes with distributed

    this = psutil.Process()
    times = [each.cpu_times() for each in (this, *this.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


if __name__ == "__main__":
    print(json.dumps(_measure(*sys.argv[1:])))
