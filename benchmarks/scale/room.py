"""How memory grows, and how the grid gets coarser where sums must fit 64 bits."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Table, peak_memory
from benchmarks.scale.growth import SLOPES, Growth
from benchmarks.scale.works import normal_rows
from dpcov.columns.missing import Missing
from dpcov.exact.grid import MAX_SUM_BITS, Grid
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["grid_table", "memory_table"]

_WIDE = 1000
_NORM = 1.2 * _WIDE**0.5  # of standard normal rows, none of which is longer
_START = (
    "import numpy as np, dpcov\n"
    "few = np.random.default_rng(0).standard_normal((2000, 20))\n"
    "dpcov.release(few, epsilon=1, delta=1e-9, row_norm=9.0)\n"
    "dpcov.release(few, epsilon=1, delta=1e-9)\n"
)
_FORGET = "import pathlib; pathlib.Path('/proc/self/clear_refs').write_text('5')"


def memory_table() -> Table:
    """Return the exponents of peak memory."""
    table = Table(
        "How peak memory grows, beyond what was there",
        ("what", "at", "measured at", "MB, first → last", *SLOPES),
    )
    with tempfile.TemporaryDirectory() as name:
        for growth in (_memory_by_columns(), _memory_by_rows(Path(name))):
            table.rows.append(growth.row(1e6, ".0f"))
    return table


def _memory_by_columns() -> Growth:
    sizes = (1500, 3000, 6000)
    costs = []
    for size in sizes:
        setup = f"{_START}rows = np.random.default_rng(0).standard_normal((1000, {size}))\n"
        work = "dpcov.release(rows, epsilon=1, delta=1e-9, row_norm=90.0)"
        costs.append(float(peak_memory(setup + _FORGET, work)))
    return Growth("release, row norm stated", "p", "n = 1,000", sizes, tuple(costs), "2")


def _memory_by_rows(folder: Path) -> Growth:
    sizes = (400_000, 800_000, 1_600_000)
    costs = []
    for size in sizes:
        path = folder / f"rows{size}.npy"
        np.save(path, normal_rows(size, 20))
        work = f"dpcov.release({str(path)!r}, epsilon=1, delta=1e-9)"
        costs.append(float(peak_memory(_START + _FORGET, work)))
        path.unlink()
    return Growth("release of a file, all learned", "n", "p = 20", sizes, tuple(costs), "0")


def grid_table() -> Table:
    """Return how the grid gets coarser with n, and what that does to variances."""
    table = Table(
        f"How the grid gets coarser: {_WIDE:,} standard normal columns, row norm {_NORM:.0f}",
        ("bits", "rows, at most", "a variance is off by", "its standard error at that n"),
    )
    rows = normal_rows(2000, _WIDE)
    whole, square = np.empty_like(rows), float(np.square(rows).mean())
    for bits in range(20, 14, -1):
        # The mean takes a 17th of the room: c² is a 16th of 4^bits.
        grid = Grid(row_norm=_NORM, bits=bits, constant=1 << (bits - 2))
        most = (1 << MAX_SUM_BITS) // grid.largest_product
        quantize_rows(rows, grid, Missing.REFUSE, whole)
        off = abs(float(np.square(whole).mean()) * grid.step**2 - square)
        table.rows.append((str(bits), f"{most:,}", f"{off:.1e}", f"{(2 / most) ** 0.5:.1e}"))
    return table
