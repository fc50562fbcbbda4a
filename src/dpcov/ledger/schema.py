"""The schema: tables of a ledger.

Owns the statements. Both databases understand them; what one alone understands stands with it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["TABLES", "VERSION"]

VERSION = 1
"""The schema that this version of dpcov writes."""

TABLES: Sequence[str] = (
    "CREATE TABLE dpcov_ledger (one INTEGER PRIMARY KEY CHECK (one = 1), "
    "schema INTEGER NOT NULL, lines INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE dpcov_lines (number INTEGER PRIMARY KEY, text TEXT NOT NULL, "
    "hash TEXT NOT NULL UNIQUE)",
    "CREATE TABLE dpcov_releases (sha256 TEXT PRIMARY KEY, file {bytes} NOT NULL)",
)
"""The tables of a new ledger. ``{bytes}`` is the database's type of bytes."""
