"""Whether intervals cover that are about one column with a long tail among columns without.

The rows that are clipped are those in which such a column is far out, so its variance loses
more than others. All columns are driven by one hidden factor, or one column follows the tail of
another and the rest are independent; nothing is stated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

import dpcov
from benchmarks.measure import Table

__all__ = ["tables"]

_RUNS = 20
_ROWS = (5_000, 20_000)
_OTHERS = (1, 3, 9, 20)
_LOADING = 0.5

Array = npt.NDArray[np.float64]

KINDS: dict[str, Callable[[Array], Any]] = {
    "log-normal, 0.8": lambda z: np.exp(10 + 0.8 * z),
    "log-normal, 1.0": lambda z: np.exp(10 + z),
    "log-normal, 1.2": lambda z: np.exp(10 + 1.2 * z),
    "gamma, 0.7": lambda z: 1000 * stats.gamma.ppf(stats.norm.cdf(z), 0.7),
    "counts, 80 % zeros": lambda z: np.floor(np.maximum(0, z - 0.84) * 4),
    "money, 60 % zeros": lambda z: np.where(z > 0.25, np.exp(8 + z), 0),
    "t with 5 degrees": lambda z: stats.t.ppf(stats.norm.cdf(z), 5),
    "rare 0/1 (2 %)": lambda z: (z > 2.05) * 1.0,
}
SHORT: tuple[Callable[[Array], Any], ...] = (
    lambda z: np.clip(np.rint(3 + z), 1, 5),
    lambda z: (z > 0.3) * 1.0,
    lambda z: z,
)


_FOLLOWED_RUNS = 40
_SPREADS = (0.8, 1.2)
_FOLLOWED = ((3, 10_000), (9, 10_000), (9, 20_000), (19, 20_000), (9, 100_000))


def tables() -> Iterator[Table]:
    """Yield the coverage for each kind, number of rows and number of other columns."""
    yield _of_kinds()
    yield _of_followed()


def _of_kinds() -> Table:
    table = Table(
        "One column with a long tail beside normal, Likert and 0/1 ones, nothing stated, "
        "(1, 1e-6): coverage of the 95 % interval of its variance in the limited table; of its "
        f"covariances; of all others; its released variance over the limited one; {_RUNS} runs",
        ("kind", "rows", *(f"beside {others}" for others in _OTHERS)),
    )
    for name in KINDS:
        for n_rows in _ROWS:
            cells = [_summary(name, n_rows, others) for others in _OTHERS]
            table.rows.append((name, f"{n_rows:,}", *cells))
    return table


def _of_followed() -> Table:
    table = Table(
        "A log-normal column that another one follows, beside independent normal ones: coverage "
        "of the 95 % intervals of its variance; of the variance of the other; of all other "
        f"entries; its released variance over the limited one; {_FOLLOWED_RUNS} runs",
        ("sd of logarithms", *(f"beside {others}, {rows:,} rows" for others, rows in _FOLLOWED)),
    )
    for spread in _SPREADS:
        cells: list[str] = []
        for others, n_rows in _FOLLOWED:
            start = 10_000 * len(table.rows) + 1000 * len(cells)
            seeds = range(start, start + _FOLLOWED_RUNS)
            found = [_look_at(_followed(spread, n_rows, others, seed), seed) for seed in seeds]
            own, follower, rest, ratio = np.mean([_in_short(*each) for each in found], axis=0)
            cells.append(f"{own:.2f}; {follower:.2f}; {rest:.2f}; {ratio:.3f}")
        table.rows.append((str(spread), *cells))
    return table


def _in_short(covered: npt.NDArray[np.bool_], ratio: float) -> list[float]:
    entries = np.triu_indices(len(covered))
    rest = covered[entries][(entries[0] != entries[1]) | (entries[0] > 1)]
    return [float(covered[0, 0]), float(covered[1, 1]), float(rest.mean()), ratio]


def _followed(spread: float, n_rows: int, others: int, seed: int) -> Array:
    rows = np.random.default_rng([seed, n_rows, others]).normal(size=(n_rows, others + 1))
    tail = np.exp(spread * rows[:, 0])
    rows[:, 0], rows[:, 1] = 1000 * tail, rows[:, 1] + tail / 2
    return rows


def _summary(name: str, n_rows: int, others: int) -> str:
    found = np.array([_outcome(name, n_rows, others, seed) for seed in range(_RUNS)])
    own, pairs, rest, ratio = found.mean(axis=0)
    return f"{own:.2f}; {pairs:.2f}; {rest:.2f}; {ratio:.3f}"


def _outcome(name: str, n_rows: int, others: int, seed: int) -> list[float]:
    covered, ratio = _look_at(_rows(name, n_rows, others, seed), seed)
    rest = covered[1:, 1:][np.triu_indices(others)]
    return [float(covered[0, 0]), float(covered[0, 1:].mean()), float(rest.mean()), ratio]


def _look_at(rows: Array, seed: int) -> tuple[npt.NDArray[np.bool_], float]:
    """Return which entries are covered, and the first released variance over the limited one."""
    frame = pd.DataFrame(rows, columns=[f"v{place}" for place in range(rows.shape[1])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = dpcov.release(frame, epsilon=1.0, delta=1e-6, seed=seed)
        estimate = release.estimate()
    limits: Any = release.limits
    truth = np.cov(np.clip(rows, *limits).T, bias=True)
    low, high = estimate.interval(0.95, about="table")
    covered = (low <= truth) & (truth <= high)
    return covered, float(release.matrix[0, 0] * release.units.scale[0] ** 2 / truth[0, 0])


def _rows(name: str, n_rows: int, others: int, seed: int) -> Array:
    generator = np.random.default_rng([seed, n_rows, others])
    hidden = generator.normal(size=(n_rows, 1))
    own = generator.normal(size=(n_rows, others + 1))
    latent = _LOADING * hidden + np.sqrt(1 - _LOADING**2) * own
    columns = [KINDS[name](latent[:, 0])]
    columns += [SHORT[place % len(SHORT)](latent[:, place]) for place in range(1, others + 1)]
    return np.column_stack(columns).astype(np.float64)
