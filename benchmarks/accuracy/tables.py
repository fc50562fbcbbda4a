"""Real tables: the error of correlations, the coverage of intervals, the pairs that are listed.

Everything is compared with the truth, computed from the raw table: its numeric columns, and
the rows that are complete in them. Reads Parquet files, each with a JSON file of the bounds that
a person could state beside it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import dpcov
from benchmarks.measure import Table

__all__ = ["tables"]

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
        return np.asarray(np.nan_to_num(np.corrcoef(self.frame.to_numpy().T)))

    @classmethod
    def read(cls, path: Path) -> RealTable:
        table = pd.read_parquet(path)
        facts: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
        numeric = table.select_dtypes(["number", "bool"]).astype(np.float64).dropna()
        bounds = {
            name: (facts.get(name, {}).get("lower"), facts.get(name, {}).get("upper"))
            for name in numeric.columns
        }
        return cls(path.stem, numeric.reset_index(drop=True), bounds)


@dataclass(frozen=True)
class Outcome:
    """What one release of one table came to."""

    error: float
    covered: float
    listed: int
    false: int


def tables(folder: str) -> Iterator[Table]:
    """Yield a table of errors for each epsilon."""
    found = [RealTable.read(path) for path in sorted(Path(folder).glob("*.parquet"))]
    if not found:
        raise SystemExit(f"There are no Parquet files in {folder}.")
    for epsilon in _EPSILONS:
        yield _table_of(found, epsilon)


def _table_of(found: list[RealTable], epsilon: float) -> Table:
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
    for name, summary in (("median", np.median), ("mean", np.mean)):
        table.rows.append((name, "", "", *_formatted(summary(np.array(numbers), axis=0))))
    return table


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _formatted(row: Any) -> list[str]:
    *shares, listed, false = row
    return [*(f"{share:.4f}" for share in shares), f"{listed:.1f}", f"{false:.1f}"]


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
    )


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
