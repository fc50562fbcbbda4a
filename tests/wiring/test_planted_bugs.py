"""Controls of the audit: bugs in the library's own lines, each of which it finds.

A bug is a list of replacements in the text of functions. The options are those of one
combination that `test_wiring` audits, too.
"""

import pytest

from dpcov.privacy import adaptive, gaussian
from wiring.audit import audit, audit_means, audit_rare
from wiring.choices import CORE, RADIUS, SIDES
from wiring.planting import plant
from wiring.watching import Watch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DENSE = "mechanisms.dense:_Steps."
SENSITIVITY = "privacy.sensitivity:squared_moment_sensitivity"
PLAIN = {name: values[0] for name, values in (CORE | SIDES).items()} | {"row_norm": 1.0}
UNITS = {"rows_per_unit": 3}
PAIRS = {"mechanism": "pairs", "max_pairs": 2, "row_norm": 1.0}
LEARNED = {"mechanism": "pairs", "max_pairs": 2, "center": "learned"}
SCALES = {"row_norm": RADIUS, "scales": "private"}
LESS = {"neighbors": "add-remove"}

# Name: where, what stands there, what is planted, and options under which it shows.
BUGS = {
    # Found by planting bugs by hand; nothing noticed them.
    "heavy tails with several rows of a person paid as one": (
        DENSE + "_release",
        "rows_per_unit=options.rows_per_unit",
        "rows_per_unit=1 if trace else options.rows_per_unit",
        {"heavy_tails": True} | UNITS,
    ),
    "a private mean with several rows of a person paid as one": (
        DENSE + "_release",
        "rows_per_unit=options.rows_per_unit",
        "rows_per_unit=1 if options.center == 'private' else options.rows_per_unit",
        {"center": "private"} | UNITS,
    ),
    "pairs without rows_per_unit in the plan": (
        "mechanisms.door:_release_pairs",
        "        rows_per_unit=stated.rows_per_unit,\n",
        "",
        PAIRS | UNITS | {"center": "public"},
    ),
    "private scales paid as add-remove": (
        DENSE + "_sum_squares",
        "neighbors=self._promise.neighbors",
        "neighbors=type(self._promise.neighbors).ADD_REMOVE",
        SCALES,
    ),
    "pairs selected with two thirds of the noise": (
        "mechanisms.pairs:release_co_movement",
        "scale=calibration.selection_scale",
        "scale=calibration.selection_scale * 2 / 3",
        PAIRS,
    ),
    # The wiring of the dense mechanism.
    "a trace with several rows of a person paid as one": (
        DENSE + "_sum_squares",
        "rows_per_unit=self._options.rows_per_unit",
        "rows_per_unit=1 if total else self._options.rows_per_unit",
        {"heavy_tails": True} | UNITS,
    ),
    "scales with several rows of a person paid as one": (
        DENSE + "_sum_squares",
        "rows_per_unit=self._options.rows_per_unit",
        "rows_per_unit=self._options.rows_per_unit if total else 1",
        SCALES | UNITS,
    ),
    "a trace paid from the share of the moments": (
        DENSE + "_sum_squares",
        "self._budget.multipliers[name]",
        "self._budget.multipliers['moments']",
        {"heavy_tails": True},
    ),
    "moments with all of the budget beside other steps": (
        DENSE + "_release",
        'multiplier=self._budget.multipliers["moments"]',
        "multiplier=None",
        SCALES,
    ),
    "a radius chosen with twice its range": (
        DENSE + "_radius",
        "selection_range=self._budget.selection_range",
        "selection_range=2 * self._budget.selection_range",
        {"row_norm": RADIUS},
    ),
    "a radius that forgets how many rows a person has": (
        DENSE + "_radius",
        "rows_per_unit=self._options.rows_per_unit",
        "rows_per_unit=1",
        {"row_norm": RADIUS} | UNITS,
    ),
    "a second radius that is not counted": (
        "mechanisms.dense:DenseOptions.selections",
        "(1 + self.private_scales)",
        "1",
        SCALES,
    ),
    "a radius that is scored twice as steeply": (
        "mechanisms.radius:choose_radius",
        "scores = n_rows - np",
        "scores = 2 * n_rows - 2 * np",
        {"row_norm": RADIUS},
    ),
    "a range taken for a sensitivity": (
        "mechanisms.radius:choose_radius",
        "2 * rows_per_unit / selection_range",
        "rows_per_unit / selection_range",
        {"row_norm": RADIUS},
    ),
    "all steps with the whole budget": (
        "mechanisms.budget:split_budget",
        "whole / math.sqrt(weight)",
        "whole",
        {"heavy_tails": True},
    ),
    "selections for nothing": (
        "mechanisms.budget:split_budget",
        "selections=selections,",
        "selections=0,",
        {"row_norm": RADIUS},
    ),
    "shares that do not add up to one": (
        "mechanisms.budget:split",
        "weight / whole",
        "weight",
        {"heavy_tails": True, "shares": SIDES["shares"][1]},
    ),
    "a listed selection of half its range": (
        "mechanisms.budget:Budget.selection",
        "self.selection_range",
        "self.selection_range / 2",
        {"row_norm": RADIUS},
    ),
    "a listed multiplier that is twice as large": (
        "mechanisms.budget:Budget.gaussian",
        "self.multipliers[name]",
        "2 * self.multipliers[name]",
        {},
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
    "squares whose rows of a person count by their root": (
        "mechanisms.squares:plan_squares",
        "rows_per_unit**2",
        "rows_per_unit",
        {"heavy_tails": True} | UNITS,
    ),
    "a trace paid for half of a row": (
        "mechanisms.squares:plan_squares",
        "unit = 1 if total",
        "unit = Fraction(1, 4) if total",
        {"heavy_tails": True},
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
        {"center": "private"},
    ),
    "one of two products with the constant forgotten": (
        SENSITIVITY,
        "2 * constant**2)",
        "constant**2)",
        {"center": "private"} | LESS,
    ),
    "rows of a person that count by their root": (
        SENSITIVITY,
        "return rows**2",
        "return rows",
        UNITS | LESS,
    ),
    "squares that are replaced paid as removed": (
        "privacy.sensitivity:squared_unit_sensitivity",
        "Neighbors.REPLACE: 2",
        "Neighbors.REPLACE: 1",
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
        "privacy.zcdp:zcdp_budget",
        "return low\n",
        "return 1.01 * low\n",
        PAIRS,
    ),
    "a single selection for nothing": (
        "privacy.adaptive:adaptive_scale",
        "if selections == 0:",
        "if selections <= 1:",
        {"row_norm": RADIUS},
    ),
    "losses of selections cut in half": (
        "privacy.adaptive:_losses",
        "place * step - reach",
        "(place * step - reach) / 2",
        {"row_norm": RADIUS},
    ),
    # The pairs mechanism.
    "sums on a grid that is finer than their noise": (
        "mechanisms.pairs_centering:PlainSums.values",
        "<< FINER_BITS\n",
        "<< (FINER_BITS + 1)\n",
        PAIRS | {"center": "public"},
    ),
    "answers about centers that forget how many columns there are": (
        "mechanisms.pairs_calibration:_squared_sign_sensitivities",
        "unit * n_columns * CENTER_STEPS",
        "unit * CENTER_STEPS",
        LEARNED,
    ),
    "answers about centers that are paid for as one": (
        "mechanisms.pairs_calibration:_squared_sign_sensitivities",
        "unit * n_columns * CENTER_STEPS",
        "unit * n_columns",
        LEARNED,
    ),
    "one answer more than is paid for": (
        "mechanisms.pairs_centers:_Asking.run",
        "range(steps)",
        "range(steps + 1)",
        LEARNED,
    ),
    "mean signs that forget how many columns there are": (
        "mechanisms.pairs_calibration:_squared_sign_sensitivities",
        '"signs": unit * n_columns',
        '"signs": unit',
        LEARNED,
    ),
    "centers and signs with several rows of a person paid as one": (
        "mechanisms.door:_release_pairs",
        "        rows_per_unit=stated.rows_per_unit,\n",
        "",
        LEARNED | UNITS,
    ),
    "mean signs without noise": (
        "mechanisms.pairs:_release_signs",
        "add_noise(sums.totals << FINER_BITS, calibration.sign_scale, stream)",
        "sums.totals << FINER_BITS",
        LEARNED,
    ),
    "mean signs with the noise of the answers about centers": (
        "mechanisms.pairs:_release_signs",
        "calibration.sign_scale, stream",
        "calibration.center_scale, stream",
        LEARNED,
    ),
    "exact mean signs where noisy ones belong": (
        "mechanisms.pairs:_release_signs",
        "np.rint(noisy /",
        "np.rint((sums.totals << FINER_BITS) /",
        LEARNED,
    ),
    "a place that follows from exact counts": (
        "mechanisms.pairs_centers:_Asking.run",
        "search.take(answer / whole",
        "search.take(exact / whole",
        LEARNED,
    ),
    "a bound on cells where one on rows is needed": (
        "mechanisms.pairs_calibration:_squared_square_sensitivity",
        "squares.cell_bound**2 * squares.grid.squared_norm",
        "squares.cell_bound**4",
        PAIRS | {"cell_bound": CORE["cell_bound"][1]},
    ),
    "variances with several rows of a person paid as one": (
        "mechanisms.pairs_calibration:_squared_square_sensitivity",
        " * rows_per_unit**2",
        "",
        PAIRS | UNITS | {"center": "public"},
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
        "sensitive.tables.units:rows_of_units",
        "before == most",
        "before > most",
        UNITS,
    ),
    "rows in two differences": (
        "sensitive.tables.differences:DifferenceSource.blocks",
        "rows[pairs : 2 * pairs]",
        "rows[1 : pairs + 1]",
        {"center": "differences"},
    ),
    "rows in the signs of two differences": (
        "sensitive.tables.differences:DifferenceSource.blocks",
        "rows[pairs : 2 * pairs]",
        "rows[1 : pairs + 1]",
        PAIRS | {"center": "differences"},
    ),
    "cells that are not clipped": (
        "sensitive.sums.signs:_sum_squares",
        "np.clip(whole, -squares.cell_bound, squares.cell_bound, out=whole)",
        "pass",
        PAIRS | {"cell_bound": CORE["cell_bound"][1]},
    ),
    "rows that count twice for the radius": (
        "sensitive.sums.norm_counts:NormKernel.sum_over",
        "cells += np",
        "cells += 2 * np",
        {"row_norm": RADIUS},
    ),
    "a promise for all tables where some are refused": (
        "releases.published:state_domain",
        'made.missing == "refuse"',
        "False",
        {},
    ),
    "another relation than was asked for": (
        "mechanisms.door:release",
        "_central(neighbors)",
        "Neighbors.ADD_REMOVE",
        {},
    ),
}

# Seen only after answers that hardly ever come, or in a table that adds up to nothing.
RARE_BUGS = {
    "a radius no larger than the longest row": (
        "mechanisms.radius:choose_radius",
        "counts.radii[place[0]]",
        "counts.radii[min(place[0], int(np.searchsorted(within, n_rows)))]",
        {"row_norm": RADIUS},
    ),
    "a trace that is drawn until it is positive": (
        "mechanisms.squares:release_trace",
        "    noisy = int(add_noise(sums.sums.sum(keepdims=True), plan.scale, stream)[0])\n",
        "    noisy = -1\n    while noisy <= 0:\n        noisy = int("
        "add_noise(sums.sums.sum(keepdims=True), plan.scale, stream)[0])\n",
        {"heavy_tails": True},
    ),
    "the exact trace where the noisy one is not positive": (
        "mechanisms.squares:release_trace",
        "max(noisy, plan.scale)",
        "max(noisy if noisy > 0 else int(sums.sums.sum()), plan.scale)",
        {"heavy_tails": True},
    ),
    "no noisy trace where there is nothing to add up": (
        "mechanisms.squares:release_trace",
        "max(noisy, plan.scale)",
        "(max(noisy, plan.scale) if sums.sums.any() else plan.scale)",
        {"heavy_tails": True},
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
        "    variances = _release_squares(sums, calibration, stream)\n",
        "    fine = compared.values(pairs)\n"
        "    noisy = np.where(np.abs(noisy) > calibration.n_terms << FINER_BITS, fine, noisy)\n"
        "    variances = _release_squares(sums, calibration, stream)\n",
        PAIRS | {"center": "public"},
    ),
}

# Seen only where mean signs are large.
MEANS_BUGS = {
    "products about means that are paid for as plain ones": (
        "mechanisms.pairs_centering:CenteredSums.values",
        "centered // self._factor(first, second)",
        "centered >> MEAN_BITS",
        LEARNED,
    ),
    "products about means that are compared as plain ones": (
        "mechanisms.pairs_centering:CenteredSums.scores",
        "self._factor(first, second) << MEAN_BITS",
        "1 << (2 * MEAN_BITS)",
        LEARNED,
    ),
    "a factor that forgets who is compared with whom": (
        "releases.pairs:centered_sign_factor",
        "away = first + second",
        "away = np.maximum(first, second)",
        LEARNED | LESS | {"missing": "center"},
    ),
}


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Let no scale that was computed with a bug be used without it, nor the other way round."""
    remembered = [adaptive._smallest_multiplier, adaptive._losses, gaussian._smallest_multiplier]
    for function in remembered:
        function.cache_clear()
    yield
    for function in remembered:
        function.cache_clear()


@pytest.mark.parametrize("options", [bug[3] for bug in BUGS.values()], ids=list(BUGS))
def test_without_the_bug_nothing_is_found(monkeypatch, options):
    assert audit(Watch().stand(monkeypatch), PLAIN | options) == []


@pytest.mark.parametrize(("where", "old", "new", "options"), BUGS.values(), ids=list(BUGS))
def test_a_planted_bug_is_found(monkeypatch, where, old, new, options):
    plant(monkeypatch, where, old, new)
    assert audit(Watch().stand(monkeypatch), PLAIN | options)


@pytest.mark.parametrize("options", [bug[3] for bug in RARE_BUGS.values()], ids=list(RARE_BUGS))
def test_without_the_bug_rare_answers_show_nothing(monkeypatch, options):
    assert audit_rare(Watch().stand(monkeypatch), PLAIN | options) == []


@pytest.mark.parametrize(
    ("where", "old", "new", "options"), RARE_BUGS.values(), ids=list(RARE_BUGS)
)
def test_a_planted_bug_is_found_by_rare_answers(monkeypatch, where, old, new, options):
    plant(monkeypatch, where, old, new)
    assert audit_rare(Watch().stand(monkeypatch), PLAIN | options)


@pytest.mark.parametrize("options", [LEARNED, LEARNED | LESS, LEARNED | UNITS])
def test_without_the_bug_large_means_show_nothing(monkeypatch, options):
    assert audit_means(Watch().stand(monkeypatch), PLAIN | options) == []


@pytest.mark.parametrize(
    ("where", "old", "new", "options"), MEANS_BUGS.values(), ids=list(MEANS_BUGS)
)
def test_a_planted_bug_is_found_by_large_means(monkeypatch, where, old, new, options):
    plant(monkeypatch, where, old, new)
    assert audit_means(Watch().stand(monkeypatch), PLAIN | options)


def test_a_selection_at_half_its_cost_is_found(monkeypatch):
    """In both places: one checks the other."""
    plant(monkeypatch, "privacy.zcdp:_selection_cost", "/ 8 * _UP", "/ 16 * _UP")
    plant(monkeypatch, "privacy.zcdp:selection_scale", "(8 * rho)", "(16 * rho)")
    found = audit(Watch().stand(monkeypatch), PLAIN | PAIRS)
    assert "overspent" in [problem.kind for problem in found]
