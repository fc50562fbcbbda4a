"""Learning: the order of the steps, from a table to how its cells are read.

Owns that order. The cells are counted in one pass, all facts of columns are learned from the
counts, and a second pass counts the lengths of rows. Each step follows from facts that are
public or that an earlier step paid for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.columns.units import LARGEST_FACT
from dpcov.errors import InputError, ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.budget import MOMENTS, LearningBudget, steps_needed
from dpcov.mechanisms.learning.lengths import (
    edges_about,
    find_radius,
    measure_clipping,
    tail_wanted,
)
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.steps import (
    Noisy,
    Ranges,
    Setting,
    count_beyond,
    find_centers,
    find_limits,
    find_mean_squares,
    find_means,
    find_ranges,
    find_reach,
)
from dpcov.mechanisms.learning.tuning import DEFAULT, Tuning
from dpcov.privacy import Gaussian
from dpcov.releases.learned import Clipping, Known, Learned
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.working import Reading, WorkingSource

__all__ = ["ColumnFacts", "Lesson", "learn", "learn_columns"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Lesson:
    """All that a release needs before its moments.

    How cells are read, to which norm rows are clipped, what was learned, and what was done.
    """

    reading: Reading
    row_norm: float
    learned: Learned
    events: tuple[Gaussian, ...]


def learn(
    source: Rows,
    stated: Stated,
    budget: LearningBudget,
    *,
    missing: Missing,
    engine: Engine,
    stream: RandomStream,
    tuning: Tuning = DEFAULT,
) -> Lesson:
    """Read the rows twice, and return what was learned."""
    _check(source, stated, budget)
    kernel = CellKernel(stated.ruler(), stated.lower, stated.upper, missing)
    counts = engine.run("columns", source, kernel)
    facts = learn_columns(Setting(counts, stated, tuning, stream), budget)
    edges = edges_about(float(stated.n_columns), tuning)
    rows = WorkingSource(source, facts.reading)
    bins = engine.run("lengths", rows, NormBinsKernel(edges, stated.n_columns, missing))
    radius, moments = budget.payment("radius"), budget.payment(MOMENTS)
    tail = tail_wanted(bins.n_rows, stated.n_columns, moments=moments, radius=radius, tuning=tuning)
    place = find_radius(bins, tail, radius, tuning, stream)
    clipping = measure_clipping(bins, place, tail, budget.payment("clipping"), tuning, stream)
    row_norm = math.sqrt(bins.edges[place])
    return Lesson(facts.reading, row_norm, facts.learned(clipping), budget.events)


def _check(source: Rows, stated: Stated, budget: LearningBudget) -> None:
    """Refuse, before a row is read, what could fail later, when rows might be the reason."""
    if len(source.columns) != stated.n_columns:
        raise ParameterError("Facts must be stated for the columns of the table.")
    if list(budget.multipliers) != steps_needed(stated):
        raise ParameterError("The budget was split for other steps than are taken.")
    if source.n_rows is None:
        raise InputError("The rows are read more than once, and a stream can be read only once.")
    if not source.n_rows:
        raise InputError("X has no rows, and there is nothing to learn from.")


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What is known of the columns, before the lengths of rows."""

    reading: Reading
    beyond: Noisy
    known: dict[str, npt.NDArray[np.int8]]

    def learned(self, clipping: Clipping) -> Learned:
        """Return all that was learned."""
        return Learned(
            lower=self.reading.lower.copy(),
            upper=self.reading.upper.copy(),
            beyond=self.beyond.values,
            beyond_error=self.beyond.sd,
            known_range=self.known["range"].copy(),
            known_center=self.known["center"].copy(),
            known_scale=self.known["scale"].copy(),
            clipping=clipping,
        )


def learn_columns(setting: Setting, budget: LearningBudget) -> ColumnFacts:
    """Learn centers, scales and limits from the counts, in the order of the budget."""
    stated = setting.stated
    nothing = np.zeros(stated.n_columns, dtype=np.bool_)
    ranges = Ranges(stated.lower, stated.upper, stated.lower, stated.upper, nothing)
    if stated.with_limit_sought.any():
        ranges = find_ranges(setting, budget.payment("range"))
    center, doubt = stated.center, np.zeros(stated.n_columns)
    if stated.without_center.any():
        center, doubt = find_centers(setting, ranges, budget.payment("center"))
    spread = _Spread(center, stated.scale, np.zeros_like(center), nothing)
    if stated.without_limit.any():
        spread = _learn_spread(setting, ranges, center, doubt, budget)
    distance = np.maximum(setting.tuning.reach * spread.scale, spread.least_reach)
    reach = find_reach(setting, spread.center, distance)
    beyond = count_beyond(setting, reach, budget.payment("beyond"))
    known = {
        "range": _known(stated.without_limit & ~stated.is_closed, ranges.unseen),
        "center": _known(stated.without_center),
        "scale": _known(stated.without_scale, spread.unseen),
    }
    reading = Reading(reach.lower, reach.upper, spread.center, spread.scale)
    return ColumnFacts(reading, beyond, known)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Centers at the mean and scales; how far limits reach at least; what was not seen to vary."""

    center: Array
    scale: Array
    least_reach: Array
    unseen: Mask


def _learn_spread(
    setting: Setting, ranges: Ranges, center: Array, doubt: Array, budget: LearningBudget
) -> _Spread:
    """Learn a limit about each center, and within it a mean and a scale."""
    stated, tuning, ruler = setting.stated, setting.tuning, setting.counts.ruler
    far = _farther_end(center, ranges.lower, ranges.upper, stated.without_limit)
    inner = _farther_end(center, ranges.inner_lower, ranges.inner_upper, stated.without_limit)
    limit = far
    if stated.with_limit_sought.any():
        limit = find_limits(setting, center, doubt, far, inner, budget.payment("limit"))
    mean, mean_sd = np.zeros(stated.n_columns), np.zeros(stated.n_columns)
    columns = np.flatnonzero(stated.without_center)
    if len(columns):
        noisy = find_means(setting, columns, center, limit, budget.payment("mean"))
        mean[columns], mean_sd[columns] = np.clip(noisy.values, -1.0, 1.0), noisy.sd
    moved = np.clip(center + limit * mean, ranges.lower, ranges.upper)
    moved = np.where(stated.without_center, moved, center)
    scale, unseen = stated.scale.copy(), np.zeros(stated.n_columns, dtype=np.bool_)
    columns = np.flatnonzero(stated.without_scale)
    if len(columns):
        noisy = find_mean_squares(setting, columns, center, limit, budget.payment("scale"))
        # The square of a noisy mean is too large by the variance of its noise.
        about, sd = mean[columns], mean_sd[columns]
        variance = noisy.values - about**2 + sd**2
        unseen[columns] = variance <= tuning.seen * np.hypot(noisy.sd, 2 * about * sd)
        deviation = np.sqrt(np.clip(variance, tuning.scale_floor**2, 1.0))
        finest = ruler.width(ruler.index(moved))[columns]
        learned = np.maximum(limit[columns] * deviation, finest)
        scale[columns] = np.clip(learned, 1 / LARGEST_FACT, LARGEST_FACT)
    reach = np.where(stated.without_limit, limit + np.abs(moved - center), 0.0)
    return _Spread(moved, scale, reach, unseen)


def _farther_end(center: Array, lower: Array, upper: Array, asked: Mask) -> Array:
    """Return the distance to the farther end; of columns that are not asked, any number."""
    # Beside a large center a small distance may vanish; it must not be zero.
    distance = np.maximum(np.maximum(upper - center, center - lower), np.spacing(np.abs(center)))
    return np.where(asked, distance, 1.0)


def _known(learned: Mask, unseen: Mask | None = None) -> npt.NDArray[np.int8]:
    known = np.where(learned, Known.LEARNED, Known.STATED)
    if unseen is not None:
        known = np.where(learned & unseen, Known.NOT_SEEN, known)
    return known.astype(np.int8)
