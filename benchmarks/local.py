"""The local model: people needed against the paper's Algorithm 2, bytes, and speed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from benchmarks.measure import Table, best_times
from dpcov import local, paper
from dpcov.exact.products import CheckedProducts
from dpcov.exact.triangle import Triangle
from dpcov.local.expansion import expand_integers, expand_words
from dpcov.local.sums import seeds_at_a_time

__all__ = ["tables"]

_DELTA = 1e-5
_COLUMNS, _PEOPLE = 50, 20_000
_TARGET = 0.01  # root mean square error of a covariance, in units of row_norm²
_EPSILONS = (0.5, 1.0, 2.0, 4.0)

Array = npt.NDArray[np.float64]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield _people_table()
    yield _bytes_table()
    yield _detection_table()
    with threadpool_limits(1):
        yield _collector_table()
        yield _profile_table()
        yield _device_table()


def _plan(size: int, epsilon: float, mechanism: str = "cap") -> local.CollectionPlan:
    return local.CollectionPlan(
        columns=[f"x{i}" for i in range(size)],
        row_norm=1.0,
        epsilon=epsilon,
        mechanism=mechanism,
        delta=_DELTA if mechanism == "gaussian" else None,
    )


def _people_table() -> Table:
    table = Table(
        f"People needed for an error of {_TARGET:g} per covariance, p = {_COLUMNS}, rows of norm 1 "
        f"(measured at n = {_PEOPLE:,})",
        (
            "ε",
            "Algorithm 2 as printed",
            "its true δ (1e-5 claimed)",
            "gaussian",
            "cap, no δ",
            "gaussian / cap",
        ),
    )
    rows = np.random.default_rng(0).standard_normal((_PEOPLE, _COLUMNS))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    truth = rows.T @ rows / _PEOPLE
    for epsilon in _EPSILONS:
        printed = paper.ldp_thresholding(
            rows, epsilon=epsilon, delta=_DELTA, gamma=0.0, row_norm=1.0, seed=1
        )
        gaussian, cap = (
            _people(_simulated(rows, _plan(_COLUMNS, epsilon, mechanism)) - truth)
            for mechanism in ("gaussian", "cap")
        )
        table.rows.append(
            (
                f"{epsilon:g}",
                f"{_people(printed.perturbed - truth):,}",
                f"{printed.actual.local:.2g}",
                f"{gaussian:,}",
                f"{cap:,}",
                f"{gaussian / cap:.1f}",
            )
        )
    return table


def _people(error: Array) -> int:
    """Scale the squared error off the diagonal to the target."""
    squared = float((error[np.triu_indices(len(error), 1)] ** 2).mean())
    return 100 * round(_PEOPLE * squared / _TARGET**2 / 100)


def _simulated(rows: Array, plan: local.CollectionPlan) -> Array:
    collector = local.Collector(plan, simulated=True)
    collector.add_many(local.simulate_reports(rows, plan, seed=1))
    return np.asarray(collector.release().matrix)


def _bytes_table() -> Table:
    table = Table(
        "Bytes of a report at ε = 1, the 34 of its envelope included",
        ("p", "Algorithm 2, 8-byte floats", "gaussian", "cap"),
    )
    for size in (10, 100, 1000):
        table.rows.append(
            (
                f"{size:,}",
                f"{4 * size * (size + 1):,}",
                f"{_plan(size, 1.0, 'gaussian').report_bytes:,}",
                f"{_plan(size, 1.0).report_bytes:,}",
            )
        )
    return table


def _detection_table() -> Table:
    table = Table(
        "People needed to detect a correlation among all pairs, at best (cap / gaussian)",
        ("p", "ε", "correlation 0.5", "0.3", "0.1"),
    )
    for size in (10, 50, 200):
        for epsilon in (1.0, 2.0, 4.0):
            cells = [
                " / ".join(
                    _rough(_plan(size, epsilon, mechanism).people_needed(correlation))
                    for mechanism in ("cap", "gaussian")
                )
                for correlation in (0.5, 0.3, 0.1)
            ]
            table.rows.append((str(size), f"{epsilon:g}", *cells))
    return table


def _rough(count: int) -> str:
    for unit, name in ((10**6, " million"), (10**3, " thousand")):
        if count >= unit:
            return (
                f"{count / unit:.2g}{name}" if count < 100 * unit else f"{count / unit:.0f}{name}"
            )
    return str(count)


def _collector_table() -> Table:
    table = Table("The collector of cap, one core", ("p", "what", "speed", "goal"))
    for size, count, goal in ((100, 100_000, "1,000,000"), (1000, 10_000, "40,000")):
        plan = _plan(size, 1.0)
        reports = local.simulate_reports(np.zeros((1, size)), plan, seed=1).repeat(count, axis=0)
        reports[:, 18:] = np.random.default_rng(0).integers(0, 256, (count, 32), dtype=np.uint8)
        single = [report.tobytes() for report in reports]
        collector, other = (local.Collector(plan, simulated=True) for _ in range(2))
        sums, more = (np.zeros((size, size), dtype=np.int64) for _ in range(2))
        other.add_many(reports[:10])
        times = best_times(
            5,
            array=lambda reports=reports, c=collector: c.add_many(reports),  # type: ignore[misc]
            single=lambda single=single, c=collector: c.add_many(single),  # type: ignore[misc]
            merge=lambda c=collector, other=other: c.merge(other),  # type: ignore[misc]
            numpy=lambda sums=sums, more=more: np.add(sums, more, out=sums),  # type: ignore[misc]
        )
        for what, name in (("packed in an array", "array"), ("as bytes objects", "single")):
            speed = f"{count / times[name]:,.0f} reports/s"
            table.rows.append((f"{size:,}", what, speed, f"≥ {goal}"))
        ratio = f"{times['merge'] / times['numpy']:.2f} × numpy's a += b"
        table.rows.append((f"{size:,}", "merge", ratio, "memory speed"))
    return table


def _profile_table() -> Table:
    """Take the collector apart: which nanoseconds of a cell are whose."""
    table = Table(
        "Where its time goes, ns a cell (a report has p cells)",
        (
            "p",
            "words (AES)",
            "integers",
            "right-hand side of the check",
            "product, checked",
            "bare product",
            "… GF/s",
            "the product alone would allow",
        ),
    )
    for size in (100, 1000):
        count = seeds_at_a_time(size)
        times = _steps(size, count)
        cells = [f"{1e9 * seconds / (count * size):.2f}" for seconds in times.values()]
        rate = 1e-9 * count * size * (size + 1) / times["bare"]
        table.rows.append(
            (f"{size:,}", *cells, f"{rate:.0f}", f"{count / times['bare']:,.0f} reports/s")
        )
    return table


def _steps(size: int, count: int) -> dict[str, float]:
    """Return the seconds of each step for one block, expanded in parts as the collector does."""
    seeds = np.random.default_rng(0).integers(0, 256, (count, 16), dtype=np.uint8)
    parts = np.array_split(seeds, max(1, count * size >> 17))
    integers = [expand_integers(part, size) for part in parts]
    whole = np.concatenate(integers).astype(np.float64)
    products = CheckedProducts(Triangle.zeros(size, np.int64), np.float64)
    times = best_times(
        5,
        words=lambda: [expand_words(part, size) for part in parts],
        integers=lambda: [expand_integers(part, size) for part in parts],
        added=lambda: products.add(whole),
        bare=lambda: whole.T @ whole,
    )
    return times | {"integers": times["integers"] - times["words"]}


def _device_table() -> Table:
    table = Table("One cap report on a device, one core", ("p", "ε", "ms", "goal"))
    for size in (10, 100, 1000):
        for epsilon in (1.0, 2.0, 4.0):
            plan, row = _plan(size, epsilon), np.full(size, 0.5 * size**-0.5)
            local.randomize(row, plan)
            times = []
            for _ in range(10):
                start = time.perf_counter()
                local.randomize(row, plan)
                times.append(time.perf_counter() - start)
            goal = "≤ 20" if size == 1000 else "–"
            milliseconds = 1000 * min(times)
            table.rows.append((f"{size:,}", f"{epsilon:g}", f"{milliseconds:.1f}", goal))
    return table
