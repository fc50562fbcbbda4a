"""Every draw of learning, for neighboring tables; and bugs that the audit finds."""

import pytest

from dpcov.mechanisms.learning import stated
from wiring.learning import DESIGNS, audit
from wiring.planting import plant
from wiring.watching import Watch

LEARNING = "mechanisms.learning."
CELLS = "privacy.sensitivity:squared_cell_sensitivity"
LESS = {"neighbors": "add-remove"}
UNITS = {"rows_per_unit": 3}
ALL = {"stated": "all"}
GAPS, CATEGORIES, BOTH = ({"stated": kind} for kind in ("gaps", "categories", "both"))
OBSERVED, LEVELS = LEARNING + "steps:find_observed", LEARNING + "steps:find_level_shares"
COUNTED = "noise.on(counts.observed(), stream)"
LEVELLED = "noise.on(counts.levels, stream)"

COMBINATIONS = [
    {"stated": kind, "neighbors": neighbors, "rows_per_unit": rows}
    for kind in ("nothing", "bounds", "some", "all", *DESIGNS)
    for neighbors in ("replace", "add-remove")
    for rows in (1, 3)
]


@pytest.fixture
def watch(monkeypatch):
    monkeypatch.setattr(stated, "ruler_bits", lambda n_columns: 5)  # faster
    return Watch().stand(monkeypatch)


@pytest.mark.claim("P22")
@pytest.mark.claim("P23")
@pytest.mark.claim("P24")
@pytest.mark.claim("P25")
@pytest.mark.claim("P26")
@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_every_step_pays_for_how_far_a_person_moves_it(watch, options):
    assert audit(watch, options) == []


@pytest.mark.claim("P23")
def test_stated_shares_are_paid_for(watch):
    assert audit(watch, {"shares": {"center": 0.3, "radius": 0.001}}) == []


# Name: where, what stands there, what is planted, and options under which it shows.
BUGS = {
    "columns forgotten": (CELLS, "return columns * ", "return ", {}),
    "rows of a person that count by their root": (
        CELLS,
        "(rows * most) ** 2",
        "rows * most**2",
        UNITS,
    ),
    "cells that are replaced paid as removed": (
        CELLS,
        "max(high, 0) - min(low, 0)",
        "max(high, -low)",
        {},
    ),
    "cells that are removed paid as if none took their place": (
        CELLS,
        "max(high, 0) - min(low, 0)",
        "max(high, -low)",
        LESS,
    ),
    "several rows of a person paid as one": (
        LEARNING + "quantiles:Payment.noise",
        "rows=self.rows_per_unit",
        "rows=1",
        UNITS,
    ),
    "the number of steps forgotten": (LEARNING + "noisy:Noise.paying", " * steps", "", {}),
    "a multiplier that is not squared": (
        LEARNING + "noisy:Noise.paying",
        "Fraction(multiplier) ** 2",
        "Fraction(multiplier)",
        {},
    ),
    "a finer grid without more noise": (
        LEARNING + "noisy:Noise.paying",
        "variance * 4**bits",
        "variance * 2**bits",
        {},
    ),
    "an answer that was not paid for": (
        LEARNING + "quantiles:Questions.bisect",
        "for _ in range(steps):",
        "self._left += 1\n    for _ in range(steps + 1):",
        {},
    ),
    "a quantile as if cells within were all that counts": (
        LEARNING + "quantiles:Questions.__init__",
        "high=quantile.parts",
        "high=quantile.parts // 2",
        {},
    ),
    "cells between windows counted twice": (
        LEARNING + "quantiles:Questions.are_between",
        "self._quantile.parts * count",
        "2 * self._quantile.parts * count",
        {},
    ),
    "cells within the smaller window counted as between": (
        LEARNING + "quantiles:Questions.are_between",
        "between(far + 1, last, self._columns)",
        "between(first, last, self._columns)",
        {},
    ),
    "exact cells between windows": (
        LEARNING + "quantiles:Questions.are_between",
        "self._answer(self._quantile.parts * count) > clear * self._noise.sd",
        "0 * self._answer(self._quantile.parts * count) + count % 2 > 0",
        {},
    ),
    "observed cells counted twice": (
        LEARNING + "quantiles:Questions._surplus",
        "self._quantile.below * observed",
        "2 * self._quantile.below * observed",
        {},
    ),
    "missing cells taken for observed ones": (
        "sensitive.sums.cell_counts:CellCounts.observed",
        "return self.between(",
        "return np.full(len(columns), self.n_rows) + 0 * self.between(",
        LESS,
    ),
    "missing cells in a bin": (
        "exact.binning:Binning._find_in_steps",
        "= ruler.n_bins",
        "= ruler.half",
        LESS,
    ),
    "missing cells in two bins": (
        "sensitive.sums.cell_counts:_ColumnHistogram.in_use",
        "    used = ",
        "    self._counts[[0, -2]] += self._counts[-1]\n"
        "    n_rows += 2 * int(self._counts[-1])\n"
        "    used = ",
        {},
    ),
    "bins that depend on the cells": (
        "exact.binning:Binning._find_in_steps",
        "        if origin.any():\n",
        "        origin = np.median(np.where(np.isfinite(rows), rows, 0), axis=0).reshape(shape)\n"
        "        if True:\n",
        {},
    ),
    "means of cells without a limit": (
        LEARNING + "steps:_limited",
        "np.clip(cells, -1.0, 1.0, out=cells)",
        "np.clip(cells, -3.0, 3.0, out=cells)",
        {},
    ),
    "limits that look at the cells": (
        LEARNING + "steps:find_reach",
        "np.clip(ruler.index(center - distance), *inner)",
        "np.clip(setting.counts._bins[0] + 0 * ruler.index(center), *inner)",
        {},
    ),
    "a column that is seen to vary by its exact cells": (
        LEARNING + "learn:_learn_spread",
        "return _Spread(",
        "unseen = unseen | (setting.counts.observed(np.arange(3)) < 41)\n    return _Spread(",
        {},
    ),
    "a step that is left out when it finds nothing": (
        LEARNING + "learn:_learn_numbers",
        'count_beyond(setting, reach, budget.payment("beyond"))',
        'count_beyond(setting, reach, budget.payment("beyond"))'
        " if setting.counts.observed(np.arange(3)).min() > 40 else Noisy(np.zeros(3), 1.0)",
        {},
    ),
    "rows of no length in a bin": (
        "sensitive.sums.norm_histogram:NormBinsKernel.sum_over",
        "squared[squared > 0]",
        "np.where(squared > 0, squared, np.inf)",
        LESS,
    ),
    "rows of zeros counted with those beyond": (
        "sensitive.sums.norm_histogram:NormBins.beyond",
        "self._counts[place + 1 :].sum(keepdims=True)",
        "self.n_rows - self._counts[: place + 1].sum(keepdims=True)",
        LESS,
    ),
    "rows of zeros counted against those beyond": (
        "sensitive.sums.norm_histogram:NormBins.beyond",
        "self._counts[place + 1 :].sum(keepdims=True)",
        "self._counts[place + 1 :].sum(keepdims=True) - self.n_rows + self._counts.sum()",
        {},
    ),
    "rows counted in their bin and in the next": (
        "sensitive.sums.norm_histogram:NormBinsKernel.sum_over",
        "counts += np.bincount(places, minlength=len(counts))",
        "counts += np.bincount(places, minlength=len(counts))\n"
        "        counts[1:] += np.bincount(places, minlength=len(counts))[:-1]",
        {},
    ),
    "the steps of the radius forgotten in its noise": (
        LEARNING + "lengths:find_radius",
        "n_rows=bins.n_rows, steps=tuning.radius_steps",
        "n_rows=bins.n_rows",
        {},
    ),
    "a radius that is sought until it is found": (
        LEARNING + "lengths:find_radius",
        "for _ in range(tuning.radius_steps):",
        "while abs(bins.beyond((low + high) // 2)[0] - tail * bins.n_rows) > 1 and low < high - 1:",
        {},
    ),
    "a radius from exact counts": (
        LEARNING + "lengths:find_radius",
        "noise.on(bins.beyond(middle), stream)[0]",
        "bins.beyond(middle)[0] + 0 * noise.on(bins.beyond(middle), stream)[0]",
        {},
    ),
    "a tail that depends on the rows": (
        LEARNING + "learn:learn",
        "tail = tail_wanted(",
        "tail = (1 - bins.beyond(64)[0] % 2 / 2) * tail_wanted(",
        {},
    ),
    "edges of lengths that depend on the rows": (
        LEARNING + "learn:learn",
        "edges_about(n_columns * (1.0 if weights is None else weights.mean), tuning)",
        "edges_about(1.0 + np.isnan(next(source.blocks(99))).sum(), tuning)",
        {},
    ),
    "an exact share of longer rows": (
        LEARNING + "lengths:measure_clipping",
        "share=float(share)",
        "share=float(bins.beyond(place)[0] / bins.n_rows)",
        ALL,
    ),
    "an exact excess of longer rows": (
        LEARNING + "lengths:measure_clipping",
        "excess=float(excess)",
        "excess=float(bins.sums(values)[1] / (steps * bins.n_rows))",
        {},
    ),
    "an excess without a limit": (
        LEARNING + "lengths:measure_clipping",
        "np.clip((middle / squared - 1) / reach, 0.0, 1.0)",
        "(middle / squared - 1) / reach",
        ALL,
    ),
    "an excess of shorter rows below zero": (
        LEARNING + "lengths:measure_clipping",
        "np.where(is_beyond, np.clip((middle / squared - 1) / reach, 0.0, 1.0), 0.0)",
        "np.clip((middle / squared - 1) * 9 / reach, -1.0, 1.0)",
        ALL,
    ),
    "two sums of lengths paid as one": (
        LEARNING + "lengths:_clipping_noise",
        "columns=2",
        "columns=1",
        ALL,
    ),
    "clipping measured only where some row is longer": (
        LEARNING + "lengths:measure_clipping",
        "noise.on(bins.sums(values), stream)",
        "(noise.on(bins.sums(values), stream) if bins.beyond(place)[0] > 40 else np.zeros(2))",
        ALL,
    ),
    "moments that have all of the budget": (
        LEARNING + "budget:_weights",
        "left = 1 - math.fsum(weights.values()) - 2.0**-50",
        "left = 1.0",
        {},
    ),
    "steps that have the whole budget": (
        LEARNING + "budget:split_budget",
        "math.sqrt(weights[step])",
        "math.sqrt(weights[step] if step == MOMENTS else 1)",
        {},
    ),
    "a listed multiplier that is twice as large": (
        LEARNING + "budget:LearningBudget.event",
        "self.multipliers[step]",
        "2 * self.multipliers[step]",
        {},
    ),
    "an exact share beyond the limits": (
        LEARNING + "steps:count_beyond",
        "noise.on(beyond, setting.stream) / counts.n_rows",
        "beyond / counts.n_rows + 0 * noise.on(beyond, setting.stream)",
        {},
    ),
    "cells that are there paid for as those of one column": (
        OBSERVED,
        "columns=size",
        "columns=1",
        GAPS,
    ),
    "indicators about the exact share": (
        OBSERVED,
        COUNTED,
        f"(counts.observed() + 0 * {COUNTED})",
        GAPS,
    ),
    "an exact share of cells where there are none": (
        OBSERVED,
        "return np.where(seen,",
        "share = np.where(counts.observed() < 29, 0.5, share)\n    return np.where(seen,",
        BOTH,
    ),
    "gaps that are counted only where there are enough": (
        OBSERVED,
        COUNTED,
        f"({COUNTED} if counts.observed().min() < 29 else counts.observed() * 1.0)",
        GAPS,
    ),
    "noise of gaps that depends on how many there are": (
        OBSERVED,
        "columns=size, n_rows=counts.n_rows)",
        "columns=size + int(counts.observed().min() < 29), n_rows=counts.n_rows)",
        GAPS,
    ),
    "gaps that are refused if there are too many": (
        LEARNING + "learn:learn_columns",
        "design = counts.design\n",
        "design = counts.design\n"
        "    if counts.observed().min() < 29:\n"
        "        raise ParameterError('Too many cells are missing.')\n",
        GAPS,
    ),
    "levels paid for as one of each category": (
        "privacy.sensitivity:squared_level_sensitivity",
        "return 2 * categories",
        "return categories",
        CATEGORIES,
    ),
    "levels paid for as those of one category": (
        "privacy.sensitivity:squared_level_sensitivity",
        "return 2 * categories",
        "return 2",
        CATEGORIES,
    ),
    "levels of a person's rows that count by their root": (
        "privacy.sensitivity:squared_level_sensitivity",
        "rows**2",
        "rows",
        BOTH | UNITS,
    ),
    "levels of several rows of a person paid as of one": (
        LEARNING + "quantiles:Payment.level_noise",
        "rows=self.rows_per_unit",
        "rows=1",
        BOTH | UNITS,
    ),
    "exact shares of levels": (LEVELS, LEVELLED, f"counts.levels + 0 * {LEVELLED}", CATEGORIES),
    "levels without noise where their number is odd": (
        LEVELS,
        LEVELLED,
        f"({LEVELLED} if counts.levels[0] % 2 else counts.levels * 1.0)",
        CATEGORIES,
    ),
    "cells counted twice in their level": (
        "sensitive.sums.field_counts:FieldKernel._count",
        "return np.bincount(cells[known].astype(np.int64), minlength=n_levels)",
        "return 2 * np.bincount(cells[known].astype(np.int64), minlength=n_levels)",
        CATEGORIES,
    ),
    "means over exact numbers of cells": (
        LEARNING + "learn:learn_columns",
        "there[design.with_gaps] = observed",
        "there[design.with_gaps] = counts.observed() / counts.n_rows",
        GAPS,
    ),
    "scales of categories from exact numbers": (
        LEARNING + "learn:learn_columns",
        "return _assemble(",
        "shares = [each + 1e-9 * (counts.levels[0] % 2) for each in shares]\n    return _assemble(",
        BOTH,
    ),
    "edges of lengths that depend on gaps": (
        LEARNING + "learn:learn",
        "edges_about(n_columns",
        "edges_about((1 + (counts.observed().min() < 29)) * n_columns",
        GAPS,
    ),
    "a count of cells that is not listed": (
        LEARNING + "learn:learn",
        "budget.events)",
        "budget.events[1:])",
        GAPS,
    ),
    "moments that have what counts of gaps and levels cost": (
        LEARNING + "budget:_weights",
        "left = 1 - math.fsum(weights.values()) - 2.0**-50",
        "left = 1 - math.fsum(w for s, w in weights.items() if s not in ('observed', 'levels'))",
        BOTH,
    ),
}


@pytest.mark.claim("P22")
@pytest.mark.claim("P23")
@pytest.mark.claim("P24")
@pytest.mark.claim("P25")
@pytest.mark.claim("P26")
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(watch, monkeypatch, bug):
    where, old, new, options = BUGS[bug]
    plant(monkeypatch, where, old, new)
    assert audit(watch, options)
