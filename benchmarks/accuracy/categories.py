"""Categories and gaps: how often intervals cover, in simulated tables."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.measure import Table

__all__ = ["tables"]

RUNS = 200
POPULATION = 400_000
ABOUT = ("table", "population")
# Pairs that are related: for others intervals cover more, since they cannot be too high.
RELATED = [{"u", "a"}, {"u", "b"}, {"w", "a"}, {"w", "b"}, {"a", "b"}, {"a", "d"}]
KINDS = {
    "share": "shares",
    "V": "Cramér's V",
    "η²": "η²",
    "mean": "means in groups",
    "difference of means": "gaps: differences",
    "correlation of gaps": "gaps: correlations",
}


@dataclass(frozen=True)
class Case:
    """One simulated table and its release."""

    n_rows: int
    epsilon: float
    n_levels: int
    gaps: bool
    seed: int = 0


CASES = (
    Case(3_000, 1.0, 5, gaps=False),
    Case(3_000, 1.0, 5, gaps=True),
    Case(10_000, 1.0, 5, gaps=True),
    Case(10_000, 4.0, 5, gaps=True),
    Case(50_000, 1.0, 20, gaps=True),
)


def people(case: Case, n_rows: int) -> pd.DataFrame:
    """Simulate three numbers and four categories: related, unrelated, with gaps for reasons."""
    rng = np.random.default_rng(case.seed)
    factor = rng.normal(size=n_rows)
    shares = 0.75 ** np.arange(case.n_levels)
    shares[-1] = 1e-9  # a level that never occurs
    pull = np.outer(factor, 0.8 * np.cos(2.0 * np.arange(case.n_levels))) + np.log(shares)
    a = (rng.random(n_rows) < 1 / (1 + np.exp(-factor))).astype(int)
    codes = {
        "a": (a, 2),
        "b": (np.argmax(rng.gumbel(size=pull.shape) + pull, axis=1), case.n_levels),
        "c": (rng.choice(4, size=n_rows, p=[0.5, 0.3, 0.15, 0.05]), 4),
        "d": (np.argmax(rng.gumbel(size=(n_rows, 3)) + np.outer(a, [0, 0.8, 1.2]), axis=1), 3),
    }
    frame = pd.DataFrame(
        {
            "u": np.tanh(0.42 * factor + 0.7 * rng.normal(size=n_rows)),
            "w": rng.beta(2, 5, size=n_rows) + 0.1 * (factor > 0),
            "t": np.clip(np.rint(3 + rng.normal(size=n_rows)), 1, 5),
        }
    )
    for name, (code, size) in codes.items():
        levels = np.array([f"{name}{level}" for level in range(size)])
        frame[name] = pd.Categorical(levels[code], categories=levels)
    return frame.mask(_holes(frame, rng)) if case.gaps else frame


def _holes(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return which cells are missing: at random, for a reason, or together."""
    holes = pd.DataFrame(rng.random(frame.shape) < 0.1, columns=frame.columns)
    holes["t"] |= (frame["b"] == "b0") & (rng.random(len(frame)) < 0.3)
    holes["u"] |= (frame["w"] > 0.35) & (rng.random(len(frame)) < 0.4)
    together = rng.random(len(frame)) < 0.1
    holes["c"] |= together
    holes["d"] |= together
    holes["w"] = False
    return holes


class Truth:
    """What the answers are in a table, its numbers limited as a release says."""

    def __init__(self, frame: pd.DataFrame, release: dpcov.Release | None = None) -> None:
        self._frame, self._known = frame, {}  # type: ignore[var-annotated]
        if release is not None and release.limits is not None:
            place = [release.columns.index(name) for name in ("u", "w", "t")]
            low, high = (limit[place] for limit in release.limits)
            self._frame = frame.copy()
            self._frame[["u", "w", "t"]] = frame[["u", "w", "t"]].clip(low, high, axis=1)

    def of(self, line: Any) -> float:
        """Return what a line of a listing is about."""
        key = type(line).__name__, line[:3], getattr(line, "pooled", ())
        if key not in self._known:
            self._known[key] = self._find(line)
        return float(self._known[key])

    def _find(self, line: Any) -> float:
        frame = self._frame
        if isinstance(line, dpcov.LevelShare):
            return float((frame[line.column].dropna() == line.level).mean())
        if isinstance(line, dpcov.GroupMean):
            return float(frame.loc[frame[line.category] == line.level, line.number].mean())
        if isinstance(line, dpcov.GapFinding):
            gap = frame[line.gaps_of].isna()
            if line.measure == "difference of means":
                number = frame[line.column]
                return float(number[gap].mean() - number[~gap].mean())
            return float(np.corrcoef(gap, frame[line.column].isna())[0, 1])
        second = self._pooled(line.second, line.pooled)
        if line.measure == "V":
            return _cramer(self._pooled(line.first, line.pooled), second)
        number = frame[line.first].where(second.notna())
        between = number.groupby(second.where(number.notna())).transform("mean")
        return float(between.var() / number.var())

    def _pooled(self, name: str, pooled: tuple[str, ...]) -> pd.Series[Any]:
        rare = [each.partition("=")[2] for each in pooled if each.startswith(f"{name}=")]
        cells = self._frame[name].astype(object)
        return cells.where(~cells.isin(rare), "rare")


def _cramer(first: pd.Series[Any], second: pd.Series[Any]) -> float:
    table = pd.crosstab(first, second).to_numpy(dtype=np.float64)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    square = ((table - expected) ** 2 / expected).sum() / table.sum()
    return float(np.sqrt(square / (min(table.shape) - 1)))


@cache
def population(n_levels: int, gaps: bool) -> Truth:
    """Return the truth about people like those of the tables."""
    case = Case(POPULATION, 1.0, n_levels, gaps, seed=2**32)
    return Truth(people(case, POPULATION))


def simulate(case: Case) -> dict[tuple[str, str], list[bool]]:
    """Return which intervals of one release cover, for each kind of answer."""
    frame = people(case, case.n_rows)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        facts = {
            str(name): {"levels": "dtype"} if str(kind) == "category" else {}
            for name, kind in frame.dtypes.items()
        }
        release = dpcov.release(
            frame, columns=facts, epsilon=case.epsilon, delta=1e-6, seed=case.seed
        )
        estimate = release.estimate(rule="hard", threshold="cai-liu", psd="none")
    truths = {"table": Truth(frame, release), "population": population(case.n_levels, case.gaps)}
    covered: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for about in ABOUT:
        for kind, line in _answers(estimate, about):
            truth = truths[about].of(line)
            covered[kind, about].append(line.low - 1e-9 <= truth <= line.high + 1e-9)
    return covered


def _answers(estimate: dpcov.Estimate, about: str) -> Iterator[tuple[str, Any]]:
    categories = estimate.categories
    yield from (("share", line) for line in categories.shares(about=about))
    yield from (("mean", line) for line in categories.means(about=about) if line.is_told)
    for line in categories.associations(about=about):
        if {line.first, line.second} in RELATED and not np.isnan(line.value):
            yield line.measure, line
    for finding in estimate.gaps(1.0, about=about):
        if finding.measure != "V":
            yield finding.measure, finding


def tables() -> Iterator[Table]:
    """Yield how often intervals cover, about the table and about the population."""
    rows: list[tuple[str, ...]] = []
    with ProcessPoolExecutor() as pool:
        for case in CASES:
            seeds = [
                Case(case.n_rows, case.epsilon, case.n_levels, case.gaps, seed)
                for seed in range(RUNS)
            ]
            hits: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
            for covered in pool.map(simulate, seeds, chunksize=4):
                for key, found in covered.items():
                    hits[key] += found
            name = f"{case.n_rows:,}, {case.epsilon:g}, {case.n_levels}"
            shown = [name, "yes" if case.gaps else "no"]
            for kind in KINDS:
                both = [np.mean(hits[kind, about]) for about in ABOUT if hits[kind, about]]
                shown.append(" / ".join(f"{share:.3f}" for share in both))
            rows.append(tuple(shown))
    headings = ("rows, ε, K", "gaps", *KINDS.values())
    yield Table("Coverage of 95 % intervals, about the table / the population", headings, rows)
