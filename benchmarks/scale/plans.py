"""Two large studies on paper: what 10⁹ rows of 1,000 columns and 10⁸ reports would take.

Owns the assumptions, which are prices and machines, and the arithmetic. Speeds are
measured elsewhere; nothing of this size was run.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Table
from benchmarks.scale.speeds import COLUMNS, Speeds

__all__ = ["plans"]

_ROWS, _REPORTS = 10**9, 10**8

# Assumptions, round numbers of the order of what clouds ask; put in your own.
_CORE_HOUR = 0.05  # USD
_GB_MONTH = 0.02  # USD, of an object store
_GB_BETWEEN = 0.01  # USD, between zones of one cloud; nothing within one
_CORES, _NETWORK = 16, 1.25e9  # of a machine; bytes a second are 10 Gbit/s
_SHARE = 0.76  # of a core's speed that each of several has: measured for two, docs/dask.md
_GROUP_ROWS = 100_000  # rows that one task reads: what a row group holds

# Measured elsewhere (docs/benchmarks.md, "Collections"): SQLite, two cores that load and server
# share, 20 columns.
_SINGLES, _BATCHED = 6_329.0, 678_819.0  # reports a second, one and 100,000 at a time
_DISK, _INDEX = 32.1, 12.0  # bytes a report, on the disk and in memory
_RELEASED = 1_215_471.0  # reports a second when a collection is added up and digested
_HTTP_BYTES = 1_000  # assumed, of a request and its answer with TLS and headers; 50 are the report


def plans(speeds: Speeds) -> Iterator[Table]:
    """Yield the two plans."""
    yield _rows_plan(speeds)
    yield _reports_plan(speeds)


def _rows_plan(speeds: Speeds) -> Table:
    table = Table(
        f"On paper: {_ROWS:.0e} rows × {COLUMNS:,} columns in Parquet, machines of {_CORES} cores "
        f"and {8e-9 * _NETWORK:.0f} Gbit/s",
        (
            "facts",
            "machines",
            "core hours",
            "minutes of cores",
            "… of network",
            "TB read",
            "GB of sums",
            "USD, cores",
            "USD, storing it a month",
        ),
    )
    stored = _ROWS * speeds.bytes_a_row
    # Where gaps are counted, each column has a second one that says whether its cells are there.
    for facts, speed, passes, width in (
        ("row norm stated", speeds.file_stated, 1, COLUMNS + 1),
        ("all learned", speeds.file_learned, 3, 2 * COLUMNS + 1),
    ):
        sums = _ROWS / _GROUP_ROWS * 8 * width**2
        seconds, read = _ROWS / (speed * _SHARE), stored * passes
        for machines in (1, 10, 40):
            cores, wire = seconds / (machines * _CORES), read / (machines * _NETWORK)
            # Cores are paid for while they wait for the network.
            paid = max(cores, wire) * machines * _CORES / 3600 * _CORE_HOUR
            table.rows.append(
                (
                    facts,
                    str(machines),
                    f"{seconds / 3600:.0f}",
                    f"{cores / 60:.0f}",
                    f"{wire / 60:.0f}",
                    f"{read / 1e12:.0f}",
                    f"{sums / 1e9:.0f}",
                    f"{paid:.0f}",
                    f"{stored / 1e9 * _GB_MONTH:.0f}",
                )
            )
    return table


def _reports_plan(speeds: Speeds) -> Table:
    table = Table(f"On paper: {_REPORTS:.0e} people report", ("what", "how much", "from"))
    day = _REPORTS / 86400
    moved = _REPORTS * _HTTP_BYTES / 1e9
    cores = {
        100: _REPORTS / speeds.narrow_reports / 3600,
        1000: _REPORTS / speeds.wide_reports / 3600,
    }
    measured, assumed = "measured here × size", "assumed bytes × size"
    service = "the service at 10⁷ reports, × 10"
    for what, amount, source in (
        ("bytes of reports", f"{50 * _REPORTS / 1e9:.0f} GB", "50 each, exact"),
        ("… on the wire, single uploads", f"{moved:.0f} GB", assumed),
        ("on the disk (SQLite)", f"{_DISK * _REPORTS / 1e9:.1f} GB", service),
        ("memory of a server that knows all ids", f"{_INDEX * _REPORTS / 1e9:.1f} GB", service),
        ("reports a second if spread over a day", f"{day:,.0f}", "arithmetic"),
        (
            "… over a week, five times as many at the peak",
            f"{5 * day / 7:,.0f}",
            "assumed shape of a week",
        ),
        ("hours of one 2-core server, single", f"{_REPORTS / _SINGLES / 3600:.1f}", service),
        ("… in batches of 100,000", f"{_REPORTS / _BATCHED / 3600:.2f}", service),
        ("core hours to add up, p = 100", f"{cores[100]:.3f}", measured),
        ("… p = 1,000", f"{cores[1000]:.2f}", measured),
        ("seconds to release and digest, p = 20", f"{_REPORTS / _RELEASED:.0f}", service),
        ("USD, a 2-core server for a week", f"{2 * 168 * _CORE_HOUR:.0f}", "assumed price"),
        ("USD, wire, if it is charged", f"{moved * _GB_BETWEEN:.0f}", "assumed price"),
        ("USD, adding up, p = 1,000", f"{cores[1000] * _CORE_HOUR:.2f}", "assumed price"),
    ):
        table.rows.append((what, amount, source))
    return table
