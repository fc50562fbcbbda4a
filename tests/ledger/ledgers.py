"""Ledgers and tables for the tests of this folder."""

import sqlite3

import numpy as np

import dpcov

LIMIT = {"epsilon": 3.0, "delta": 1e-6}
WHO = {"population": "Panel 2026", "owner": "Data office"}
ONE = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 4.0}
ROWS = np.random.default_rng(0).normal(size=(500, 3))


def new(address, **stated):
    return dpcov.Ledger.create(address, **(WHO | LIMIT | stated))


def kinds(ledger):
    return [line["kind"] for line in ledger.lines()]


def tamper(path, *statements):
    """Change a file behind the back of everything that keeps it from being changed."""
    connection = sqlite3.connect(path)
    with connection:
        for name in ("dpcov_no_update", "dpcov_no_delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            connection.execute(*statement if isinstance(statement, tuple) else (statement,))
    connection.close()
