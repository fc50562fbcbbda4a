"""Learning: the order of the steps, from a table to how its cells are read.

Owns that order. The cells are counted in one pass, all facts of columns are learned from the
counts, and a second pass counts the lengths of rows. Each step is planned from facts that are
public or that an earlier step paid for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.columns.units import LARGEST_FACT
from dpcov.errors import InputError, ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.budget import LearningPlan
from dpcov.mechanisms.learning.norms import norm_edges, release_norms
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.steps import (
    Noisy,
    Reach,
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
from dpcov.releases.learned import Known, Learned, NormHistogram
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.working import CellReading, WorkingSource

__all__ = ["PASSES", "ColumnFacts", "learn", "learn_columns"]

PASSES = 2
"""How often the rows are read."""

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def learn(
    source: Rows,
    stated: Stated,
    plan: LearningPlan,
    *,
    missing: Missing,
    engine: Engine,
    stream: RandomStream,
    tuning: Tuning = DEFAULT,
) -> tuple[CellReading, Learned, tuple[Gaussian, ...]]:
    """Read the rows twice, and return how cells are read, what was learned, and what was done."""
    if len(source.columns) != stated.n_columns:
        raise ParameterError("Facts must be stated for the columns of the table.")
    if source.n_rows is None:
        raise InputError(
            f"Learning reads the rows {PASSES} times, and X is a stream that can be read only "
            "once. Write it to Parquet files and pass their folder."
        )
    if not source.n_rows:
        raise InputError("X has no rows, and there is nothing to learn from.")
    kernel = CellKernel(stated.ruler(), stated.lower, stated.upper, missing)
    counts = engine.run("columns", source, kernel)
    facts = learn_columns(Setting(counts, stated, tuning, stream), plan)
    reading = facts.reading
    edges = norm_edges(stated.n_columns, tuning)
    rows = WorkingSource(source, reading)
    bins = engine.run("radius", rows, NormBinsKernel(edges, stated.n_columns, missing))
    norms = release_norms(bins, plan.payment("radius"), stream)
    return reading, facts.with_norms(norms), plan.events


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What was learned of the columns, before the lengths of rows."""

    center: Array
    scale: Array
    reach: Reach
    beyond: Noisy
    known: dict[str, npt.NDArray[np.int8]]

    @property
    def reading(self) -> CellReading:
        """How cells are read."""
        return CellReading(self.reach.lower, self.reach.upper, self.center, self.scale)

    def with_norms(self, norms: NormHistogram) -> Learned:
        """Return all that was learned."""
        return Learned(
            lower=self.reach.lower,
            upper=self.reach.upper,
            center=self.center,
            scale=self.scale,
            beyond=self.beyond.values,
            beyond_error=self.beyond.sd,
            known_range=self.known["range"],
            known_center=self.known["center"],
            known_scale=self.known["scale"],
            norms=norms,
        )


def learn_columns(setting: Setting, plan: LearningPlan) -> ColumnFacts:
    """Learn centers, scales and limits from the counts, in the order of the plan."""
    stated = setting.stated
    lower, upper = stated.lower, stated.upper
    unseen = np.zeros(stated.n_columns, dtype=np.bool_)
    if stated.without_range.any():
        lower, upper, unseen = find_ranges(setting, plan.payment("range"))
    center, doubt = stated.center, np.zeros(stated.n_columns)
    if stated.without_center.any():
        center, doubt = find_centers(setting, lower, upper, plan.payment("center"))
    spread = _Spread(center, stated.scale, np.zeros_like(center), unseen & False)
    if stated.without_limit.any():
        spread = _learn_spread(setting, (lower, upper), center, doubt, plan)
    distance = np.maximum(setting.tuning.reach * spread.scale, spread.least_reach)
    reach = find_reach(setting, spread.center, distance)
    beyond = count_beyond(setting, reach, plan.payment("beyond"))
    known = {
        "range": _known(stated.without_range, unseen),
        "center": _known(stated.without_center),
        "scale": _known(stated.without_scale, spread.unseen),
    }
    return ColumnFacts(spread.center, spread.scale, reach, beyond, known)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Centers at the mean and scales; how far limits reach at least; what was not seen to vary."""

    center: Array
    scale: Array
    least_reach: Array
    unseen: Mask


def _learn_spread(
    setting: Setting,
    ends: tuple[Array, Array],
    center: Array,
    doubt: Array,
    plan: LearningPlan,
) -> _Spread:
    """Learn a limit about each center, and within it a mean and a scale."""
    stated, tuning, ruler = setting.stated, setting.tuning, setting.counts.ruler
    lower, upper = ends
    # Beside a large center a small distance may vanish; it must not be zero.
    far = np.maximum(np.maximum(upper - center, center - lower), np.spacing(np.abs(center)))
    far = np.where(stated.without_limit, far, 1.0)  # of the others nothing is asked
    limit, at_center = find_limits(setting, center, doubt, far, plan.payment("limit"))
    mean, mean_sd = np.zeros(stated.n_columns), np.zeros(stated.n_columns)
    columns = np.flatnonzero(stated.without_center)
    if len(columns):
        noisy = find_means(setting, columns, center, limit, plan.payment("mean"))
        mean[columns], mean_sd[columns] = np.clip(noisy.values, -1.0, 1.0), noisy.sd
    moved = np.where(stated.without_center, np.clip(center + limit * mean, lower, upper), center)
    scale, unseen = stated.scale.copy(), np.zeros(stated.n_columns, dtype=np.bool_)
    columns = np.flatnonzero(stated.without_scale)
    if len(columns):
        noisy = find_mean_squares(setting, columns, center, limit, plan.payment("scale"))
        # The square of a noisy mean is too large by the variance of its noise.
        about, sd = mean[columns], mean_sd[columns]
        variance = noisy.values - about**2 + sd**2
        unseen[columns] = variance <= tuning.seen * np.hypot(noisy.sd, 2 * about * sd)
        deviation = np.sqrt(np.clip(variance, tuning.scale_floor**2, 1.0))
        finest = ruler.width(ruler.index(moved))[columns]
        learned = np.maximum(limit[columns] * deviation, finest)
        scale[columns] = np.clip(learned, 1 / LARGEST_FACT, LARGEST_FACT)
    return _Spread(moved, scale, np.where(at_center, limit, 0.0), unseen)


def _known(learned: Mask, unseen: Mask | None = None) -> npt.NDArray[np.int8]:
    known = np.where(learned, Known.LEARNED, Known.STATED)
    if unseen is not None:
        known = np.where(learned & unseen, Known.NOT_SEEN, known)
    return known.astype(np.int8)
