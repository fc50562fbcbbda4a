"""Files: a release from Parquet files against numpy on their batches, and what learning costs."""

from __future__ import annotations

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


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, _COLUMNS)
        yield _time_table(folder)
        yield _memory_table(folder)
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
    table.rows.append(("the whole release", f"{ratio:.2f}", "≤ 1.5"))
    return table


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
