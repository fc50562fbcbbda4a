"""Data of unknown scale and mean: what knowing less costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.accuracy.truths import TRUTHS
from benchmarks.measure import Table
from dpcov.norms import relative_error

__all__ = ["tables"]

RUNS = 10
SIZE = 100

Array = npt.NDArray[np.float64]

# What is known: how the options follow from the rows (a bound that is "known" is their 99 %
# radius, which nobody may read from real data) and from the scale and mean of the columns.
_WAYS: dict[str, Callable[[Array, Array, Array], dict[str, Any]]] = {
    "centers, R": lambda rows, mean, scale: {
        "row_norm": _radius(rows - mean),
        "columns": _centers(mean),
    },
    "centers, R 3× too big": lambda rows, mean, scale: {
        "row_norm": 3 * _radius(rows - mean),
        "columns": _centers(mean),
    },
    "centers; the rest learned": lambda rows, mean, scale: {"columns": _centers(mean)},
    "R": lambda rows, mean, scale: {"row_norm": _radius(rows)},
    "nothing": lambda rows, mean, scale: {},
    "bounds ±4 sd": lambda rows, mean, scale: {"columns": _bounds(mean, scale, 4)},
    "bounds ±4 sd, R": lambda rows, mean, scale: {
        "columns": _bounds(mean, scale, 4),
        "row_norm": _radius((rows - mean) / (4 * scale)),
    },
}
# data: rows, then the errors to reach in the order of _WAYS; 0 where there is no mark.
_DATA = {
    "Gaussian": (50_000, (0.026, 0.449, 0.029)),
    "t₅": (10_000, (0.723, 2.00, 0.666)),
    "log-normal scales": (20_000, (0.027, 0.119, 0.031)),
}


@dataclass(frozen=True)
class Case:
    """One simulated release."""

    data: str
    way: str
    seed: int


def simulate(case: Case) -> float:
    """Return the relative spectral error of one estimate."""
    generator = np.random.default_rng(case.seed)
    truth = TRUTHS["Cai–Liu model 1"](SIZE, generator)
    if case.data == "log-normal scales":
        scale = np.exp(0.7 * generator.standard_normal(SIZE))
        truth = truth / np.sqrt(np.outer(np.diag(truth), np.diag(truth))) * np.outer(scale, scale)
    n_rows, _ = _DATA[case.data]
    rows = generator.standard_normal((n_rows, SIZE)) @ np.linalg.cholesky(truth).T
    if case.data == "t₅":
        rows /= np.sqrt(generator.chisquare(5, size=(n_rows, 1)) / 3)  # of the same covariance
    deviation = np.sqrt(np.diag(truth))
    mean = 0.5 * deviation * generator.choice([-1.0, 1.0], size=SIZE)
    rows += mean
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        options = _WAYS[case.way](rows, mean, deviation)
        release = dpcov.release(rows, epsilon=1.0, delta=1e-5, seed=case.seed, **options)
        return relative_error(release.estimate(sparse=False).covariance, truth, 2)


def tables() -> Iterator[Table]:
    """Yield the table of the study."""
    table = Table(
        f"Relative spectral error (mark), p = {SIZE}, (1, 1e-5), mean of {RUNS} runs",
        ("known", *(f"{name}, n = {n_rows:,}" for name, (n_rows, _) in _DATA.items())),
    )
    for place, way in enumerate(_WAYS):
        cells = []
        for data, (_, marks) in _DATA.items():
            with ProcessPoolExecutor(2) as pool:
                cases = [Case(data, way, seed) for seed in range(RUNS)]
                error = float(np.mean(list(pool.map(simulate, cases))))
            mark = f" ({marks[place]})" if place < len(marks) else ""
            cells.append(f"{error:.3f}{mark}")
        table.rows.append((way, *cells))
    yield table


def _radius(rows: Array) -> float:
    return float(np.quantile(np.linalg.norm(rows, axis=1), 0.99))


def _centers(mean: Array) -> dict[str, dict[str, float]]:
    return {f"x{place}": {"center": center} for place, center in enumerate(mean)}


def _bounds(mean: Array, scale: Array, width: float) -> dict[str, dict[str, float]]:
    return {
        f"x{place}": {"lower": center - width * unit, "upper": center + width * unit}
        for place, (center, unit) in enumerate(zip(mean, scale, strict=True))
    }
