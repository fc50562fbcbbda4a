import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import dpcov
from dpcov.privacy import ApproxDP, Gaussian, NoPromise, PureDP, Selection
from dpcov.report.facts import odds, provenance, what_was_released
from plot.pictures import estimate_of, pairs_estimate_of, scaled_estimate_of, truth_of


@pytest.mark.parametrize("promise", [PureDP(0.37, "replace"), ApproxDP(1.3, 1e-6, "add-remove")])
def test_the_odds_are_rounded_up(promise):
    stated = float(odds(promise).split("at most ")[1].split(" %")[0]) / 100
    power = promise.attack_power(0.05)
    assert power <= stated < power + 0.001


def test_no_promise_has_no_odds():
    assert odds(NoPromise("simulated with a seed")) is None


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_every_field_of_a_provenance_that_is_set_is_listed(make):
    made = make(truth_of(5)).release.provenance
    listed = provenance(made)
    unset = {"constant": 0}  # no mean was released
    set_fields = [name for name, value in vars(made).items() if value != unset.get(name)]
    assert len(listed) == len(set_fields)
    assert dict(listed)["mechanism"] == made.mechanism


@dataclass(frozen=True)
class Future:
    """A provenance with fields that this version does not know."""

    version: str = "9"
    private_radius: float = 2.5
    centers: np.ndarray = field(default_factory=lambda: np.arange(1000.0))
    events: tuple = (Gaussian("scales", 2.0), Gaussian("moments", 1.0))
    nothing: None = None
    empty: tuple = ()


def test_a_field_that_is_new_is_listed_under_its_name():
    assert dict(provenance(Future()))["private radius"] == "2.5"


def test_events_say_what_was_done():
    listed = dict(provenance(Future()))["what cost privacy"]
    assert listed == (
        "scales: Gaussian noise of 2 sensitivities, moments: Gaussian noise of 1 sensitivities"
    )


def test_a_long_list_is_shortened_and_counted():
    assert dict(provenance(Future()))["centers"] == "0, 1, 2, 3, 4, 5, 6, 7 … and 992 more"


def test_a_field_without_a_value_is_not_listed():
    assert not {"nothing", "empty"} & dict(provenance(Future())).keys()


def test_the_grid_is_the_row_norm_over_a_power_of_two():
    made = estimate_of(truth_of(3)).release.provenance
    numerator, exponent = dict(provenance(made))["grid"].split(" / 2^")
    assert float(numerator) == pytest.approx(made.row_norm, rel=1e-5)
    assert int(exponent) == made.bits
    assert math.isfinite(made.row_norm)


def test_noise_is_said_to_be_in_scaled_units_when_columns_were_scaled():
    listed = dict(what_was_released(scaled_estimate_of(truth_of(3)).release))
    assert listed["units"].startswith("columns scaled by public facts")
    assert "units" not in dict(what_was_released(estimate_of(truth_of(3)).release))


def test_scales_that_were_learned_are_not_called_public():
    estimate = scaled_estimate_of(
        truth_of(3), center="public", scales="private", row_norm=dpcov.PrivateRadius()
    )
    listed = dict(what_was_released(estimate.release))
    assert "learned and paid for" in listed["units"]
    assert listed["rows clipped to norm"].endswith("chosen privately and paid for")


@pytest.mark.parametrize(
    ("center", "about"),
    [("public", "stated centers"), ("private", "a mean"), ("differences", "differences of rows")],
)
def test_what_the_moments_are_about_is_said(center, about):
    release = scaled_estimate_of(truth_of(3), center=center).release
    assert about in dict(what_was_released(release))["released"]
    assert ("constant cell of a row, on the grid" in dict(provenance(release.provenance))) == (
        center == "private"
    )


def test_differences_say_how_many_terms_an_average_has():
    release = scaled_estimate_of(truth_of(3), center="differences", n_rows=5001).release
    assert dict(what_was_released(release))["terms in each average"] == "2,500"


def test_a_released_mean_says_its_noise():
    release = scaled_estimate_of(truth_of(3), center="private").release
    stated = dict(what_was_released(release))["noise of a mean"]
    assert stated == f"standard deviation {release.noise_scale.mean:.3g}"


def test_a_selection_is_told_from_noise():
    events = (Selection("radius", 0.1), Gaussian("moments", 5.0))
    listed = dict(provenance(Future(events=events)))["what cost privacy"]
    assert listed.startswith("radius: a choice with a privacy loss of range 0.1, moments: ")


def test_the_odds_are_about_all_rows_of_a_unit():
    assert "all rows of one 'patient'" in odds(ApproxDP(1.0, 1e-6, "replace", "patient"))
