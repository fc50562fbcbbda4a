"""The pairs mechanism against noise on all entries, where columns are many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.measure import Table
from dpcov.norms import relative_error

__all__ = ["tables"]

RUNS = 10

Array = npt.NDArray[np.float64]


def _hubs(size: int, pairs: int) -> Array:
    """Every hub has four neighbors."""
    truth = np.eye(size)
    for hub in range(0, pairs // 4 * 5, 5):
        truth[hub, hub + 1 : hub + 5] = truth[hub + 1 : hub + 5, hub] = 0.4
    return truth


def _disjoint(size: int, pairs: int) -> Array:
    truth = np.eye(size)
    place = 2 * np.arange(pairs)
    truth[place, place + 1] = truth[place + 1, place] = np.linspace(0.2, 0.8, pairs)
    return truth


def _band(size: int, pairs: int) -> Array:
    return np.eye(size) + 0.4 * (np.eye(size, k=1) + np.eye(size, k=-1))


_TRUTHS: dict[str, Callable[[int, int], Array]] = {
    "hub": _hubs,
    "disjoint pairs": _disjoint,
    "band": _band,
}
# truth, columns, rows, true pairs: precision and spectral error to reach.
_MARKS = {
    ("hub", 200, 5_000, 40): (1.00, 0.049),
    ("hub", 1_000, 20_000, 200): (1.00, 0.029),
    ("disjoint pairs", 1_000, 20_000, 500): (0.98, 0.139),
    ("band", 500, 20_000, 499): (1.00, 0.044),
    ("band", 1_000, 20_000, 999): (0.99, 0.225),
}


@dataclass(frozen=True)
class Case:
    """One simulated release: a truth, how many pairs to ask for, and how."""

    truth: str
    size: int
    n_rows: int
    pairs: int
    times: int = 1
    center: float | str | None = 0.0
    law: str = "normal"
    delta: float = 1e-5
    seed: int = 0


@lru_cache(maxsize=2)
def _truth_and_root(name: str, size: int, pairs: int) -> tuple[Array, Array]:
    truth = _TRUTHS[name](size, pairs)
    root = np.linalg.cholesky(truth).astype(np.float64)
    return truth, root


def _moved(rows: Array, generator: np.random.Generator) -> Array:
    """Return the rows with columns of all sizes, about places some sd from zero."""
    size = rows.shape[1]
    scale = np.exp(2 * generator.standard_normal(size))
    moved: Array = (rows + 3 * generator.standard_normal(size)) * scale
    return moved


def simulate(case: Case) -> tuple[float, float, float, float, float]:
    """Return the precision of the selection and of what is kept, recall, error and coverage."""
    truth, root = _truth_and_root(case.truth, case.size, case.pairs)
    generator = np.random.default_rng(case.seed)
    rows: Array = generator.standard_normal((case.n_rows, case.size)) @ root.T
    if case.law == "t5":
        rows /= np.sqrt(generator.chisquare(5, size=(case.n_rows, 1)) / 5)
    elif case.law == "skewed":
        rows = np.exp(0.7 * rows)
    if isinstance(case.center, str):
        rows = _moved(rows, generator)
    center = case.center
    if case.law == "skewed" and center == 0.0:
        center = 1.0  # the median of a skewed column, which is its center of signs
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", dpcov.errors.NothingDetectableWarning)
        release = dpcov.release_pairs(
            rows,
            epsilon=1.0,
            delta=case.delta,
            max_pairs=case.pairs * case.times,
            center=center,
            seed=case.seed,
        )
        estimate = release.estimate()
    first, second = release.pairs.T
    true = truth[first, second] != 0
    top = np.argsort(-np.abs(release.co_movement))[: case.pairs]
    kept = estimate.kept
    low, high = estimate.interval()
    covered = (low <= truth[first, second]) & (truth[first, second] <= high)
    return (
        float(true[top].mean()),
        float(true[kept].mean()) if kept.any() else 1.0,
        float(true[kept].sum() / case.pairs),
        relative_error(estimate.covariance, truth, 2),
        float(covered[kept].mean()) if kept.any() else 1.0,
    )


def _mean(case: Case) -> tuple[float, float, float, float, float]:
    cases = [Case(**(vars(case) | {"seed": seed})) for seed in range(RUNS)]
    with ProcessPoolExecutor(2) as pool:
        top, kept, recall, error, covered = np.mean(list(pool.map(simulate, cases)), axis=0)
    return float(top), float(kept), float(recall), float(error), float(covered)


def tables() -> Iterator[Table]:
    """Yield the tables of the study."""
    yield _marks_table()
    yield _variants_table()
    yield _centers_table()


def _marks_table() -> Table:
    table = Table(
        f"Pairs, public center, (1, 1e-5), mean of {RUNS} runs; diagonal alone: error 0.444",
        ("truth", "p", "n", "pairs", "precision", "recall", "error", "mark", "error / mark"),
    )
    for (truth, size, n_rows, pairs), (precision, mark) in _MARKS.items():
        top, _, recall, error, _ = _mean(Case(truth, size, n_rows, pairs))
        table.rows.append(
            (
                truth,
                str(size),
                str(n_rows),
                str(pairs),
                f"{top:.3f} ({precision})",
                f"{recall:.3f}",
                f"{error:.3f}",
                str(mark),
                f"{error / mark:.2f}",
            )
        )
    return table


def _variants_table() -> Table:
    table = Table(
        f"The same with too many pairs, other laws and no center: error (precision of what is "
        f"kept, recall), mean of {RUNS} runs",
        ("truth", "p", "2 ×", "5 ×", "10 ×", "t₅", "skewed", "differences", "differences, 2 ×"),
    )
    variants: list[dict[str, object]] = [
        {"times": 2},
        {"times": 5},
        {"times": 10},
        {"law": "t5"},
        {"law": "skewed"},
        {"center": "differences"},
        {"center": "differences", "times": 2},
    ]
    for truth, size, n_rows, pairs in _MARKS:
        cells = []
        for variant in variants:
            facts: dict[str, object] = {
                "truth": truth,
                "size": size,
                "n_rows": n_rows,
                "pairs": pairs,
            }
            _, kept, recall, error, _ = _mean(Case(**(facts | variant)))  # type: ignore[arg-type]
            cells.append(f"{error:.3f} ({kept:.2f}, {recall:.2f})")
        table.rows.append((truth, str(size), *cells))
    return table


def _centers_table() -> Table:
    table = Table(
        f"Without a known center, (1, 1e-6), columns of all sizes and places, mean of {RUNS} runs: "
        "error (recall; coverage of 95 % intervals of what is kept)",
        ("truth", "p", "n", "pairs", "stated", "learned", "differences", "learned / stated"),
    )
    for truth, size, n_rows, pairs in (
        ("hub", 1_000, 20_000, 200),
        ("band", 500, 20_000, 499),
        ("hub", 200, 5_000, 40),
    ):
        errors, cells = [], []
        for center in (0.0, "learned", "differences"):
            case = Case(truth, size, n_rows, pairs, center=center, delta=1e-6)
            _, _, recall, error, covered = _mean(case)
            errors.append(error)
            cells.append(f"{error:.3f} ({recall:.3f}; {covered:.3f})")
        ratio = f"{errors[1] / errors[0]:.2f}"
        table.rows.append((truth, str(size), str(n_rows), str(pairs), *cells, ratio))
    return table
