"""A program that uses dpcov, to be checked by ``mypy --strict`` against the installed wheel.

It is checked and not run. Without ``py.typed`` in the wheel the import is an error, and were the
types lost, so would be the remark in `wrong`, which nothing needed any more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dpcov


def publish(table: Path) -> float:
    """Return the largest correlation that a release of the table shows."""
    release: dpcov.Release = dpcov.release(table, epsilon=1.0, delta=1e-6)
    estimate = release.estimate()
    release.save(table.with_suffix(".npz"))
    words: str = release.promise.in_words
    print(words)
    return float(np.abs(np.triu(estimate.correlation, 1)).max())


def account(path: str) -> float:
    """Return what was spent, and a scale of noise."""
    spent: float = dpcov.Ledger(path).account().spent
    scale: float = dpcov.privacy.gaussian_scale(epsilon=1.0, delta=1e-5, sensitivity=2.0)
    return spent + scale


def wrong(table: Path) -> dpcov.Release:
    """State a promise as no number."""
    return dpcov.release(table, epsilon="one", delta=1e-6)  # type: ignore[arg-type]
