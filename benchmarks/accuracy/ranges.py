"""Ranges that are learned where nothing is stated: how often one is wrong.

Releases are simulated up to the limits of their columns, from exact counts of one table and noise
of many seeds: no moments are added up. Settings that a release refuses are taken all the same, and
again with as many rows as the refusal advises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.measure import Table
from dpcov.columns.missing import Missing
from dpcov.errors import InputError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.dense import DenseOptions
from dpcov.mechanisms.dense_outlook import check_size
from dpcov.mechanisms.learning.learn import ColumnFacts, learn_columns
from dpcov.mechanisms.learning.tuning import DEFAULT
from dpcov.privacy import ApproxDP
from dpcov.releases.learned import Known
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import FieldKernel

__all__ = ["releases_of", "tables", "tables_of_physlm"]

_RUNS = 1000
_DELTA = 1e-6
_SETTINGS = (
    (5_000, 100, 0.5),
    (1_000, 10, 0.5),
    (2_000, 20, 0.5),
    (10_000, 50, 0.1),
    (10_000, 200, 2.0),
    (20_000, 1_000, 2.0),
    (10_000, 100, 1.0),
)
# A limit of a normal column is wrong beyond so many deviations, and below.
_WRONG = (30.0, 0.3)
_ROWS = 10_000
_OTHERS = 12

Array = npt.NDArray[Any]
Generator = np.random.Generator

_KINDS: dict[str, Callable[[Generator], Array]] = {
    "normal": lambda rng: rng.normal(size=_ROWS),
    "mean 1e6, sd 1,000": lambda rng: rng.normal(1e6, 1e3, _ROWS),
    "mean 1e6, sd 1": lambda rng: rng.normal(1e6, 1.0, _ROWS),
    "log-normal, sigma 1": lambda rng: rng.lognormal(0, 1, _ROWS),
    "log-normal, sigma 2": lambda rng: rng.lognormal(10, 2, _ROWS),
    "t₃": lambda rng: rng.standard_t(3, _ROWS),
    "counts, mean 3": lambda rng: rng.poisson(3, _ROWS).astype(float),
    "counts, 90 % zeros": lambda rng: rng.poisson(4, _ROWS) * (rng.random(_ROWS) < 0.1) * 1.0,
    "0/1, 1 %": lambda rng: (rng.random(_ROWS) < 0.01) * 1.0,
    "0/1, 5 %": lambda rng: (rng.random(_ROWS) < 0.05) * 1.0,
    "constant 0": lambda rng: np.zeros(_ROWS),
    "constant 7": lambda rng: np.full(_ROWS, 7.0),
    "normal, 60 % gaps": lambda rng: np.where(
        rng.random(_ROWS) < 0.6, np.nan, rng.normal(size=_ROWS)
    ),
}


@dataclass(frozen=True)
class Simulated:
    """The limits of columns in one release, and which columns it marks."""

    lower: Array
    upper: Array
    marked: Array

    @classmethod
    def of(cls, facts: ColumnFacts, n_columns: int) -> Simulated:
        """Return them, of the columns that are no gaps."""
        unseen = (facts.known["range"] == Known.NOT_SEEN) | (facts.known["scale"] == Known.NOT_SEEN)
        # As a release marks columns of which more than 1 % lies beyond the limits.
        cut = facts.beyond.values - 3 * facts.beyond.sd > 0.01
        limits = (facts.reading.lower, facts.reading.upper, unseen | cut)
        return cls(*(vector[:n_columns] for vector in limits))


def _options(epsilon: float) -> DenseOptions:
    return DenseOptions(
        promise=ApproxDP(epsilon, _DELTA, "replace"),
        facts=None,
        row_norm=None,
        shares=None,
        rows_per_unit=1,
        missing=Missing.PAIRWISE,
    )


def releases_of(rows: Array, epsilon: float, runs: int = _RUNS) -> Iterator[Simulated]:
    """Simulate releases of a table of which nothing is stated, with noise of many seeds."""
    options, (n_rows, n_columns) = _options(epsilon), rows.shape
    stated = options.stated(options.fields(n_columns), n_rows)
    budget = options.budget(stated, n_rows)
    cells = CellKernel(stated.ruler(), stated.lower, stated.upper, Missing.PAIRWISE)
    counts = FieldKernel(stated.design, cells, Missing.PAIRWISE).sum_over([rows])
    for seed in range(runs):
        stream = RandomStream.from_seed(seed)
        facts = learn_columns(counts, stated, budget, tuning=DEFAULT, stream=stream)
        yield Simulated.of(facts, n_columns)


def _refusal(n_rows: int, n_columns: int, epsilon: float) -> str:
    """Return why a release refuses such a table, or nothing."""
    options = _options(epsilon)
    try:
        check_size(options, options.fields(n_columns), n_rows)
    except InputError as refused:
        return str(refused)
    return ""


def tables() -> Iterator[Table]:
    """Yield a table of normal columns, and one of columns of every kind."""
    yield _normal()
    yield _kinds()


def _normal() -> Table:
    table = Table(
        f"Normal columns, nothing stated, {_RUNS:,} simulated releases each: releases in which a "
        f"half-width is above {_WRONG[0]:g} or below {_WRONG[1]:g}",
        ("rows × columns, epsilon", "a release", "wrong", "half-widths", "rows advised", "wrong"),
    )
    for n_rows, n_columns, epsilon in _SETTINGS:
        refusal = _refusal(n_rows, n_columns, epsilon)
        row = ["is refused" if refusal else "is made", *_wrong(n_rows, n_columns, epsilon)]
        if refusal:
            (advised,) = re.findall(r"at least ([\d,]+) rows", refusal)
            enough = int(advised.replace(",", ""))
            row += [advised, _wrong(enough, n_columns, epsilon)[0]]
        else:
            row += ["", ""]
        table.rows.append((f"{n_rows:,} × {n_columns:,}, {epsilon:g}", *row))
    return table


def _wrong(n_rows: int, n_columns: int, epsilon: float) -> tuple[str, str]:
    """Return in how many releases a half-width is wrong, and between what they lie."""
    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    ends = np.array(
        [
            [half.min(), half.max()]
            for each in releases_of(rows, epsilon)
            for half in [(each.upper - each.lower) / 2]
        ]
    )
    most, least = _WRONG
    wrong = (ends[:, 1] > most) | (ends[:, 0] < least)
    return str(wrong.sum()), f"{ends[:, 0].min():.2g} to {ends[:, 1].max():.2g}"


def _kinds() -> Table:
    table = Table(
        f"Columns of every kind, {_ROWS:,} × {_OTHERS}, nothing stated, {_RUNS:,} simulated "
        "releases: share in which a column is marked; releases in which limits are farther than 8 "
        "times the farthest cell, or cut more than half of the deviation, and it is not marked",
        ("column", "ε = 1: marked", "exploded", "cut", "ε = 0.3: marked", "exploded", "cut"),
    )
    for name, make in _KINDS.items():
        row = []
        for epsilon in (1.0, 0.3):
            rng = np.random.default_rng(1)
            rows = rng.normal(size=(_ROWS, _OTHERS))
            rows[:, 0] = make(rng)
            row += _counted(rows, epsilon)
        table.rows.append((name, *row))
    return table


def _counted(rows: Array, epsilon: float) -> list[str]:
    """Return how often the first column is marked, explodes unmarked, and is cut unmarked."""
    cells = rows[~np.isnan(rows[:, 0]), 0]
    farthest = max(float(np.abs(cells).max()), 1.0)  # of a column of zeros, 1 is guessed
    marked = exploded = cut = 0
    for each in releases_of(rows, epsilon):
        lower, upper, is_marked = each.lower[0], each.upper[0], bool(each.marked[0])
        marked += is_marked
        exploded += not is_marked and max(abs(lower), abs(upper)) > 8 * farthest
        kept = np.clip(cells, lower, upper).std()
        cut += not is_marked and kept < 0.5 * cells.std()
    return [f"{marked / _RUNS:.3f}", str(exploded), str(cut)]


def tables_of_physlm(folder: str) -> Iterator[Table]:
    """Yield a table of a rare column of a real table, whose limits once collapsed."""
    frame = pd.read_parquet(Path(folder) / "sampleselection-randhie.parquet")
    numeric = frame.select_dtypes(["number", "bool"]).astype(np.float64).dropna()
    place = list(numeric.columns).index("physlm")
    rows = numeric.to_numpy()
    table = Table(
        f"physlm of randhie, nothing stated, {_RUNS:,} simulated releases: half-width of its "
        "limits (1 % quantile, median); share that keeps less than a tenth of its deviation, and "
        "share that is marked",
        ("epsilon", "half-width", "collapsed", "collapsed and not marked", "marked"),
    )
    for epsilon in (0.3, 1.0):
        half, collapsed, unmarked, marked = [], 0, 0, 0
        for each in releases_of(rows, epsilon):
            lower, upper = each.lower[place], each.upper[place]
            half.append((upper - lower) / 2)
            small = np.clip(rows[:, place], lower, upper).std() < 0.1 * rows[:, place].std()
            collapsed += small
            unmarked += small and not each.marked[place]
            marked += bool(each.marked[place])
        low, middle = np.quantile(half, [0.01, 0.5])
        table.rows.append(
            (
                f"{epsilon:g}",
                f"{low:.2g}, {middle:.2g}",
                f"{collapsed / _RUNS:.3f}",
                f"{unmarked / _RUNS:.3f}",
                f"{marked / _RUNS:.3f}",
            )
        )
    yield table
