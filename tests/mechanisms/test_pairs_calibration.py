"""The calibration of the pairs mechanism, compared with numbers that are computed again."""

import math
from dataclasses import fields
from fractions import Fraction

import pytest

from dpcov.errors import ParameterError
from dpcov.mechanisms.pairs_calibration import (
    PairsCalibration,
    calibrate_pairs,
    default_shares,
    finds_centers,
)
from dpcov.privacy import ApproxDP
from dpcov.privacy.zcdp import zcdp_budget

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
RHO = zcdp_budget(**BUDGET)
FACTS = {"n_rows": 3000, "n_columns": 50, "max_pairs": 20}
APART = {"replace": 2, "add-remove": 1}
TAKEN = dict.fromkeys(("centers", "signs", "selection", "values", "variances"), True)


def calibrated(relation="replace", **options):
    return calibrate_pairs(promise=ApproxDP(**BUDGET, neighbors=relation), **FACTS | options)


@pytest.mark.claim("P19")
@pytest.mark.parametrize(
    ("options", "message"),
    [({"relation": "add-remove"}, "need neighbors='replace'"), ({"rows_per_unit": 2}, "Several")],
)
def test_no_noise_is_planned_for_differences_that_do_not_keep_the_promise(options, message):
    with pytest.raises(ParameterError, match=message):
        calibrated(center="differences", **options)


def test_the_local_model_is_refused():
    with pytest.raises(ParameterError, match="not in the local model"):
        calibrated("local", center="stated")


@pytest.mark.claim("P20")
def test_a_calibration_is_for_one_row_of_a_person_unless_more_are_stated():
    made = calibrated(center="stated")
    stated = {each.name: getattr(made, each.name) for each in fields(made)}
    assert stated.pop("rows_per_unit") == 1
    assert PairsCalibration(**stated) == made


@pytest.mark.parametrize("center", ["stated", "differences"])
def test_steps_that_are_not_taken_have_no_noise(center):
    made = calibrated(center=center, n_columns=5, max_pairs=10)
    noise = (made.center_scale, made.sign_scale, made.selection_scale, made.square_scale)
    assert noise == (0, 0, 0.0, 0)
    assert (made.square_step, made.mean_step) == (0.0, 0.0)
    assert [event.name for event in made.events] == ["values"]


@pytest.mark.claim("P12")
@pytest.mark.claim("P30")
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("relation", APART)
def test_every_scale_and_every_event_is_that_of_its_share(relation, most):
    shares = {"centers": 0.1, "signs": 0.05, "selection": 0.5, "values": 0.25, "variances": 0.1}
    made = calibrated(relation, center="learned", row_norm=3.0, shares=shares, rows_per_unit=most)
    rho, apart = Fraction(RHO), APART[relation] * most
    squared = {
        "centers": Fraction(20 * 50 * (2 * most) ** 2),
        "signs": Fraction(50 * apart**2),
        "values": Fraction(20 * apart**2),
    }
    scales = {"centers": made.center_scale, "signs": made.sign_scale, "values": made.value_scale}
    multipliers = {event.name: Fraction(event.multiplier) for event in made.events[:2]}
    multipliers["values"] = Fraction(made.events[3].multiplier)
    assert [event.name for event in made.events] == list(shares)
    little = Fraction(1, 10**6)
    for step, moved in squared.items():
        variance = Fraction(scales[step]) ** 2 / 4**20
        needed = moved / (2 * Fraction(shares[step]) * rho)
        assert needed <= variance <= needed * (1 + little)
        # The event says no more noise than was drawn, and hardly less.
        assert (1 - little**2) * variance <= multipliers[step] ** 2 * moved <= variance
    selection = made.events[2]
    assert selection.count == 20
    assert Fraction(selection.range) * Fraction(made.selection_scale) >= 2 * apart
    assert selection.range**2 / 8 * 20 == pytest.approx(shares["selection"] * RHO, rel=1e-6)


def test_noise_of_averages_is_that_of_sums_over_the_terms():
    made = calibrated(center="learned", row_norm=3.0)
    assert made.noise_scale == made.value_scale / 2**20 / 3000
    assert made.mean_sign_noise == made.sign_scale / 2**20 / 3000
    assert made.typical_mean_sign == pytest.approx(
        2 * made.center_scale / 2**20 / 3000 / math.sqrt(20), rel=1e-12
    )
    step = made.squares.grid.step
    assert made.square_noise == pytest.approx(made.square_scale * step**2 / 3000, rel=1e-12)
    assert made.mean_noise == pytest.approx(
        made.square_scale * step / made.squares.weight / 3000, rel=1e-12
    )


@pytest.mark.parametrize(("center", "terms"), [("differences", 500), ("stated", 1001)])
def test_another_number_of_rows_changes_averages_and_no_noise(center, terms):
    made = calibrated(center=center, row_norm=3.0)
    other = made.for_rows(1001)
    assert (other.n_rows, other.n_terms) == (1001, terms)
    assert other.events == made.events
    assert other.noise_scale == other.value_scale / 2**20 / terms
    assert (other.value_scale, other.square_scale) == (made.value_scale, made.square_scale)


@pytest.mark.parametrize("n_rows", [1, 1500, 5000, 10_000, 10**6])
def test_centers_and_signs_have_as_much_as_is_enough_within_limits(n_rows):
    """Enough is the share at which mean signs have noise of 0.015, or 0.02."""
    apart = {"centers": 2, "signs": 1, "values": 1}
    shares = default_shares(TAKEN, RHO, apart, n_rows=n_rows, n_columns=50)

    def share(apart, enough, least, most):
        return min(most, max(least, apart**2 * 50 / (2 * RHO * (n_rows * enough) ** 2)))

    centers, signs = share(2, 0.015, 0.02, 0.15), share(1, 0.02, 0.01, 0.05)
    assert shares == pytest.approx(
        {
            "centers": centers,
            "signs": signs,
            "selection": 0.55,
            "values": 0.45 - centers - signs,
            "variances": 0.1,
        }
    )


def test_without_a_selection_the_values_have_its_share():
    shares = default_shares(
        TAKEN | {"selection": False},
        RHO,
        {"centers": 2, "signs": 2, "values": 2},
        n_rows=10**6,
        n_columns=50,
    )
    assert shares["values"] == pytest.approx(1 - 0.02 - 0.01)


def test_without_learned_centers_selection_and_values_have_the_same_share():
    shares = default_shares(TAKEN | {"centers": False}, RHO, {}, n_rows=10, n_columns=50)
    assert (shares["selection"], shares["values"], shares["variances"]) == (0.5, 0.5, 0.1)


@pytest.mark.parametrize("relation", APART)
def test_centers_are_sought_where_one_answer_has_noise_of_at_most_seven_percent(relation):
    """With 0.15 of the budget; for either relation two apart, since answers count any row."""
    rows = 2 * math.sqrt(50 / (2 * 0.15 * RHO)) / 0.07
    promise = ApproxDP(**BUDGET, neighbors=relation)
    found = [
        finds_centers(promise, n_rows=n_rows, n_columns=50)
        for n_rows in (math.floor(rows), math.ceil(rows))
    ]
    assert found == [False, True]


@pytest.mark.parametrize("max_pairs", [0, 11])
def test_the_number_of_pairs_is_one_that_there_is(max_pairs):
    with pytest.raises(ParameterError, match="from 1 to 10"):
        calibrated(center="stated", n_columns=5, max_pairs=max_pairs)
    with pytest.raises(ParameterError, match="two columns or more"):
        calibrated(center="stated", n_columns=1, max_pairs=1)


def test_a_refusal_says_how_many_pairs_there_are():
    with pytest.raises(ParameterError, match=r"5 columns have 10 pairs\."):
        calibrated(center="stated", n_columns=5, max_pairs=11)


@pytest.mark.claim("P10")
@pytest.mark.parametrize("steps", [1, 2, 1000, 2**20])
def test_sums_of_cells_weigh_at_least_one_step_and_no_more_than_the_bound_on_cells(steps):
    made = calibrated(center="stated", row_norm=1.0, cell_bound=steps / 2**20)
    assert made.squares.cell_bound == steps
    # The root of 2 · 0.4 · R/√p · B, whole and at most B.
    best = math.floor(math.sqrt(0.8 * 2**20 / math.sqrt(50) * steps))
    assert made.squares.weight == min(steps, best) >= 1


@pytest.mark.parametrize("bound", [1e-22, 1e-30, 2e-18])
def test_a_bound_on_cells_that_no_release_can_state_is_refused_before_noise(bound):
    with pytest.raises(ParameterError, match="cell_bound must lie in"):
        calibrated(center="stated", row_norm=1e-18, cell_bound=bound)


@pytest.mark.claim("P10")
def test_sums_of_cells_are_released_about_a_center_however_many_columns_there_are():
    made = calibrated(center="stated", n_columns=10**13, row_norm=1.0, cell_bound=2.0**-20)
    assert made.squares.weight == 1


@pytest.mark.parametrize("norm", [1e-18, 1e18])
def test_a_bound_on_cells_may_be_as_small_or_as_large_as_that_on_rows(norm):
    made = calibrated(center="stated", row_norm=norm, cell_bound=norm).squares
    assert made.cell_bound * made.grid.step == pytest.approx(norm)
