"""Columns of every kind: what a release without any stated fact makes of each.

The columns of a table are driven by one hidden factor, so that all are related, and every
kind stands beside well-behaved ones. Everything is compared with the raw table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import dpcov
from benchmarks.measure import Table

__all__ = ["tables"]

_RUNS = 10
_ROWS = (1_000, 5_000, 20_000, 100_000)
_OTHERS = 8
_LOADING = 0.6

Array = npt.NDArray[np.float64]

KINDS: dict[str, Callable[[Array], Any]] = {
    "about Gaussian": lambda z: z,
    "0/1": lambda z: (z > 0.3) * 1.0,
    "rare 0/1 (2 %)": lambda z: (z > 2.05) * 1.0,
    "Likert 1 to 5": lambda z: np.clip(np.rint(3 + z), 1, 5),
    "counts, 80 % zeros": lambda z: np.floor(np.maximum(0, z - 0.84) * 4),
    "money, log-normal": lambda z: np.exp(10 + 1.2 * z),
    "money, 60 % zeros": lambda z: np.where(z > 0.25, np.exp(8 + z), 0),
    "years 2000 ± 6": lambda z: np.rint(2000 + 6 * z),
    "negative": lambda z: -np.exp(z),
    "both signs, heavy tails": lambda z: np.sinh(1.5 * z),
    "unit of 1e-9": lambda z: 1e-9 * (3 + z),
    "unit of 1e9": lambda z: 1e9 * (3 + z),
    "identifier's offset, 1e6 ± 1,000": lambda z: 1e6 + 1000 * z,
}


def tables() -> Iterator[Table]:
    """Yield errors and coverage for each kind and number of rows."""
    table = Table(
        "Columns of every kind, nothing stated, (1, 1e-6): root mean square error of the "
        f"correlations of such a column with {_OTHERS} others; coverage of the 95 % intervals of "
        "its covariances in the limited table; its sd over the true one; runs in which it was said "
        f"not to be seen, of {_RUNS}",
        ("kind", *(f"n = {n_rows}" for n_rows in _ROWS)),
    )
    for name, make in KINDS.items():
        table.rows.append((name, *(_summary(make, n_rows) for n_rows in _ROWS)))
    yield table


def _summary(make: Callable[[Array], Any], n_rows: int) -> str:
    found = np.array([_outcome(make, n_rows, seed) for seed in range(_RUNS)])
    error, covered, deviation, unseen = found.T
    return (
        f"{np.sqrt(np.mean(error**2)):.3f}; {covered.mean():.2f}; {np.median(deviation):.2f}; "
        f"{int(unseen.sum())}"
    )


def _outcome(make: Callable[[Array], Any], n_rows: int, seed: int) -> list[float]:
    generator = np.random.default_rng([seed, n_rows])
    hidden = generator.normal(size=(n_rows, 1))
    rows = _LOADING * hidden + np.sqrt(1 - _LOADING**2) * generator.normal(
        size=(n_rows, _OTHERS + 1)
    )
    rows[:, 0] = make(rows[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = dpcov.release(
            pd.DataFrame(rows, columns=[f"v{place}" for place in range(_OTHERS + 1)]),
            epsilon=1.0,
            delta=1e-6,
            seed=seed,
        )
        estimate = release.estimate(sparse=False)
    truth = np.corrcoef(rows.T)
    learned: Any = release.learned
    limited = np.cov(np.clip(rows, learned.lower, learned.upper).T, bias=True)
    low, high = estimate.interval(0.95, about="table")
    error = np.sqrt(np.mean((estimate.correlation - truth)[0, 1:] ** 2))
    covered = np.mean(((low <= limited) & (limited <= high))[0])
    deviation = np.sqrt(estimate.covariance[0, 0]) / rows[:, 0].std()
    return [
        float(error),
        float(covered),
        float(deviation),
        float(learned.known_scale[0] == 2),
    ]
