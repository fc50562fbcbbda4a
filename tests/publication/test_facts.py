from dataclasses import fields

import pytest

from dpcov.privacy import event_to_dict
from dpcov.publication import make_card
from dpcov.publication.facts import provenance, what_was_released
from dpcov.releases import PairsProvenance, Provenance
from plot.pictures import estimate_of, pairs_estimate_of, scaled_estimate_of, truth_of
from publication import releases
from steady_noise import remembered

# Where a card says what a provenance does.
PLACES = {
    "version": "library version",
    "mechanism": "mechanism name",
    "calibrated_for": "guarantee calibrated_for",
    "row_norm": "reading row_norm",
    "cell_bound": "reading cell_bound",
    "bits": "reading grid_bits",
    "center": "reading center",
    "missing": "reading missing_cells",
    "rows_per_unit": "guarantee privacy_unit rows_per_unit",
    "person_column": "guarantee privacy_unit person_column",
    "cap": "mechanism constants cap",
    "constant": "mechanism constants mean_constant",
    "max_pairs": "mechanism constants max_pairs",
    "selection_scale": "mechanism noise 0 value",
    "events": "mechanism events",
    "collected": "collection",
    "left_out": "data left_out",
}


@remembered
def made(make):
    release = make()
    return release, make_card(release, releases.estimate_of(release))


def card_of(estimate):
    return make_card(estimate.release, estimate)


def look_up(card, place):
    for step in place.split():
        card = card[int(step) if step.isdigit() else step]
    return card


@pytest.mark.parametrize("kind", [Provenance, PairsProvenance])
def test_a_card_has_a_place_for_every_field_of_a_provenance(kind):
    assert {field.name for field in fields(kind)} <= PLACES.keys()


@pytest.mark.parametrize("make", releases.ALL)
def test_a_card_says_all_that_a_provenance_does(make):
    release, card = made(make)
    for field in fields(release.provenance):
        value, said = getattr(release.provenance, field.name), look_up(card, PLACES[field.name])
        if field.name == "events":
            shares = list(release.shares.values())
            value = [event_to_dict(event) for event in value]
            value = [event | {"share": share} for event, share in zip(value, shares, strict=True)]
        elif field.name == "cap" and value is not None:
            value = {"threshold": value.threshold, "coin": value.coin}
        elif field.name == "calibrated_for":
            value = str(value)
        elif field.name == "left_out":
            value, said = list(value) or None, said and said["columns"]
        elif field.name == "constant":
            value = value or None
        assert said == value, field.name


@pytest.mark.parametrize("make", releases.ALL)
def test_every_number_of_a_card_that_is_set_is_in_the_tables(make):
    _, card = made(make)
    shown = " ".join(
        f"{label} {text}" for label, text in what_was_released(card) + provenance(card)
    )
    reading, constants = card["reading"], card["mechanism"]["constants"]
    numbers = [reading["row_norm"], reading["cell_bound"], constants["max_pairs"]]
    numbers.append(constants["mean_constant"])
    assert all(f"{number:.6g}" in shown for number in numbers if number is not None)
    assert all(f"{noise['value']:.3g}" in shown for noise in card["mechanism"]["noise"])
    assert all(event["name"] in shown for event in card["mechanism"]["events"])
    assert "None" not in shown


def test_events_say_what_was_done_and_a_selection_is_told_from_noise():
    _, card = made(releases.learned)
    events = [
        {"kind": "selection", "name": "radius", "range": 0.1, "count": 1, "share": 0.2},
        {"kind": "gaussian", "name": "moments", "multiplier": 2.0, "share": 0.8},
    ]
    card = card | {"mechanism": card["mechanism"] | {"events": events}}
    assert dict(provenance(card))["what cost privacy"] == (
        "radius 20 %: a choice with a privacy loss of range 0.1; "
        "moments 80 %: Gaussian noise of 2 sensitivities"
    )


def test_of_many_events_shares_are_named_and_what_is_not_gaussian():
    _, card = made(releases.learned)
    events = [
        {"kind": "gaussian", "name": f"step {place}", "multiplier": 2.0, "share": 0.2}
        for place in range(4)
    ]
    events.append({"kind": "selection", "name": "radius", "range": 0.1, "count": 1, "share": 0.2})
    card = card | {"mechanism": card["mechanism"] | {"events": events}}
    said = dict(provenance(card))["what cost privacy"]
    assert said.startswith("step 0 20 %, step 1 20 %, ")
    assert "radius 20 %: a choice with a privacy loss of range 0.1" in said
    assert "sensitivities" not in said


def test_the_grid_is_the_row_norm_over_a_power_of_two():
    release, card = made(releases.dense)
    numerator, exponent = dict(provenance(card))["grid"].split(" / 2^")
    assert float(numerator) == pytest.approx(release.provenance.row_norm, rel=1e-5)
    assert int(exponent) == release.provenance.bits


def test_noise_is_said_to_be_in_scaled_units_when_columns_were_scaled():
    listed = dict(what_was_released(card_of(scaled_estimate_of(truth_of(3)))))
    assert listed["units"].startswith("columns scaled by public facts")
    assert "units" not in dict(what_was_released(card_of(estimate_of(truth_of(3)))))


def test_scales_that_were_learned_are_not_called_public():
    card = card_of(scaled_estimate_of(truth_of(3)))
    card["reading"]["scales"] = "learned and paid for"
    assert "learned and paid for" in dict(what_was_released(card))["units"]


def test_a_row_norm_that_was_learned_is_not_called_public():
    listed = dict(what_was_released(made(releases.learned)[1]))
    assert listed["rows clipped to norm"].endswith("learned and paid for")


@pytest.mark.parametrize(
    ("make", "about", "has_constant"),
    [
        (releases.dense, "about a mean", True),
        (releases.collected, "about zero", False),
        (releases.pairs, "signs of differences of rows", False),
    ],
)
def test_what_was_released_is_about_something(make, about, has_constant):
    _, card = made(make)
    assert about in dict(what_was_released(card))["released"]
    assert ("constant of each row, on the grid" in dict(provenance(card))) == has_constant


def test_differences_say_how_many_terms_an_average_has():
    _, card = made(releases.pairs)
    assert dict(what_was_released(card))["terms in each average"] == "2,000"


def test_a_released_mean_says_its_noise():
    estimate = scaled_estimate_of(truth_of(3))
    stated = dict(what_was_released(card_of(estimate)))["noise of a mean"]
    scale = estimate.release.noise_scale.mean
    assert stated.startswith(f"rounded Gaussian, standard deviation {scale:.3g} in working units")


def test_noise_in_working_units_is_given_in_own_units_too():
    estimate = scaled_estimate_of(truth_of(3))
    said = dict(what_was_released(card_of(estimate)))
    noise, scale = estimate.release.noise_scale, estimate.release.units.scale
    small, large = (noise.off_diagonal * scale[i] * scale[i + 1] for i in (0, 1))
    assert (
        f"{small:.3g} ('x0' and 'x1') to {float(f'{large:.3g}'):,.0f} ('x1' and 'x2')"
        in said["noise of a covariance"]
    )
    assert f"{noise.mean * scale[0]:.3g} ('x0')" in said["noise of a mean"]
    large = float(f"{noise.diagonal * scale[2] ** 2:.3g}")
    assert f"{large:,.0f} ('x2')" in said["noise of a variance"]


def test_pairs_without_variances_say_that_all_numbers_are_correlations():
    card = card_of(pairs_estimate_of(truth_of(5)))
    assert "all numbers are correlations" in dict(what_was_released(card))["variances"]
