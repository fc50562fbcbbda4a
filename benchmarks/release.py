"""The release: exact Gram, exact noise, the whole function, and the import."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import dpcov
from benchmarks.measure import Table, best_times, peak_memory
from dpcov.columns.missing import Missing
from dpcov.exact.grid import Grid
from dpcov.exact.products import CheckedProducts
from dpcov.exact.randomness import RandomStream
from dpcov.exact.rounded_gaussian import draw_rounded_gaussian
from dpcov.exact.threads import blas_threads
from dpcov.exact.triangle import Triangle
from dpcov.sensitive.sums.gram import Gram
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["tables"]

_ROWS, _COLUMNS = 100_000, 1_000
_ROUNDS = 5
_BLOCK = 4096
_LONG = 1_000_000, 50
_WAYS = {"numpy": {"NUMBA_DISABLE_JIT": "1"}, "compiled": {}}
_ROUNDS_UNTIL_COMPILED = 7
_DRAWS = 4_000_000


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield _gram_table()
    yield _parts_table()
    yield _learned_table()
    yield _noise_table()
    yield _memory_table()
    yield _import_table()


def _gram_table() -> Table:
    rows = np.random.default_rng(0).standard_normal((_ROWS, _COLUMNS))
    rows /= np.sqrt(_COLUMNS)  # half of the rows are longer than 1 and must be clipped
    times = best_times(
        _ROUNDS,
        numpy=lambda: rows.T @ rows,
        loose=lambda: Gram.from_rows(rows, grid=Grid(row_norm=2.0, bits=20)),
        tight=lambda: Gram.from_rows(rows, grid=Grid(row_norm=1.0, bits=20)),
        release=lambda: dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0),
    )
    table = Table(
        f"Time against numpy X.T @ X, {_ROWS:,} × {_COLUMNS:,} ({times['numpy']:.2f} s)",
        ("what", "ratio", "goal"),
    )
    for name, what, goal in (
        ("loose", "exact Gram, quantized and checked", "≤ 1.15"),
        ("tight", "the same when half of the rows are clipped", "≤ 1.15"),
        ("release", "the whole release, half of the rows clipped", "≤ 1.25"),
    ):
        table.rows.append((what, f"{times[name] / times['numpy']:.2f}", goal))
    return table


def _parts_table() -> Table:
    """Say where the time of the Gram goes: its parts alone, on one thread."""
    grid = Grid(row_norm=2.0, bits=20)
    rows = np.random.default_rng(0).standard_normal((_BLOCK, _COLUMNS)) / np.sqrt(_COLUMNS)
    whole = np.empty_like(rows)
    quantize_rows(rows, grid, Missing.REFUSE, whole)
    sums = Triangle.zeros(_COLUMNS, np.int64)
    products = CheckedProducts(sums, np.float64)
    tiles = [slice(start, start + 64) for start in range(0, _BLOCK, 64)]

    def quantize() -> None:
        for tile in tiles:
            quantize_rows(rows[tile], grid, Missing.REFUSE, whole[tile])

    with blas_threads(1):
        times = best_times(
            _ROUNDS,
            bare=lambda: whole.T @ whole,
            product=lambda: products.add(whole),
            quantizing=quantize,
        )
    table = Table(
        f"Parts of the exact Gram, a block of {_BLOCK:,} × {_COLUMNS:,} on one thread",
        ("what", "ratio to numpy's product", "ns for each cell"),
    )
    for name, what in (
        ("quantizing", "clipping and quantizing"),
        ("product", "product in BLAS, added"),
    ):
        cells = times[name] / rows.size * 1e9
        table.rows.append((what, f"{times[name] / times['bare']:.3f}", f"{cells:.2f}"))
    return table


def _learned_table() -> Table:
    """Compare learning how rows are read with the moments alone, with compiled loops or without."""
    n_rows, n_columns = _LONG
    found = {name: _learned_times(variables) for name, variables in _WAYS.items()}
    table = Table(
        f"Learning all facts of columns, {n_rows:,} × {n_columns} "
        f"(the moments alone take {found['compiled']['moments']:.2f} s; loading and compiling "
        f"loops once {found['compiled']['first'] - found['compiled']['default']:.1f} s)",
        ("what", "numpy alone", "compiled loops", "goal"),
    )
    for name, what, goal in (
        ("numpy", "numpy X.T @ X", "–"),
        ("complete", "the release, all learned, no gaps", "–"),
        ("default", "the release by default, gaps counted", "≤ 2.5"),
    ):
        ratios = (
            f"{found[way][name] / found[way]['moments']:.2f}" for way in ("numpy", "compiled")
        )
        table.rows.append((what, *ratios, goal))
    return table


def _learned_times(variables: dict[str, str]) -> dict[str, float]:
    """Return times in a process of its own, and that of the release in which loops are compiled."""
    command = [sys.executable, "-m", "benchmarks.release"]
    said = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | variables
    ).stdout
    found: dict[str, float] = json.loads(said)
    return found


def _measure_learned() -> dict[str, float]:
    rows = np.random.default_rng(0).standard_normal(_LONG)
    learned = partial(dpcov.release, rows, epsilon=1.0, delta=1e-6)
    # Loops are compiled when numpy has done enough for that, which is counted in each process.
    first = max(best_times(1, work=learned)["work"] for _ in range(_ROUNDS_UNTIL_COMPILED))
    times = best_times(
        _ROUNDS,
        numpy=lambda: rows.T @ rows,
        moments=partial(learned, row_norm=8.0, missing="refuse"),
        default=learned,
        complete=partial(learned, missing="refuse"),
    )
    return times | {"first": first}


def _noise_table() -> Table:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    discrete = dp.m.make_gaussian(*space, 2.0**42)
    few = [0] * 20_000
    stream, generator = RandomStream.from_os(), np.random.default_rng()
    times = best_times(
        3,
        dpcov=lambda: draw_rounded_gaussian(2**42, _DRAWS, stream),
        opendp=lambda: discrete(few),
        numpy=lambda: generator.standard_normal(_DRAWS),
    )
    speed = {
        "dpcov": _DRAWS / times["dpcov"],
        "opendp": len(few) / times["opendp"],
        "numpy": _DRAWS / times["numpy"],
    }
    table = Table(
        "Noise at scale 2^42, one core", ("sampler", "million draws/s", "dpcov is", "goal")
    )
    for name, what, goal in (
        ("dpcov", "dpcov, exact rounded Gaussian", "≥ 8 million/s"),
        ("opendp", "OpenDP, exact discrete Gaussian", "≥ 50×"),
        ("numpy", "numpy, floating point (not private)", "–"),
    ):
        faster = f"{speed['dpcov'] / speed[name]:.3g}× as fast"
        table.rows.append((what, f"{speed[name] / 1e6:.3g}", faster, goal))
    return table


def _memory_table() -> Table:
    setup = (
        "import numpy as np, dpcov\n"
        f"X = np.random.default_rng(0).standard_normal(({_ROWS}, {_COLUMNS}))\n"
        "dpcov.release(X[:100], epsilon=1.0, delta=1e-6, row_norm=40.0)"
    )
    grown = peak_memory(setup, "dpcov.release(X, epsilon=1.0, delta=1e-6, row_norm=40.0)")
    goal = 6 * _COLUMNS**2 * 8 + 200e6
    table = Table("Peak memory of a release beyond its input", ("size", "MB", "goal"))
    table.rows.append((f"{_ROWS:,} × {_COLUMNS:,}", f"{grown / 1e6:.0f}", f"≤ {goal / 1e6:.0f}"))
    return table


def _import_table() -> Table:
    def seconds(statement: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - start

    statements = ("pass", "import dpcov", "import scipy.linalg")
    rounds = [[seconds(statement) for statement in statements] for _ in range(9)]
    bare, ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    table = Table("Time to import, beyond the bare interpreter", ("what", "ms", "ratio", "goal"))
    table.rows.append(("scipy.linalg", f"{(theirs - bare) * 1e3:.0f}", "1", "–"))
    ratio = (ours - bare) / (theirs - bare)
    table.rows.append(("dpcov", f"{(ours - bare) * 1e3:.0f}", f"{ratio:.2f}", "≤ 1.5"))
    return table


if __name__ == "__main__":
    print(json.dumps(_measure_learned()))
