"""How seconds grow with rows, columns, pairs and reports.

An exponent is the slope of log cost in log size over some doublings; the slope of the last
one stands beside it, since fixed costs flatten the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

import dpcov
from benchmarks.estimate import simulated_release
from benchmarks.measure import Table, best_times
from benchmarks.scale.works import (
    DELTA,
    EPSILON,
    Array,
    normal_rows,
    plan_of,
    random_seeds,
    release,
)
from dpcov.exact.grid import Grid
from dpcov.local.sums import add_up
from dpcov.sensitive.sums.gram import Gram

__all__ = ["SLOPES", "Growth", "growth_table"]

SLOPES = ("exponent", "… of the last step", "on paper")
_ROUNDS = 3


@dataclass(frozen=True)
class Growth:
    """What some work costs at some sizes.

    Parameters
    ----------
    what, by, at : str
        The work, the size that varies, and those that do not.
    sizes : tuple of int
        Doubling, or growing by another fixed factor.
    costs : tuple of float
        Seconds or bytes.
    law : str
        The exponent that the algorithm has on paper.
    """

    what: str
    by: str
    at: str
    sizes: tuple[int, ...]
    costs: tuple[float, ...]
    law: str

    @property
    def exponent(self) -> float:
        """The slope of the line through all points, by least squares."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.costs), 1)[0])

    @property
    def last_exponent(self) -> float:
        """The slope between the last two points."""
        (a, b), (low, high) = self.sizes[-2:], self.costs[-2:]
        return float(np.log(high / low) / np.log(b / a))

    def row(self, unit: float, digits: str) -> tuple[str, ...]:
        """Return its line of a table, with costs in some unit."""
        sizes = ", ".join(f"{size:,}" for size in self.sizes)
        ends = " → ".join(format(self.costs[place] / unit, digits) for place in (0, -1))
        slopes = f"{self.exponent:.2f}", f"{self.last_exponent:.2f}"
        return (self.what, self.at, f"{self.by} = {sizes}", ends, *slopes, self.law)


def growth_table() -> Table:
    """Return the exponents of time."""
    table = Table(
        "How seconds grow, one core",
        ("what", "at", "measured at", "seconds, first → last", *SLOPES),
    )
    for growths in (_of_releases, _of_pairs, _of_estimates, _of_merging, _of_collectors):
        table.rows.extend(growth.row(1.0, ".3g") for growth in growths())
    return table


def _grow(what: str, by: str, at: str, law: str, works: dict[int, Callable[[], object]]) -> Growth:
    best = best_times(_ROUNDS, **{str(size): work for size, work in works.items()})
    costs = tuple(best[str(size)] for size in works)
    return Growth(what, by, at, tuple(works), costs, law)


def _of_releases() -> Iterator[Growth]:
    def moments(rows: Array) -> Callable[[], object]:
        return partial(release, rows, norm=1.2 * rows.shape[1] ** 0.5)

    def learned(rows: Array) -> Callable[[], object]:
        return partial(release, rows)

    tall, wide = normal_rows(160_000, 200), normal_rows(20_000, 1000)
    yield _grow(
        "release, row norm stated",
        "n",
        "p = 200",
        "1",
        {n: moments(tall[:n]) for n in (20_000, 40_000, 80_000, 160_000)},
    )
    widths = {p: np.ascontiguousarray(wide[:, :p]) for p in (125, 250, 500, 1000)}
    yield _grow(
        "release, row norm stated",
        "p",
        "n = 20,000",
        "1 to 2",
        {p: moments(rows) for p, rows in widths.items()},
    )
    long = tall.reshape(-1, 50)
    yield _grow(
        "release, all learned",
        "n",
        "p = 50",
        "1",
        {n: learned(long[:n]) for n in (80_000, 160_000, 320_000, 640_000)},
    )
    yield _grow(
        "release, all learned",
        "p",
        "n = 20,000",
        "1 to 2",
        {p: learned(rows) for p, rows in widths.items()},
    )


def _of_pairs() -> Iterator[Growth]:
    rows = np.random.default_rng(0).standard_normal((4000, 4000), dtype=np.float32)

    def pairs(size: int, most: int) -> Callable[[], object]:
        part = np.ascontiguousarray(rows[:, :size])
        return lambda: dpcov.release_pairs(part, epsilon=EPSILON, delta=DELTA, max_pairs=most)

    yield _grow(
        "release_pairs",
        "p",
        "n = 4,000, k = 200",
        "2",
        {p: pairs(p, 200) for p in (500, 1000, 2000, 4000)},
    )
    yield _grow(
        "release_pairs",
        "k",
        "n = 4,000, p = 1,000",
        "0 to 1",
        {k: pairs(1000, k) for k in (100, 400, 1600, 6400)},
    )


def _of_estimates() -> Iterator[Growth]:
    for kind, what, law, sizes in (
        ("blocks", "estimate, components of 50", "2", (500, 1000, 2000)),
        ("giant", "estimate, one component", "3", (250, 500, 1000)),
    ):
        works: dict[int, Callable[[], object]] = {
            p: simulated_release(kind, p).estimate for p in sizes
        }
        yield _grow(what, "p", "n = 1,000,000", law, works)


def _of_merging() -> Iterator[Growth]:
    def merging(size: int) -> Callable[[], object]:
        part = Gram.from_rows(normal_rows(10, size), grid=Grid(row_norm=1e3, bits=16))
        return lambda: part + part

    sizes = (1000, 2000, 4000)
    yield _grow("merging two sums", "p", "any n", "2", {p: merging(p) for p in sizes})


def _of_collectors() -> Iterator[Growth]:
    def collecting(size: int, count: int) -> Callable[[], object]:
        plan, seeds = plan_of(size), random_seeds(count)
        return lambda: add_up(seeds, plan)

    yield _grow(
        "collector, cap",
        "reports",
        "p = 100",
        "1",
        {n: collecting(100, n) for n in (50_000, 100_000, 200_000, 400_000)},
    )
    yield _grow(
        "collector, cap",
        "p",
        "20,000 reports",
        "1 to 2",
        {p: collecting(p, 20_000) for p in (50, 100, 200, 400, 800)},
    )
