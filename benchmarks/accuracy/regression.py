"""Regressions from a release against those of the rows.

Simulated rows: how often 95 % intervals of coefficients cover. Real tables: every column as an
outcome on a few others, against least squares on the raw rows, whose cells are limited as the
release says; and whether the claimed R² is what the published coefficients achieve there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import dpcov
from benchmarks.accuracy.tables import RealTable
from benchmarks.measure import Table
from dpcov.answers import Fit
from dpcov.errors import ParameterError

__all__ = ["real_tables", "tables"]

_RUNS = 300
_SIZES = (6, 12, 30, 100)
_ROWS = (5_000, 50_000)
_EPSILONS = (0.5, 1.0, 3.0)
_DELTA = 1e-6
_PREDICTORS = 5

Array = npt.NDArray[np.float64]


def tables() -> Iterator[Table]:
    """Yield the coverage of intervals on simulated rows: numbers, with gaps, with a category."""
    table = Table(
        f"Coverage of 95 % intervals of slopes, {_RUNS} runs (25 at 100 columns)",
        ("columns", "rows", "epsilon", "population", "table", "told", "R² within 2 errors"),
    )
    for kind in ("numbers", "gaps", "category"):
        for n_columns in _SIZES if kind == "numbers" else (12,):
            for n_rows in _ROWS:
                for epsilon in _EPSILONS:
                    runs = _RUNS if n_columns < 100 else 25
                    line = _coverage(kind, n_columns, n_rows, epsilon, runs)
                    name = f"{n_columns}" if kind == "numbers" else f"{n_columns}, {kind}"
                    table.rows.append((name, f"{n_rows:,}", f"{epsilon:g}", *line))
    yield table


def _coverage(kind: str, n_columns: int, n_rows: int, epsilon: float, runs: int) -> tuple[str, ...]:
    population, table, told, good = [], [], [], []
    for seed in range(runs):
        frame, slopes = _simulate(kind, n_columns, n_rows, seed)
        facts = {str(name): {"levels": ["a", "b", "c"]} if name == "g" else {} for name in frame}
        release = dpcov.release(frame, epsilon=epsilon, delta=_DELTA, columns=facts, seed=seed)
        names = [name for name in frame.columns if name != "y"]
        fit = release.regress("y", on=names)
        population.append(_covers(fit, slopes)[fit.told[1:]])
        told.append(fit.told[1:].mean())
        if kind == "gaps":  # nobody's least squares is of pairwise-complete rows
            continue
        exact = release.regress("y", on=names, about="table")
        truth, achieved = _least_squares(limited(frame, release), exact)
        table.append(_covers(exact, truth)[exact.told[1:]])
        if exact.quality.is_told:
            good.append(abs(exact.r_squared - achieved) <= 2 * exact.r_squared_error)
    return (
        f"{_mean(population):.3f}",
        f"{_mean(table):.3f}" if table else "–",
        f"{np.mean(told):.2f}",
        f"{np.mean(good):.3f}" if good else "–",
    )


def _mean(parts: list[npt.NDArray[np.bool_]]) -> float:
    joined = np.concatenate(parts)
    return float(joined.mean()) if len(joined) else float("nan")


def _simulate(kind: str, n_columns: int, n_rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Return rows of one common factor in other units, and the slopes of the last column."""
    rng = np.random.default_rng([seed, n_columns, n_rows])
    size = n_columns - 1
    values = np.sqrt(0.3) * rng.normal(size=(n_rows, 1)) + np.sqrt(0.7) * rng.normal(
        size=(n_rows, size)
    )
    values = values * np.linspace(1, 5, size) + np.linspace(-3, 10, size)
    slopes = np.zeros(size)
    slopes[:3] = 0.5, -0.3, 0.2
    frame = pd.DataFrame(values, columns=[f"x{place}" for place in range(size)])
    frame["y"] = 2 + values @ slopes + rng.normal(size=n_rows)
    if kind == "category":
        group = rng.choice(["a", "b", "c"], n_rows, p=[0.5, 0.35, 0.15])
        frame["g"] = pd.Categorical(group, categories=["a", "b", "c"])
        frame["y"] += 0.5 * (group == "b") - 0.5 * (group == "c")
        slopes = np.append(slopes, [0.5, -0.5])
    if kind == "gaps":
        frame = frame.mask(rng.random(frame.shape) < 0.15)
    return frame, slopes


def _covers(fit: Fit, truth: Array) -> npt.NDArray[np.bool_]:
    low, high = fit.interval()
    return np.asarray((low[1:] <= truth) & (truth <= high[1:]))


def limited(frame: pd.DataFrame, release: dpcov.Release) -> pd.DataFrame:
    """Return the values that a release is about: cells limited, levels as indicators."""
    limits = release.limits
    if limits is None:
        raise AssertionError("unreachable: limits are learned without a row norm")
    values = {}
    for place, name in enumerate(release.columns):
        field = release.design.fields[release.design.field_of[place]]
        if field.levels is None:
            values[name] = frame[name].clip(limits[0][place], limits[1][place])
        else:
            values[name] = (frame[field.name] == name.split("=", 1)[1]).astype(float)
    return pd.DataFrame(values)


def _least_squares(values: pd.DataFrame, fit: Fit) -> tuple[Array, float]:
    """Return the slopes of the rows, and the R² that the slopes of a fit achieve on them."""
    outcome = values[fit.outcome].to_numpy()
    used = [name not in fit.left_out for name in fit.predictors]
    names = [name for name, is_used in zip(fit.predictors, used, strict=True) if is_used]
    rows = np.column_stack([np.ones(len(values)), values[names].to_numpy()])
    slopes = np.full(len(used), np.nan)
    slopes[used] = np.linalg.lstsq(rows, outcome, rcond=None)[0][1:]
    left = np.var(outcome - fit.predict(values))
    return slopes, float(1 - left / np.var(outcome))


def real_tables(folder: str) -> Iterator[Table]:
    """Yield, for each table, how often intervals cover and whether R² is what is achieved."""
    table = Table(
        f"Regressions from releases of real tables, (1, {_DELTA:g}), 3 runs: every column on "
        f"{_PREDICTORS} others, against least squares on the rows",
        (
            "table",
            "regressions",
            "slopes told",
            "coverage of told slopes",
            "R² within 2 errors",
            "largest error of R²",
            "median error of R²",
        ),
    )
    numbers = []
    for path in sorted(Path(folder).glob("*.parquet")):
        found = _regressions(RealTable.read(path))
        numbers.append([float(np.mean(column)) for column in found[:3]])
        table.rows.append(
            (
                path.stem,
                f"{len(found[2])}",
                *(f"{np.mean(column):.3f}" for column in found[:3]),
                f"{np.max(found[3]):.3f}",
                f"{np.median(found[3]):.3f}",
            )
        )
    means = np.mean(numbers, axis=0)
    table.rows.append(("mean", "", *(f"{number:.3f}" for number in means), "", ""))
    yield table


def _regressions(table: RealTable) -> tuple[list[float], list[float], list[float], list[float]]:
    told: list[float] = []
    covered, good, errors = [], [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = dpcov.release(
                table.frame, epsilon=1.0, delta=_DELTA, columns=table.bounds, seed=seed
            )
        values = limited(table.frame, release)
        varies = [name for name in release.columns if values[name].std() > 0]
        for outcome in varies:
            others = [name for name in varies if name != outcome]
            names = [str(name) for name in rng.permutation(others)[:_PREDICTORS]]
            try:
                fit = release.regress(outcome, on=names, about="table")
            except ParameterError:  # all predictors are lost in noise
                told += [0.0] * len(names)
                continue
            truth, achieved = _least_squares(values, fit)
            told += fit.told[1:].tolist()
            covered += _covers(fit, truth)[fit.told[1:]].tolist()
            if fit.quality.is_told:
                good.append(abs(fit.r_squared - achieved) <= 2 * fit.r_squared_error)
                errors.append(abs(fit.r_squared - achieved))
    return told, covered, good, errors
