"""Bugs in the library's own lines, each of which the audit finds.

A bug is a list of replacements in the text of functions. The options are those of one
combination that `test_wiring` audits, too.
"""

from wiring.choices import CORE, SIDES

DENSE = "mechanisms.dense:"
LISTED = "_with_events(made, lesson.events)"
LENGTHENED = f"return lengthen({LISTED}, lesson.learned)"
LEARNING = "mechanisms.learning."
SENSITIVITY = "privacy.sensitivity:squared_moment_sensitivity"
PLAIN = {name: values[0] for name, values in (CORE | SIDES).items()} | {"row_norm": 1.0}
UNITS = {"rows_per_unit": 3}
PAIRS = {"max_pairs": 2, "row_norm": 1.0}
CENTERS = {"max_pairs": 2, "center": "learned"}
VARIANCES = "privacy.sensitivity:squared_variance_sensitivity"
VARIANCES_OUT = "mechanisms.pairs:_release_variances"
LEARNED = {"row_norm": None}
LESS = {"neighbors": "add-remove"}
GAPS = {"row_norm": None, "missing": "pairwise"}

# Name: where, what stands there, what is planted, and options under which it shows.
BUGS = {
    # Found by planting bugs by hand; nothing noticed them.
    "several rows of a person paid as one": (
        DENSE + "DenseOptions.calibrate",
        "rows_per_unit=self.rows_per_unit",
        "rows_per_unit=1",
        UNITS,
    ),
    "several rows of a person paid as one after learning": (
        DENSE + "DenseOptions.calibrate",
        "rows_per_unit=self.rows_per_unit",
        "rows_per_unit=1 if self.row_norm is None else self.rows_per_unit",
        LEARNED | UNITS,
    ),
    "several rows of a person learned from as one": (
        DENSE + "DenseOptions.budget",
        "rows_per_unit=self.rows_per_unit",
        "rows_per_unit=1",
        LEARNED | UNITS,
    ),
    "pairs without rows_per_unit in the calibration": (
        "mechanisms.strongest_pairs:_Stated.calibrate",
        "        rows_per_unit=request.rows_per_unit,\n",
        "",
        PAIRS | UNITS | {"center": "stated"},
    ),
    "moments that are replaced paid as removed": (
        "mechanisms.second_moment:calibrate_moments",
        "moments_relation(promise.neighbors, leaves_traces=leaves_traces)",
        "type(promise.neighbors).ADD_REMOVE",
        {},
    ),
    "pairs selected with two thirds of the noise": (
        "mechanisms.pairs:release_co_movement",
        "scale=calibration.selection_scale",
        "scale=calibration.selection_scale * 2 / 3",
        PAIRS,
    ),
    # The wiring of the dense mechanism.
    "moments with all of the budget after learning": (
        DENSE + "_release_learned",
        "budget.event(MOMENTS)",
        "Gaussian(MOMENTS, __import__('dpcov').privacy.gaussian_scale("
        "epsilon=options.promise.epsilon, delta=options.promise.delta))",
        LEARNED,
    ),
    "all steps with the whole budget": (
        LEARNING + "budget:split_budget",
        "whole / math.sqrt(weights[step])",
        "whole",
        LEARNED,
    ),
    "a stated row norm with more than the whole budget": (
        DENSE + "release_dense",
        "        budget.event(MOMENTS),\n",
        "        replace(budget.event(MOMENTS), multiplier=0.99 * budget.multipliers[MOMENTS]),\n",
        {},
    ),
    "noise of moments for half the norm that rows are clipped to": (
        DENSE + "_release_moments",
        "    kernel = GramKernel(",
        "    calibration = replace(calibration, diagonal=calibration.diagonal // 4, "
        "off_diagonal=calibration.off_diagonal // 4)\n    kernel = GramKernel(",
        LEARNED,
    ),
    "moments with the sensitivity of a shorter row": (
        "mechanisms.second_moment:calibrate_moments",
        "squared_norm=grid.squared_norm",
        "squared_norm=grid.squared_norm // 4",
        LEARNED,
    ),
    "a row norm from the rows": (
        DENSE + "_release_learned",
        "        lesson.row_norm,\n",
        "        lesson.row_norm * (1 + (next(iter(source.blocks(999)))[90, 0] > 1e3)),\n",
        LEARNED,
    ),
    "moments about what the rows say": (
        DENSE + "_release_learned",
        "        lesson.reading,\n",
        "        replace(lesson.reading, center=lesson.reading.center\n"
        "            + (next(iter(source.blocks(999)))[90] > 1e3)),\n",
        LEARNED,
    ),
    "a factor from exact sums": (
        DENSE + "_release_learned",
        LENGTHENED,
        "rows = lesson.reading.read(next(iter(source.blocks(9999))))\n"
        "    exact = float((rows[80:99, 0] ** 2).sum())\n"
        "    factor = 1.5 if exact > 20 else 1.25\n"
        f"    return replace({LENGTHENED[7:]}, factor=factor)",
        LEARNED,
    ),
    "an error of the factor from the longest row": (
        DENSE + "_release_learned",
        LENGTHENED,
        "longest = float(abs(next(iter(source.blocks(999)))[80:99, 0]).max())\n"
        "    error = 0.1 if longest > 1e3 else 0.2\n"
        f"    return replace({LENGTHENED[7:]}, factor_error=error)",
        LEARNED,
    ),
    "a release that does not list what was learned": (
        DENSE + "_release_learned",
        LISTED,
        "_with_events(made, ())",
        LEARNED,
    ),
    "a release that lists all steps of learning but one": (
        DENSE + "_release_learned",
        LISTED,
        "_with_events(made, lesson.events[:-1])",
        LEARNED,
    ),
    "indicators of gaps that are not clipped": (
        "sensitive.sums.gram:_Lane._quantize",
        "        quantize_rows(block[part], self._rule.grid, self._rule.missing, cells)\n",
        "        size, rule = block.shape[1] // 2, self._rule\n"
        "        quantize_rows(block[part, :size], rule.grid, rule.missing, cells[:, :size])\n"
        "        cells[:, size:] = np.trunc(block[part, size:] / rule.grid.step)\n",
        GAPS,
    ),
    "indicators about what the rows say": (
        DENSE + "_release_learned",
        "        lesson.reading,\n",
        "        replace(lesson.reading, observed=lesson.reading.observed\n"
        "            - 0.125 * ((row := next(iter(source.blocks(999)))[90]) != row)),\n",
        GAPS,
    ),
    "gaps that are filled with what the rows say": (
        "sensitive.tables.working:Reading._read_tile",
        "values[~there] = 0.0",
        "values[~there] = np.nanmax(np.where(there, raw, 0.0)) > 1e5",
        GAPS | LESS,
    ),
    "shares of cells that hang on exact sums": (
        "mechanisms.second_moment:release_gram",
        "    return made.with_working(",
        "    there = there * (1 - 0.25 * (gram.sums[0, 0] % 2))\n    return made.with_working(",
        GAPS,
    ),
    "noise of moments for the values alone": (
        "mechanisms.second_moment:_noisy_average",
        "calibration.off_diagonal",
        "calibration.off_diagonal // 2",
        GAPS,
    ),
    "a release that does not list the count of cells": (
        DENSE + "_release_learned",
        LISTED,
        "_with_events(made, lesson.events[1:])",
        GAPS,
    ),
    "a release that lists learning alone": (
        DENSE + "_with_events",
        "(*before, *made.events)",
        "before or made.events",
        LEARNED,
    ),
    "rows that are learned from again": (
        DENSE + "_release_learned",
        "    made = _release_moments(",
        "    lesson = learn(source, stated, budget, missing=options.missing, engine=engine, "
        "stream=stream)\n    made = _release_moments(",
        LEARNED,
    ),
    "moments without a mean": (
        DENSE + "DenseOptions.calibrate",
        "with_mean=self.bound is None",
        "with_mean=False",
        {},
    ),
    "a radius with the budget of the moments": (
        LEARNING + "learn:learn",
        'budget.payment("radius"), budget.payment(MOMENTS)',
        "budget.payment(MOMENTS), budget.payment(MOMENTS)",
        LEARNED,
    ),
    "a radius that forgets how many rows a person has": (
        LEARNING + "budget:LearningBudget.payment",
        "rows_per_unit=self.rows_per_unit",
        'rows_per_unit=1 if step == "radius" else self.rows_per_unit',
        LEARNED | UNITS,
    ),
    "rows beyond a radius that count twice": (
        "sensitive.sums.norm_histogram:NormBins.beyond",
        "= self._counts",
        "= 2 * self._counts",
        LEARNED,
    ),
    "the answers about a radius taken for one": (
        LEARNING + "lengths:find_radius",
        ", steps=tuning.radius_steps)\n    low",
        ")\n    low",
        LEARNED,
    ),
    "learning for nothing": (
        LEARNING + "budget:_weights",
        "1 - math.fsum(weights.values())",
        "1",
        LEARNED,
    ),
    "stated shares that do not add up to one": (
        LEARNING + "budget:_weights",
        "math.fsum(weights.values())",
        "math.fsum(defaults[step] for step in weights)",
        LEARNED | {"shares": SIDES["shares"][1]},
    ),
    "shares of pairs that add up to half": (
        "mechanisms.budget:split",
        "weights[step] / whole",
        "weights[step] / whole / 2",
        PAIRS | {"shares": SIDES["shares"][2]},
    ),
    "a listed selection of half its range": (
        "mechanisms.pairs_calibration:_events",
        "width, made.max_pairs)",
        "width / 2, made.max_pairs)",
        PAIRS,
    ),
    "a listed multiplier that is twice as large": (
        LEARNING + "budget:LearningBudget.event",
        "self.multipliers[step]",
        '(1 if step == "moments" else 2) * self.multipliers[step]',
        LEARNED,
    ),
    "a listed multiplier of a millionth more": (
        "mechanisms.pairs_calibration:_gaussian",
        "(1 - 2.0**-50)",
        "(1 + 1e-6)",
        PAIRS,
    ),
    "listed pairs that were chosen one time fewer": (
        "mechanisms.pairs_calibration:_events",
        "width, made.max_pairs)",
        "width, made.max_pairs - 1)",
        PAIRS,
    ),
    "too little noise off the diagonal": (
        "exact.scales:frobenius_scales",
        "variance / 2",
        "variance / 3",
        {},
    ),
    "the noise of other entries on the diagonal": (
        "mechanisms.second_moment:_noisy_average",
        "calibration.diagonal, stream",
        "calibration.off_diagonal, stream",
        {},
    ),
    "a multiplier that is not squared": (
        "mechanisms.second_moment:calibrate_moments",
        "Fraction(multiplier) ** 2",
        "Fraction(multiplier)",
        {},
    ),
    "an exact entry in the release": (
        "mechanisms.second_moment:release_gram",
        "stream), None\n",
        "stream), None\n    matrix[0, 0] = gram.triangle.diagonal()[0] * calibration.step\n",
        {},
    ),
    # Sensitivities.
    "√2 forgotten": (SENSITIVITY, "2 * rows**2", "rows**2", {}),
    "the constant cell forgotten": (
        SENSITIVITY,
        "(squared_norm + constant**2) ** 2",
        "squared_norm**2",
        {},
    ),
    "one of two products with the constant forgotten": (
        SENSITIVITY,
        "2 * constant**2)",
        "constant**2)",
        LESS,
    ),
    "rows of a person that count by their root": (
        SENSITIVITY,
        "return rows**2",
        "return rows",
        UNITS | LESS,
    ),
    "squares of differences that are replaced paid as removed": (
        VARIANCES,
        "each = 2 * (each",
        "each = (each",
        PAIRS,
    ),
    "signs that are replaced paid as removed": (
        "privacy.sensitivity:sign_sensitivity",
        "else 2",
        "else 1",
        PAIRS,
    ),
    # What the promise is worth.
    "a Gaussian scale of one percent less": (
        "privacy.gaussian:gaussian_scale",
        "math.nextafter(scale, math.inf)",
        "0.99 * scale",
        {},
    ),
    "a budget of one percent more": (
        "privacy.zcdp:_largest_rho",
        "return low\n",
        "return 1.01 * low\n",
        PAIRS,
    ),
    # The pairs mechanism.
    "sums on a grid that is finer than their noise": (
        "mechanisms.pairs_centering:PlainSums.values",
        "<< FINER_BITS\n",
        "<< (FINER_BITS + 1)\n",
        PAIRS | {"center": "stated"},
    ),
    "answers about centers that forget how many columns there are": (
        "mechanisms.pairs_calibration:_squared_sign_sensitivities",
        'unit["centers"] * n_columns * CENTER_STEPS',
        'unit["centers"] * CENTER_STEPS',
        CENTERS,
    ),
    "answers about centers that are paid for as one": (
        "mechanisms.pairs_calibration:_squared_sign_sensitivities",
        'unit["centers"] * n_columns * CENTER_STEPS',
        'unit["centers"] * n_columns',
        CENTERS,
    ),
    "answers about centers that are paid for as if a row was gone": (
        "mechanisms.pairs_calibration:_apart",
        '"centers": replaced',
        '"centers": moved',
        CENTERS | LESS | {"missing": "center"},
    ),
    "one answer more than is paid for": (
        "mechanisms.pairs_centers:_Asking.run",
        "range(steps)",
        "range(steps + 1)",
        CENTERS,
    ),
    "mean signs that forget how many columns there are": (
        "mechanisms.pairs_calibration:_squared_sign_sensitivities",
        'unit["signs"] * n_columns',
        'unit["signs"]',
        CENTERS,
    ),
    "centers and signs with several rows of a person paid as one": (
        "mechanisms.strongest_pairs:_Stated.calibrate",
        "        rows_per_unit=request.rows_per_unit,\n",
        "",
        CENTERS | UNITS,
    ),
    "mean signs without noise": (
        "mechanisms.pairs:_release_signs",
        "add_noise(sums.totals << FINER_BITS, calibration.sign_scale, stream)",
        "sums.totals << FINER_BITS",
        CENTERS,
    ),
    "mean signs with the noise of the answers about centers": (
        "mechanisms.pairs:_release_signs",
        "calibration.sign_scale, stream",
        "calibration.center_scale, stream",
        CENTERS,
    ),
    "exact mean signs where noisy ones belong": (
        "mechanisms.pairs:_release_signs",
        "np.rint(noisy /",
        "np.rint((sums.totals << FINER_BITS) /",
        CENTERS,
    ),
    "a place that follows from exact counts": (
        "mechanisms.pairs_centers:_Asking.run",
        "search.take(answer / whole",
        "search.take(exact / whole",
        CENTERS,
    ),
    "a bound on cells where one on rows is needed": (
        "mechanisms.pairs_variances:Person.moves",
        "squared_norm=squares.grid.squared_norm",
        "squared_norm=squares.cell_bound**2",
        PAIRS | {"cell_bound": CORE["cell_bound"][1]},
    ),
    "variances with several rows of a person paid as one": (
        "mechanisms.pairs_variances:Person.moves",
        "rows=self.rows",
        "rows=1",
        PAIRS | UNITS | {"center": "stated"},
    ),
    "variances that are replaced paid as removed": (
        VARIANCES,
        "is not Neighbors.ADD_REMOVE",
        "is Neighbors.ADD_REMOVE",
        PAIRS | {"center": "stated"},
    ),
    "means that nobody pays for": (
        "mechanisms.pairs_variances:Person.moves",
        "weight=squares.weight",
        "weight=0",
        PAIRS | {"center": "stated"},
    ),
    "means that nobody pays for when a row is removed": (
        "mechanisms.pairs_variances:Person.moves",
        "weight=squares.weight",
        "weight=0",
        PAIRS | LESS | {"center": "stated"},
    ),
    "cells on both sides of zero that are forgotten": (
        VARIANCES,
        "(3 * Fraction(cell_bound) ** 2)",
        "(30 * Fraction(cell_bound) ** 2)",
        PAIRS | {"center": "stated"},
    ),
    "means with a larger weight than is paid for": (
        VARIANCES_OUT,
        "rule.weight * cells",
        "2 * rule.weight * cells",
        PAIRS | {"center": "stated"},
    ),
    "exact means": (
        VARIANCES_OUT,
        "    means = noisy[len(squares) :] * calibration.mean_step",
        "    means = both[len(squares) :] * calibration.mean_step",
        PAIRS | {"center": "stated"},
    ),
    "means with the noise of another draw": (
        VARIANCES_OUT,
        "    both = np.concatenate([squares, rule.weight * cells])",
        "    both = add_noise(np.concatenate([squares, rule.weight * cells]), "
        "calibration.square_scale // 2, stream)",
        PAIRS | {"center": "stated"},
    ),
    "means of cells that are not clipped": (
        "sensitive.sums.signs:_sum_powers",
        "integers.sum(axis=0)",
        "np.trunc(np.nan_to_num(apart) / squares.grid.step).astype(np.int64).sum(axis=0)",
        PAIRS | {"center": "stated"},
    ),
    "means of differences that nobody needs": (
        "mechanisms.pairs_variances:calibrate_variances",
        "if about_center else 0",
        "",
        PAIRS | {"center": "differences"},
    ),
    # The noise door.
    "half of the noise": (
        "mechanisms.noise:add_noise",
        "draw_rounded_gaussian(scale,",
        "draw_rounded_gaussian(scale // 2,",
        {},
    ),
    "one noise for all entries": (
        "mechanisms.noise:add_noise",
        "len(sums), stream",
        "1, stream",
        {},
    ),
    # The way of a row to the sums.
    "rows half a percent too long": (
        "sensitive.sums.rows:quantize_rows",
        "squared > grid.squared_norm",
        "squared > 1.02 * grid.squared_norm",
        {},
    ),
    "missing cells filled from other rows": (
        "sensitive.sums.rows:_finite_cells",
        "cells[~finite] = 0.0",
        "cells[~finite] = cells[finite].mean()",
        {"missing": "center"},
    ),
    "one more row of a person than is paid for": (
        "sensitive.tables.privacy_units:rows_of_units",
        "low=1), secret",
        "low=1) + 1, secret",
        UNITS,
    ),
    "rows in the signs of two differences": (
        "sensitive.tables.differences:pair_rows",
        "rows[pairs : 2 * pairs]",
        "rows[1 : pairs + 1]",
        PAIRS | {"center": "differences"},
    ),
    "cells that are not clipped": (
        "sensitive.sums.signs:_sum_powers",
        "np.clip(whole, -squares.cell_bound, squares.cell_bound, out=whole)",
        "pass",
        PAIRS | {"cell_bound": CORE["cell_bound"][1]},
    ),
    "rows that count twice for the radius": (
        "sensitive.sums.norm_histogram:NormBinsKernel.sum_over",
        "counts += np",
        "counts += 2 * np",
        LEARNED,
    ),
    "a row in the bins of two columns": (
        "sensitive.sums.cell_counts:CellCounts.between",
        "return self._below[high]",
        "return 2 * self._below[high]",
        LEARNED,
    ),
    "a promise for all tables where some are refused": (
        "releases.published:state_domain",
        'made.missing == "refuse"',
        "False",
        {},
    ),
    "another relation than was asked for": (
        "mechanisms.door:Request.of",
        "_central(neighbors)",
        "Neighbors.ADD_REMOVE",
        {},
    ),
}

# Seen only after answers that hardly ever come, or in a table that adds up to nothing.
RARE_BUGS = {
    "a radius no smaller than the longest row": (
        LEARNING + "lengths:find_radius",
        "return high",
        "return max(high, *np.flatnonzero(bins._counts[: len(bins.edges)]), 0)",
        LEARNED,
    ),
    "a factor from the rows where noisy variances are negative": (
        DENSE + "_release_learned",
        LENGTHENED,
        f"longer = {LENGTHENED[7:]}\n"
        "    if made.matrix.trace() < 0:\n"
        "        first = next(iter(source.blocks(999)))[90, 0]\n"
        "        longer = replace(longer, factor=1 + float(first > 1e3))\n"
        "    return longer",
        LEARNED,
    ),
    "exact squares where the noisy ones are negative": (
        "mechanisms.second_moment:_noisy_average",
        "    matrix[np.diag_indices(size)] = diagonal",
        "    diagonal = np.where(diagonal < 0, sums.diagonal(), diagonal)\n"
        "    matrix[np.diag_indices(size)] = diagonal",
        {},
    ),
    "exact co-movements where the noisy ones are too large": (
        "mechanisms.pairs:release_co_movement",
        "    variances = _release_variances(sums, calibration, stream)\n",
        "    fine = compared.values(pairs)\n"
        "    noisy = np.where(np.abs(noisy) > calibration.n_terms << FINER_BITS, fine, noisy)\n"
        "    variances = _release_variances(sums, calibration, stream)\n",
        PAIRS | {"center": "stated"},
    ),
}

# Seen only where mean signs are large.
MEANS_BUGS = {
    "products about means that are paid for as plain ones": (
        "mechanisms.pairs_centering:CenteredSums.values",
        "centered // self._factor(first, second, self._known)",
        "centered >> MEAN_BITS",
        CENTERS,
    ),
    "products about means that are compared as plain ones": (
        "mechanisms.pairs_centering:CenteredSums._row_scores",
        "self._factor(first, second, known) * 2**MEAN_BITS",
        "1 << (2 * MEAN_BITS)",
        CENTERS,
    ),
    "a factor that forgets who is compared with whom": (
        "releases.pairs:centered_sign_factor",
        "away = first + second",
        "away = np.maximum(first, second)",
        CENTERS | LESS | {"missing": "center"},
    ),
}
