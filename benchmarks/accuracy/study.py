"""Simulated studies: rows honestly clipped at their 99 % radius, ε = 1, δ = 1/n."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.accuracy.truths import TRUTHS
from benchmarks.measure import Table
from dpcov.norms import relative_error

__all__ = ["Outcome", "simulate", "tables"]

RUNS = 12

# (truth, columns, rows): spectral and ℓ₁ error of a thinned threshold, the mark to reach.
_MARKS = {
    ("paper's model, sr = .2", 100, 10_000): (0.176, 0.260),
    ("paper's model, sr = .2", 100, 100_000): (0.096, 0.188),
    ("paper's model, sr = .2", 200, 100_000): (0.234, 0.348),
    ("Cai–Liu model 1", 100, 10_000): (0.145, 0.341),
    ("Cai–Liu model 1", 100, 100_000): (0.013, 0.032),
    ("Cai–Liu model 1", 200, 10_000): (0.464, 0.916),
    ("Cai–Liu model 1", 200, 100_000): (0.025, 0.072),
}
_OTHERS = [
    (truth, size, n_rows)
    for truth in ("identity", "band", "blocks", "hubs", "random signs", "low rank")
    for size, n_rows in ((100, 20_000), (200, 100_000))
]


@dataclass(frozen=True)
class Outcome:
    """What one simulated run gave."""

    raw: tuple[float, float]
    sparse: tuple[float, float]
    dense: tuple[float, float]
    pairs_kept: float
    coverage: float
    edges: int
    false_edges: int


def simulate(case: tuple[str, int, int, int]) -> Outcome:
    """Simulate, release and estimate once: (truth, columns, rows, seed)."""
    name, size, n_rows, seed = case
    generator = np.random.default_rng(seed)
    truth = TRUTHS[name](size, generator)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", dpcov.errors.NothingDetectableWarning)
        rows = generator.standard_normal((n_rows, size)) @ np.linalg.cholesky(truth).T
        row_norm = float(np.quantile(np.linalg.norm(rows, axis=1), 0.99))
        release = dpcov.release(rows, epsilon=1.0, delta=1 / n_rows, row_norm=row_norm, seed=seed)
        estimate = release.estimate()
        dense = release.estimate(sparse=False)
    low, high = estimate.interval()
    above = np.triu_indices(size, k=1)
    edges = estimate.edges(fdr=0.1)
    places = [(int(edge.first[1:]), int(edge.second[1:])) for edge in edges]
    return Outcome(
        raw=_errors(release.matrix, truth),
        sparse=_errors(estimate.covariance, truth),
        dense=_errors(dense.covariance, truth),
        pairs_kept=float(estimate.support[above].mean()),
        coverage=float(((low <= truth) & (truth <= high))[above].mean()),
        edges=len(places),
        false_edges=sum(truth[place] == 0 for place in places),
    )


def tables() -> Iterator[Table]:
    """Yield the tables of the study."""
    yield _marks_table()
    yield _others_table()


def _marks_table() -> Table:
    table = Table(
        f"Relative error, spectral / ℓ₁, mean of {RUNS} runs",
        ("truth", "p", "n", "raw", "estimate()", "sparse=False", "mark", "estimate / mark"),
    )
    for (truth, size, n_rows), mark in _MARKS.items():
        runs = _run(truth, size, n_rows)
        sparse = _mean(runs, "sparse")
        ratio = tuple(a / b for a, b in zip(sparse, mark, strict=True))
        cells = (_mean(runs, "raw"), sparse, _mean(runs, "dense"), mark, ratio)
        table.rows.append((truth, str(size), f"{n_rows:.0e}", *(_pair(*cell) for cell in cells)))
    return table


def _others_table() -> Table:
    table = Table(
        f"Other truths, mean of {RUNS} runs",
        (
            "truth",
            "p",
            "n",
            "raw",
            "estimate()",
            "sparse=False",
            "pairs kept",
            "coverage of 95 % intervals",
            "edges at FDR 0.1",
            "false",
        ),
    )
    for truth, size, n_rows in _OTHERS:
        runs = _run(truth, size, n_rows)
        shares = [run.false_edges / max(1, run.edges) for run in runs]
        table.rows.append(
            (
                truth,
                str(size),
                f"{n_rows:.0e}",
                *(_pair(*_mean(runs, name)) for name in ("raw", "sparse", "dense")),
                f"{np.mean([run.pairs_kept for run in runs]):.1%}",
                f"{np.mean([run.coverage for run in runs]):.3f}",
                f"{np.mean([run.edges for run in runs]):.1f}",
                f"{np.mean(shares):.3f}",
            )
        )
    return table


def _run(truth: str, size: int, n_rows: int) -> list[Outcome]:
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(simulate, [(truth, size, n_rows, seed) for seed in range(RUNS)]))


def _errors(matrix: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    return relative_error(matrix, truth, 2), relative_error(matrix, truth, 1)


def _mean(runs: list[Outcome], name: str) -> tuple[float, float]:
    spectral, column_sum = np.mean([getattr(run, name) for run in runs], axis=0)
    return float(spectral), float(column_sum)


def _pair(first: float, second: float) -> str:
    return f"{first:.3f} / {second:.3f}"
