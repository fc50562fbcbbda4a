"""The statements about runs in a SQLite file, within a transaction that is open.

Owns how runs are read and written, and how all reports are brought into the order of their ids
in bounded memory. When a transaction begins and ends is decided elsewhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from dpcov.collect.runs import merge, read_run, split
from dpcov.collect.sqlite_index import largest_run
from dpcov.local.plan import CollectionPlan
from dpcov.local.report import Reports

__all__ = ["extent", "numbering_of", "ordered", "read_runs", "write_in_order", "write_runs"]

_PART_BYTES = 1 << 26  # of reports that are sorted in memory at a time


def read_runs(
    connection: sqlite3.Connection, plan: CollectionPlan, which: str = "1", *values: int
) -> Iterator[tuple[int, bool, Reports]]:
    """Yield number, whether it is settled, and reports of runs. Write none meanwhile."""
    found = connection.execute(
        f"SELECT number, settled, ids, payloads FROM runs WHERE {which} ORDER BY number",  # noqa: S608
        values,
    )
    for number, settled, ids, payloads in found:
        yield number, bool(settled), read_run(ids, payloads, plan.payload_bytes)


def extent(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return how many reports there are, and the number of the last run."""
    count = connection.execute("SELECT reports FROM collection").fetchone()[0]
    last = connection.execute("SELECT coalesce(max(number), 0) FROM runs").fetchone()[0]
    return int(count), int(last)


def numbering_of(connection: sqlite3.Connection) -> bytes:
    """Return which numbers runs have: closing gives them others."""
    return bytes([connection.execute("SELECT closed FROM collection").fetchone()[0]])


def ordered(
    connection: sqlite3.Connection, plan: CollectionPlan, count: int, last: int
) -> Iterator[Reports]:
    """Yield the reports of runs up to a number in the order of ids, as memory allows."""
    parts = min(256, 1 + count * plan.report_bytes // _PART_BYTES)
    for low, high in pairwise(np.linspace(0, 256, parts + 1).astype(int).tolist()):
        runs = read_runs(connection, plan, "number <= ?", last)
        yield merge([_within(run, low, high) for _, _, run in runs], plan.payload_bytes)


def write_in_order(connection: sqlite3.Connection, plan: CollectionPlan, count: int) -> int:
    """Replace all runs by new ones in the order of ids; return how many reports they have."""
    _, last = extent(connection)
    written = 0
    for part in ordered(connection, plan, count, last):
        for piece in split(part, largest_run(plan)):
            write_runs(connection, [(piece, True)])
        written += len(part)
    connection.execute("DELETE FROM runs WHERE number <= ?", (last,))
    return written


def write_runs(connection: sqlite3.Connection, runs: Sequence[tuple[Reports, bool]]) -> list[int]:
    """Add runs, each settled or recent; return their numbers."""
    numbers = []
    for run, settled in runs:
        cursor = connection.execute(
            "INSERT INTO runs (settled, ids, payloads) VALUES (?, ?, ?)",
            (settled, run.ids.tobytes(), run.payloads.tobytes()),
        )
        numbers.append(int(cursor.lastrowid or 0))
    return numbers


def _within(run: Reports, low: int, high: int) -> Reports:
    """Return the reports of a run whose ids begin with a byte from low to below high."""
    start, end = np.searchsorted(run.ids[:, 0], [low, high])
    return Reports(run.ids[start:end].copy(), run.payloads[start:end].copy())
