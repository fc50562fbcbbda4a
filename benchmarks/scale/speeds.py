"""What one core does a second, at the width of the large table and for collections."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Table, best_times
from benchmarks.scale.works import Array, normal_rows, plan_of, random_seeds, release
from dpcov.local.sums import add_up

__all__ = ["COLUMNS", "Speeds", "measure_speeds"]

COLUMNS = 1000
_NORM = 1.2 * COLUMNS**0.5  # of standard normal rows, none of which is longer
_ROUNDS = 3


@dataclass(frozen=True)
class Speeds:
    """What one core does a second: rows of 1,000 columns, and reports.

    Parameters
    ----------
    product : float
        Rows of numpy's X.T @ X.
    stated, learned : float
        Rows of a release in memory, with a stated row norm and with everything learned.
    file_stated, file_learned : float
        The same from a Parquet file.
    bytes_a_row : float
        Of that file.
    narrow_reports, wide_reports : float
        Reports of 100 and of 1,000 columns.
    """

    product: float
    stated: float
    learned: float
    file_stated: float
    file_learned: float
    bytes_a_row: float
    narrow_reports: float
    wide_reports: float

    def table(self) -> Table:
        """Return them as a table."""
        table = Table(
            f"What one core does, {COLUMNS:,} columns",
            ("what", "a second", "time against numpy"),
        )
        for what, speed in (
            ("rows of `X.T @ X`", self.product),
            ("rows of a release, row norm stated", self.stated),
            ("rows of a release, all learned", self.learned),
            ("the same from Parquet, row norm stated", self.file_stated),
            ("the same from Parquet, all learned", self.file_learned),
        ):
            table.rows.append((what, f"{speed:,.0f}", f"{self.product / speed:.2f}"))
        for what, speed in (
            ("reports of 1,000 columns", self.wide_reports),
            ("reports of 100 columns", self.narrow_reports),
        ):
            table.rows.append((what, f"{speed:,.0f}", "–"))
        return table


def measure_speeds() -> Speeds:
    """Measure one core at the width of the large table, and of large collections."""
    rows = normal_rows(20_000, COLUMNS)
    with tempfile.TemporaryDirectory() as name:
        path = _write(rows, Path(name))
        wide, seeds = plan_of(COLUMNS), random_seeds(400_000)
        narrow = plan_of(100)
        best = best_times(
            _ROUNDS,
            product=lambda: rows.T @ rows,
            stated=lambda: release(rows, _NORM),
            learned=lambda: release(rows),
            file_stated=lambda: release(path, _NORM),
            file_learned=lambda: release(path),
            narrow=lambda: add_up(seeds, narrow),
            wide=lambda: add_up(seeds[:20_000], wide),
        )
        size = path.stat().st_size
    return Speeds(
        product=len(rows) / best["product"],
        stated=len(rows) / best["stated"],
        learned=len(rows) / best["learned"],
        file_stated=len(rows) / best["file_stated"],
        file_learned=len(rows) / best["file_learned"],
        bytes_a_row=size / len(rows),
        narrow_reports=len(seeds) / best["narrow"],
        wide_reports=20_000 / best["wide"],
    )


def _write(rows: Array, folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "rows.parquet"
    table = pa.table({f"c{place}": column for place, column in enumerate(rows.T)})
    pq.write_table(table, path, row_group_size=10_000, use_dictionary=False)  # no cell comes twice
    return path
