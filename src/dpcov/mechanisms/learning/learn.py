"""Learning: the order of the steps, from a table to how its cells are read.

Owns that order. The cells are counted in one pass, all facts of columns are learned from the
counts, and a second pass counts the lengths of rows. Each step follows from facts that are
public or that an earlier step paid for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
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
    widen,
)
from dpcov.mechanisms.learning.mismatch import check_fit
from dpcov.mechanisms.learning.noisy import Noisy
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.steps import (
    Ranges,
    Reach,
    Setting,
    count_beyond,
    find_centers,
    find_levels,
    find_limits,
    find_mean_squares,
    find_means,
    find_observed,
    find_ranges,
    find_reach,
    find_weights,
    level_shares,
    observed_shares,
)
from dpcov.mechanisms.learning.tuning import DEFAULT, Tuning
from dpcov.privacy import Gaussian
from dpcov.releases.learned import Clipping, Known, Learned
from dpcov.releases.weights import Weights
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import FieldCounts, FieldKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.tables import Rows
from dpcov.sensitive.tables.working import Reading, Weighing, WorkingSource

__all__ = ["ColumnFacts", "Lesson", "check_cells", "learn", "learn_columns"]

_FACTS = ("range", "center", "scale")
# A count is likely no larger than so many noise sd above what was found.
_LIKELY = 2.0

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
    weights: Weights | None
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
    stops: bool = True,
    accept: Callable[[int], None] = lambda n_rows: None,
) -> Lesson:
    """Read the rows twice, and return what was learned.

    With `stops` it ends after the first counts if columns do not fit what is stated of them.
    `accept` may refuse the number of rows that are complete, where others count as empty.
    """
    _check(source, stated, budget)
    design = stated.design
    counts = engine.run("columns", source, _counting(stated, missing))
    weights = _learn_weights(counts, stated, budget, tuning, stream)
    facts = learn_columns(
        counts, stated, budget, tuning=tuning, stream=stream, stops=stops, accept=accept
    )
    if weights is not None:
        weighing = Weighing(weights.bound, weights.constant)
        facts = replace(facts, reading=replace(facts.reading, weighing=weighing))
    if missing is not Missing.REFUSE:
        facts = replace(facts, reading=replace(facts.reading, fills=True))
    # In working units each column of the table adds about 1 to the squared norm of a row.
    n_columns = len(design.fields)
    rows = WorkingSource(source, facts.reading)
    edges = edges_about(n_columns * (1.0 if weights is None else weights.mean), tuning)
    bins = engine.run("lengths", rows, NormBinsKernel(edges, len(rows.columns), missing))
    radius, moments = budget.payment("radius"), budget.payment(MOMENTS)
    tail = tail_wanted(bins.n_rows, n_columns, moments=moments, radius=radius, tuning=tuning)
    stream.begin("radius")
    place = find_radius(bins, tail, radius, tuning, stream)
    most = _longest_squared_norm(facts.reading)
    far = _farthest_kept_cell(facts.reading, stated)
    place = widen(
        place, bins.edges, bins.n_rows, most=most, moments=moments, tuning=tuning, far_cell=far
    )
    payment = _begin("clipping", budget, stream)
    clipping = measure_clipping(bins, place, tail, payment, tuning, stream)
    row_norm = math.sqrt(bins.edges[place])
    return Lesson(facts.reading, row_norm, facts.learned(clipping), weights, budget.events)


def check_cells(
    source: Rows,
    stated: Stated,
    budget: LearningBudget,
    *,
    missing: Missing,
    engine: Engine,
    stream: RandomStream,
    tuning: Tuning = DEFAULT,
) -> None:
    """Read the rows once, and stop if columns do not fit what is stated of them."""
    counts = engine.run("columns", source, _counting(stated, missing))
    check_fit(stated, *_count_first(counts, stated, budget, stream), tuning)


def _counting(stated: Stated, missing: Missing) -> FieldKernel:
    """Return what counts the cells of a table."""
    cells = None
    if stated.n_columns:
        cells = CellKernel(stated.ruler(), stated.lower, stated.upper, missing)
    return FieldKernel(stated.design, cells, missing, stated.weight_bound)


def _count_first(
    counts: FieldCounts, stated: Stated, budget: LearningBudget, stream: RandomStream
) -> tuple[Noisy, Noisy]:
    """Return the noisy shares of cells that are there, and those of levels."""
    cells = levels = Noisy(np.empty(0), 0.0)
    places = stated.places_counted
    if len(places):
        cells = find_observed(counts, places, _begin("observed", budget, stream), stream)
    if len(stated.design.categories):
        levels = find_levels(counts, _begin("levels", budget, stream), stream)
    return cells, levels


def _farthest_kept_cell(reading: Reading, stated: Stated) -> float:
    """Return the largest square of a cell of a column whose bounds are to be its limits."""
    numbers = reading.design.is_number
    lower, upper, center, scale = (
        vector[numbers] for vector in (reading.lower, reading.upper, reading.center, reading.scale)
    )
    with np.errstate(over="ignore"):  # beside a tiny scale
        squares = (np.maximum(upper - center, center - lower) / scale) ** 2
    return float(np.max(squares, initial=0.0, where=stated.asks_for_bounds))


def _longest_squared_norm(reading: Reading) -> float:
    """Return a squared norm that no row is far above, by the limits of its cells."""
    farthest = np.maximum(reading.upper - reading.center, reading.center - reading.lower)
    with np.errstate(over="ignore"):  # beside a tiny scale
        return float(((farthest / reading.scale) ** 2).sum())


def _check(source: Rows, stated: Stated, budget: LearningBudget) -> None:
    """Refuse, before a row is read, what could fail later, when rows might be the reason."""
    n_columns = len(stated.design.fields) + (stated.weight_bound is not None)
    if len(source.columns) != n_columns:
        raise ParameterError("Facts must be stated for the columns of the table.")
    if list(budget.multipliers) != steps_needed(stated):
        raise ParameterError("The budget was split for other steps than are taken.")
    if source.n_rows is None:
        raise InputError("The rows are read more than once, and a stream can be read only once.")
    if not source.n_rows:
        raise InputError("X has no rows, and there is nothing to learn from.")


def _learn_weights(
    counts: FieldCounts,
    stated: Stated,
    budget: LearningBudget,
    tuning: Tuning,
    stream: RandomStream,
) -> Weights | None:
    """Return what is known of the weights of rows, if they have any."""
    if stated.weight_bound is None:
        return None
    noisy = find_weights(counts, _begin("weights", budget, stream), stream)
    mean, square = (float(value) for value in noisy.values)
    return Weights(
        bound=stated.weight_bound,
        mean=min(1.0, max(mean, tuning.least_weight)),
        mean_square=square,
        error=noisy.sd,
        constant=math.sqrt(len(stated.design.fields)) / 4,
    )


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


def learn_columns(
    counts: FieldCounts,
    stated: Stated,
    budget: LearningBudget,
    *,
    tuning: Tuning,
    stream: RandomStream,
    stops: bool = True,
    accept: Callable[[int], None] = lambda n_rows: None,
) -> ColumnFacts:
    """Learn how cells are read from the counts, in the order of the budget."""
    design = counts.design
    cells, levels = _count_first(counts, stated, budget, stream)
    if stops:
        check_fit(stated, cells, levels, tuning)
    there, numbers = np.ones(len(design.fields)), None
    if stated.complete_rows:
        likely = min(1.0, max(0.0, float(cells.values[0] + _LIKELY * cells.sd)))
        accept(max(1, int(likely * counts.n_rows)))
        there[:] = observed_shares(cells, tuning)[0]
    else:
        there[stated.places_counted] = observed_shares(cells, tuning)
    if counts.cells is not None:
        setting = Setting(counts.cells, there[design.numbers], stated, tuning, stream)
        numbers = _learn_numbers(setting, budget)
    shares, observed = level_shares(design, levels), there[design.with_gaps]
    return _assemble(design, numbers, shares, observed, tuning)


def _begin(step: str, budget: LearningBudget, stream: RandomStream) -> Payment:
    """Say that noise is drawn for a step, and return what it may cost."""
    stream.begin(step)
    return budget.payment(step)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """What is known of the columns that are numbers."""

    reach: Reach
    center: Array
    scale: Array
    beyond: Noisy
    known: dict[str, npt.NDArray[np.int8]]


def _assemble(
    design: Design,
    numbers: _Numbers | None,
    shares: list[Array],
    observed: Array,
    tuning: Tuning,
) -> ColumnFacts:
    """Put what is known of numbers and of categories into the order of the values."""
    plain = Reading.of(design)
    vectors = [plain.lower, plain.upper, plain.center, plain.scale]
    known = {name: np.full(design.n_values, Known.LEARNED, dtype=np.int8) for name in _FACTS}
    known["range"][:] = Known.STATED
    beyond, error = np.zeros(design.n_values), 0.0
    if numbers is not None:
        own = design.is_number
        reach = numbers.reach
        for vector, learned in zip(
            vectors, (reach.lower, reach.upper, numbers.center, numbers.scale), strict=True
        ):
            vector[own] = learned
        for name, how in numbers.known.items():
            known[name][own] = how
        beyond[own], error = numbers.beyond.values, numbers.beyond.sd
    for group, share in zip(design.groups, shares, strict=True):
        plain.center[group] = share
        # A row is away from the shares by 1 − Σ q² on average, which counts as one cell.
        plain.scale[group] = math.sqrt(max(1 - float(share @ share), tuning.category_floor**2))
    reading = replace(plain, observed=observed)
    return ColumnFacts(reading, Noisy(beyond, error), known)


def _learn_numbers(setting: Setting, budget: LearningBudget) -> _Numbers:
    """Learn centers, scales and limits of numbers."""
    stated = setting.stated
    nothing = np.zeros(stated.n_columns, dtype=np.bool_)
    ranges = Ranges(stated.lower, stated.upper, stated.lower, stated.upper, nothing)
    if stated.with_limit_sought.any():
        ranges = find_ranges(setting, _begin("range", budget, setting.stream))
    center, doubt = stated.center, np.zeros(stated.n_columns)
    if stated.without_center.any():
        center, doubt = find_centers(setting, ranges, _begin("center", budget, setting.stream))
    spread = _Spread(center, stated.scale, np.zeros_like(center), nothing)
    if stated.without_limit.any():
        spread = _learn_spread(setting, ranges, center, doubt, budget)
    distance = np.maximum(setting.tuning.reach * spread.scale, spread.least_reach)
    # Bounds that are not far are the limits: what lies between them is not cut.
    ends = _farther_end(spread.center, stated.lower, stated.upper, stated.is_closed)
    trusted = stated.is_closed & (ends <= setting.tuning.trusted_bounds * spread.scale)
    distance = np.where(trusted | stated.keeps_bounds, ends, distance)
    reach = find_reach(setting, spread.center, distance)
    beyond = count_beyond(setting, reach, _begin("beyond", budget, setting.stream))
    known = {
        "range": _known(stated.without_limit & ~stated.is_closed, ranges.unseen),
        "center": _known(stated.without_center),
        "scale": _known(stated.without_scale, spread.unseen),
    }
    return _Numbers(reach, spread.center, spread.scale, beyond, known)


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
        kept = ranges.unseen & stated.is_narrow
        payment = _begin("limit", budget, setting.stream)
        limit = find_limits(setting, center, doubt, far, inner, kept, payment)
    mean, mean_sd = np.zeros(stated.n_columns), np.zeros(stated.n_columns)
    columns = np.flatnonzero(stated.without_center)
    if len(columns):
        payment = _begin("mean", budget, setting.stream)
        noisy = find_means(setting, columns, center, limit, payment)
        # A missing cell counts as one at the center.
        there = setting.there[columns]
        mean[columns] = np.clip(noisy.values / there, -1.0, 1.0)
        mean_sd[columns] = noisy.sd / there
    moved = np.clip(center + limit * mean, ranges.lower, ranges.upper)
    moved = np.where(stated.without_center, moved, center)
    scale, unseen = stated.scale.copy(), np.zeros(stated.n_columns, dtype=np.bool_)
    columns = np.flatnonzero(stated.without_scale)
    if len(columns):
        payment = _begin("scale", budget, setting.stream)
        noisy = find_mean_squares(setting, columns, center, limit, payment)
        # The square of a noisy mean is too large by the variance of its noise.
        about, sd, there = mean[columns], mean_sd[columns], setting.there[columns]
        variance = noisy.values / there - about**2 + sd**2
        least = tuning.seen * np.hypot(noisy.sd / there, 2 * about * sd)
        unseen[columns] = variance <= least
        # No scale is smaller than what can be told from none.
        floor = np.minimum(1.0, np.maximum(tuning.scale_floor**2, least))
        deviation = np.sqrt(np.clip(variance, floor, 1.0))
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
