"""Files: reading against pyarrow alone, a release against numpy, and memory that stays flat."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import dpcov
from benchmarks.measure import Table, best_times, peak_memory

__all__ = ["tables"]

_COLUMNS = 200
_ROWS_A_FILE, _FILES = 100_000, 10
_ROUNDS = 3
_GOAL_BYTES = 500e6
_LEARNED_COLUMNS = 50
_NARROW_COLUMNS = 20
_CSV_ROWS = 500_000
_FLAT_ROWS = 10_000_000
_BLOCK_ROWS = 1 << 14


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, _COLUMNS)
        yield _time_table(folder)
        yield _reading_table(folder)
        yield _memory_table(folder)
    yield flat_table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, _LEARNED_COLUMNS)
        yield _learning_table(folder)


def _write(folder: Path, n_columns: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    for index in range(_FILES):
        columns = generator.standard_normal((n_columns, _ROWS_A_FILE))
        table = pa.table({f"c{place}": column for place, column in enumerate(columns)})
        pq.write_table(table, folder / f"part-{index:02}.parquet")


def _multiply(folder: Path) -> npt.NDArray[np.float64]:
    """Return the sum of X.T @ X over the batches of the files: what a user would write."""
    import pyarrow.parquet as pq

    total = np.zeros((_COLUMNS, _COLUMNS))
    batch: Any
    for path in sorted(folder.iterdir()):
        for batch in pq.ParquetFile(path).iter_batches(1 << 14):
            rows = np.column_stack([column.to_numpy() for column in batch.columns])
            total += rows.T @ rows
    return total


def _time_table(folder: Path) -> Table:
    times = best_times(
        _ROUNDS,
        numpy=lambda: _multiply(folder),
        release=lambda: dpcov.release(folder, epsilon=1.0, delta=1e-9, row_norm=20.0),
    )
    n_rows = _ROWS_A_FILE * _FILES
    table = Table(
        f"Time of a release from Parquet files, {n_rows:,} × {_COLUMNS}, against numpy "
        f"X.T @ X on their batches ({times['numpy']:.1f} s)",
        ("what", "ratio", "goal"),
    )
    ratio = times["release"] / times["numpy"]
    table.rows.append(("the whole release", f"{ratio:.2f}", "≤ 1.2"))
    return table


def _reading_table(folder: Path) -> Table:
    """Return what reading alone costs: all blocks of a table, and none of them used."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    def batches() -> None:
        for path in sorted(folder.iterdir()):
            for _ in pq.ParquetFile(path).iter_batches(_BLOCK_ROWS):
                pass

    with tempfile.TemporaryDirectory() as name:
        text = Path(name, "x.csv")
        rows = np.random.default_rng(0).standard_normal((_CSV_ROWS, _NARROW_COLUMNS))
        columns = {f"c{place}": rows[:, place] for place in range(_NARROW_COLUMNS)}
        pyarrow.csv.write_csv(pa.table(columns), text)
        times = best_times(
            _ROUNDS,
            batches=batches,
            parquet=lambda: _read_blocks(folder),
            stream=lambda: all(pyarrow.csv.open_csv(text)),
            parser=lambda: pyarrow.csv.read_csv(text),
            csv=lambda: _read_blocks(text),
        )
    table = Table(
        "Time to open a table and read all of its blocks, against pyarrow alone",
        ("what", "pyarrow, s", "ratio", "goal"),
    )
    wide, narrow = f"{_ROWS_A_FILE * _FILES:,} × {_COLUMNS}", f"{_CSV_ROWS:,} × {_NARROW_COLUMNS}"
    for what, ours, theirs in (
        (f"Parquet, {wide}, against the batches of a ParquetFile", "parquet", "batches"),
        (f"CSV, {narrow}, against open_csv, which streams", "csv", "stream"),
        (f"CSV, {narrow}, against read_csv, on all cores and all in memory", "csv", "parser"),
    ):
        ratio = times[ours] / times[theirs]
        table.rows.append((what, f"{times[theirs]:.2f}", f"{ratio:.2f}", "≤ 1.2"))
    return table


def _read_blocks(path: Path) -> None:
    from dpcov.sensitive.tables import open_table

    for _ in open_table(path).blocks(_BLOCK_ROWS):
        pass


def flat_table() -> Table:
    """Return how much memory a release has while it reads the halves of a long file."""
    table = Table(
        f"Most memory while one file with {_NARROW_COLUMNS} columns is released, beyond that "
        "before, MB",
        (
            "file",
            f"{_FLAT_ROWS // 10:,} rows",
            f"first half of {_FLAT_ROWS:,}",
            "second half",
            "goal",
        ),
    )
    with tempfile.TemporaryDirectory() as name:
        for kind in ("csv", "parquet", "npy"):
            path = Path(name, f"x.{kind}")
            _write_narrow(path, _FLAT_ROWS // 10)
            short = max(_memory_by_halves(path))
            path.unlink()
            _write_narrow(path, _FLAT_ROWS)
            long = _memory_by_halves(path)
            path.unlink()
            megabytes = (f"{each / 1e6:.0f}" for each in (short, *long))
            table.rows.append((f".{kind}", *megabytes, "no more"))
    return table


def _memory_by_halves(path: Path) -> tuple[int, int]:
    """Return the most resident memory in both halves of a release, beyond that before it."""
    code = f"""if True:
    import pathlib, re, numpy as np, dpcov, pyarrow.csv, pyarrow.parquet
    def resident():
        status = pathlib.Path("/proc/self/status").read_text()
        return int(re.search(r"VmRSS:\\s*(\\d+)", status).group(1)) * 1024
    budget = dict(epsilon=1.0, delta=1e-9, row_norm=8.0)
    dpcov.release(np.zeros((100, {_NARROW_COLUMNS})), **budget)
    before, most = resident(), [0, 0]
    def tell(name, done, total):
        half = int(2 * done > total)
        most[half] = max(most[half], resident() - before)
    dpcov.release({str(path)!r}, progress=tell, **budget)
    print(*most)
    """
    first, second = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    return int(first), int(second)


def _write_narrow(path: Path, n_rows: int) -> None:
    """Write a file of rounded normal numbers, a part at a time."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    generator, part = np.random.default_rng(0), 1_000_000
    shape = (n_rows, _NARROW_COLUMNS)
    if path.suffix == ".npy":
        array = np.lib.format.open_memmap(path, "w+", dtype=np.float64, shape=shape)
        for start in range(0, n_rows, part):
            array[start : start + part] = generator.standard_normal((part, _NARROW_COLUMNS))
        array.flush()
        return
    names = [f"c{place}" for place in range(_NARROW_COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    writer = pyarrow.csv.CSVWriter if path.suffix == ".csv" else pq.ParquetWriter
    with writer(path, schema) as file:
        for _ in range(0, n_rows, part):
            cells = generator.standard_normal((_NARROW_COLUMNS, part)).round(3)
            file.write_table(pa.table(dict(zip(names, cells, strict=True))))


def _learning_table(folder: Path) -> Table:
    """Return what a release costs that learns everything and counts gaps, in three passes."""
    names = [f"c{place}" for place in range(_LEARNED_COLUMNS)]
    known = dpcov.Columns(
        [dpcov.Column(name, center=0, scale=1, lower=-6, upper=6, complete=True) for name in names]
    )
    complete = dpcov.Columns([dpcov.Column(name, complete=True) for name in names])
    times = best_times(
        _ROUNDS,
        moments=lambda: dpcov.release(
            folder, epsilon=1.0, delta=1e-6, row_norm=12.0, columns=known
        ),
        gaps=lambda: dpcov.release(folder, epsilon=1.0, delta=1e-6),
        complete=lambda: dpcov.release(folder, epsilon=1.0, delta=1e-6, columns=complete),
    )
    table = Table(
        f"Time of a release in which all is learned, {_ROWS_A_FILE * _FILES:,} × "
        f"{_LEARNED_COLUMNS} from Parquet files, against the moments alone "
        f"({times['moments']:.1f} s)",
        ("what", "ratio", "goal"),
    )
    for what, name in (("gaps counted", "gaps"), ("columns stated to be complete", "complete")):
        table.rows.append((what, f"{times[name] / times['moments']:.2f}", "≤ 3"))
    return table


def _memory_table(folder: Path) -> Table:
    setup = (
        "import pathlib, numpy as np, dpcov, pyarrow.dataset, pyarrow.parquet\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "budget = dict(epsilon=1.0, delta=1e-9, row_norm=20.0)\n"
        f"dpcov.release(np.zeros((100, {_COLUMNS})), **budget)"
    )
    table = Table("Peak memory of a release from files", ("files", "rows", "MB", "goal"))
    whole = "dpcov.release({}, **budget)"
    for files, count, what in (
        ("1", 1, f"folder / {'part-00.parquet'!r}"),
        (f"{_FILES}", _FILES, "folder"),
        (f"{_FILES}, as a data set of pyarrow", _FILES, "pyarrow.dataset.dataset(folder)"),
    ):
        work = whole.format(what)
        grown = peak_memory(setup, work)
        table.rows.append(
            (
                files,
                f"{count * _ROWS_A_FILE:,}",
                f"{grown / 1e6:.0f}",
                f"≤ {_GOAL_BYTES / 1e6:.0f}",
            )
        )
    return table
