"""Real tables: the error of correlations, the coverage of intervals, the pairs that are listed.

Everything is compared with the truth, computed from the raw table: its numeric columns, and
the rows that are complete in them. Reads Parquet files, each with a JSON file of the bounds that
a person could state beside it. Without one, the ends of each column stand in for knowledge, rounded
outward to one digit.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import dpcov
from benchmarks.measure import Table

__all__ = ["stand_in", "tables"]

_RUNS = 5
_EPSILONS = (1.0, 0.3, 3.0)
_DELTA = 1e-6

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RealTable:
    """The numeric columns of a table, complete, with the bounds that a person could state."""

    name: str
    frame: pd.DataFrame
    bounds: dict[str, tuple[float | None, float | None]]

    @property
    def correlation(self) -> Array:
        with np.errstate(invalid="ignore"):  # of a constant column
            return np.asarray(np.nan_to_num(np.corrcoef(self.frame.to_numpy().T)))

    @classmethod
    def read(cls, path: Path) -> RealTable:
        table = pd.read_parquet(path)
        numeric = table.select_dtypes(["number", "bool"]).astype(np.float64).dropna()
        stated = path.with_suffix(".json")
        facts: dict[str, Any] = json.loads(stated.read_text()) if stated.exists() else {}
        bounds = {
            name: (facts.get(name, {}).get("lower"), facts.get(name, {}).get("upper"))
            if facts
            else stand_in(numeric[name].to_numpy())
            for name in numeric.columns
        }
        return cls(path.stem, numeric.reset_index(drop=True), bounds)


def stand_in(cells: Array) -> tuple[float | None, float | None]:
    """Return the ends of a column, rounded outward to one digit. Nobody may do so in earnest."""
    low, high = -_one_digit_up(-float(cells.min())), _one_digit_up(float(cells.max()))
    return (low, high) if low < high else (None, None)


def _one_digit_up(number: float) -> float:
    if number == 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(abs(number)))
    return math.ceil(round(number / unit, 9)) * unit


@dataclass(frozen=True)
class Limited:
    """What the limits left of one column, and whether the release says so."""

    kind: str
    kept: float
    is_marked: bool


@dataclass(frozen=True)
class Outcome:
    """What one release of one table came to."""

    error: float
    covered: float
    listed: int
    false: int
    columns: list[Limited]


def tables(folder: str) -> Iterator[Table]:
    """Yield a table of errors for each epsilon, and one of what limits cut at the first."""
    found = [RealTable.read(path) for path in sorted(Path(folder).glob("*.parquet"))]
    if not found:
        raise SystemExit(f"There are no Parquet files in {folder}.")
    for epsilon in _EPSILONS:
        limited: dict[str, list[Limited]] = {}
        yield _table_of(found, epsilon, limited)
        if epsilon == _EPSILONS[0]:
            yield _table_of_limits(limited)


def _table_of(found: list[RealTable], epsilon: float, limited: dict[str, list[Limited]]) -> Table:
    table = Table(
        f"Real tables, epsilon = {epsilon:g}, delta = {_DELTA:g}, {_RUNS} runs: root mean square "
        "error of correlations; coverage of 95 % intervals of the limited table's covariances; "
        "pairs listed at a false discovery rate of 0.1, and how many of them are false",
        (
            "table",
            "rows",
            "columns",
            "zeros",
            "bounds stated",
            "nothing stated",
            "coverage",
            "coverage, nothing stated",
            "listed",
            "false",
        ),
    )
    numbers: list[list[float]] = []
    for real in found:
        truth = real.correlation
        zeros = _error(np.eye(len(truth)), truth)
        stated, nothing = (
            [_outcome(real, truth, columns, epsilon, seed) for seed in range(_RUNS)]
            for columns in (real.bounds, None)
        )
        row = [
            zeros,
            *(_mean(each.error for each in some) for some in (stated, nothing)),
            *(_mean(each.covered for each in some) for some in (stated, nothing)),
            _mean(each.listed for each in nothing),
            _mean(each.false for each in nothing),
        ]
        numbers.append(row)
        table.rows.append((real.name, str(len(real.frame)), str(len(truth)), *_formatted(row)))
        for name, some in (("bounds stated", stated), ("nothing stated", nothing)):
            limited.setdefault(name, []).extend(one for each in some for one in each.columns)
    for name, summary in (("median", np.median), ("mean", np.mean), ("worst", _worst)):
        table.rows.append((name, "", "", *_formatted(summary(np.array(numbers), axis=0))))
    return table


def _worst(numbers: Array, axis: int) -> Array:
    """Return the largest errors and counts of false pairs, the lowest coverage, and no more."""
    high, low = numbers.max(axis=axis), numbers.min(axis=axis)
    return np.array([np.nan, *high[1:3], *low[3:5], np.nan, high[6]])


def _table_of_limits(limited: dict[str, list[Limited]]) -> Table:
    table = Table(
        "What limits leave of the standard deviation of a column: share of columns and runs in "
        "which it is less than 0.8 and less than 0.5 of that of the raw table, and how many of "
        "the latter are marked, as not seen or as clearly cut; share of the others that is marked",
        ("stated", "kind", "columns × runs", "< 0.8", "< 0.5", "of these marked", "others marked"),
    )
    for stated, columns in limited.items():
        kinds = defaultdict(list)
        for column in columns:
            kinds[column.kind].append(column)
        for kind, some in sorted(kinds.items()):
            cut = [column for column in some if column.kept < 0.5]
            others = [column for column in some if column.kept >= 0.5]
            table.rows.append(
                (
                    stated,
                    kind,
                    str(len(some)),
                    f"{_mean(column.kept < 0.8 for column in some):.3f}",
                    f"{_mean(column.kept < 0.5 for column in some):.3f}",
                    f"{_mean(column.is_marked for column in cut):.2f}" if cut else "",
                    f"{_mean(column.is_marked for column in others):.2f}",
                )
            )
    return table


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _formatted(row: Any) -> list[str]:
    *shares, listed, false = row
    numbers = [*(f"{share:.4f}" for share in shares), f"{listed:.1f}", f"{false:.1f}"]
    return [number.replace("nan", "") for number in numbers]


def _outcome(real: RealTable, truth: Array, columns: Any, epsilon: float, seed: int) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = dpcov.release(
            real.frame, epsilon=epsilon, delta=_DELTA, columns=columns, header=True, seed=seed
        )
        estimate = release.estimate()
    edges = estimate.edges(fdr=0.1)
    places = {name: place for place, name in enumerate(release.columns)}
    related = [truth[places[edge.first], places[edge.second]] for edge in edges]
    false = sum(
        bool(abs(true) < 0.01 or np.sign(true) != np.sign(edge.value))
        for edge, true in zip(edges, related, strict=True)
    )
    return Outcome(
        error=_error(estimate.correlation, truth),
        covered=_coverage(estimate, real.frame.to_numpy()),
        listed=len(edges),
        false=false,
        columns=_limited(release, real.frame.to_numpy()),
    )


def _limited(release: Any, rows: Array) -> list[Limited]:
    """Return what the limits left of each column that is not constant."""
    learned = release.learned
    unseen = (learned.known_range == 2) | (learned.known_scale == 2)
    cut = learned.beyond - 3 * learned.beyond_error > 0.01  # as the card says it
    before, after = rows.std(axis=0), np.clip(rows, *release.limits).std(axis=0)
    return [
        Limited(_kind(rows[:, place]), float(after[place] / before[place]), bool(is_marked))
        for place, is_marked in enumerate(unseen | cut)
        if before[place] > 0
    ]


def _kind(cells: Array) -> str:
    if len(np.unique(cells)) == 2:
        return "two values"
    return "half zeros" if np.mean(cells == 0) >= 0.5 else "others"


def _coverage(estimate: Any, rows: Array) -> float:
    """Return the share of intervals that cover the covariances of the limited table."""
    limited = np.clip(rows, *estimate.release.limits)
    truth = np.cov(limited.T, bias=True)
    low, high = estimate.interval(0.95, about="table")
    pairs = np.triu_indices(len(truth))
    return float(np.mean(((low <= truth) & (truth <= high))[pairs]))


def _error(correlation: Array, truth: Array) -> float:
    pairs = np.triu_indices(len(truth), k=1)
    return float(np.sqrt(np.mean((correlation - truth)[pairs] ** 2)))
