"""What a card says of what was learned, and how numbers of columns are written."""

from dataclasses import replace

import numpy as np
import pytest

from dpcov.digits import in_digits_of, name_some, with_share_error
from dpcov.publication import make_card
from dpcov.publication.columns import MOST_ROWS, column_rows
from publication import releases
from publication.releases import estimate_of
from steady_noise import remembered

LEARNED = [releases.learned, releases.facts, releases.scaled, releases.uneven]


@remembered
def made(make):
    release = make()
    return release, make_card(release, estimate_of(release))


def card_with(**changes):
    release = made(releases.learned)[0]
    other = replace(release, learned=replace(release.learned, **changes))
    return make_card(other, estimate_of(other))


def said(card):
    return " ".join(card["learned"]["in_words"])


@pytest.mark.parametrize("make", LEARNED)
def test_a_card_has_all_that_was_learned(make):
    release, card = made(make)
    learned, stated = release.learned, card["learned"]
    for name in ("lower", "upper", "beyond"):
        assert [column[name] for column in stated["columns"]] == getattr(learned, name).tolist()
    codes = {"stated": 0, "learned": 1, "not seen": 2}
    for name in ("range", "center", "scale"):
        found = [codes[column[f"{name}_is"]] for column in stated["columns"]]
        assert found == getattr(learned, f"known_{name}").tolist()
    assert [column["name"] for column in stated["columns"]] == list(release.columns)
    assert stated["clipping"] == vars(learned.clipping)
    assert stated["beyond_error"] == learned.beyond_error
    assert (stated["factor"], stated["factor_error"]) == (release.factor, release.factor_error)


def test_limits_that_few_rows_gave_are_said_to_be_rough():
    assert "known to within ± 30 % only" in said(card_with(beyond_error=0.1))
    assert "roughly" not in said(card_with(beyond_error=0.01))


@pytest.mark.parametrize("make", [make for make in releases.ALL if make not in LEARNED])
def test_where_nothing_was_learned_nothing_is_said(make):
    assert made(make)[1]["learned"] is None


@pytest.mark.parametrize("make", releases.ALL)
def test_means_and_deviations_are_those_of_the_release(make):
    release, card = made(make)
    means = [column["mean"] for column in card["data"]["columns"]]
    deviations = [column["standard_deviation"] for column in card["data"]["columns"]]
    unknown = [None] * release.n_columns
    assert means == (release.location.tolist() if release.has_mean else unknown)
    if release.variances_are == "not released":
        assert deviations == unknown
    else:
        assert deviations == estimate_of(release).released_deviations.tolist()


def test_a_deviation_is_the_same_whatever_the_estimate_is():
    release = releases.dense()
    estimates = [release.estimate(psd=psd) for psd in ("none", "sparse", "clip")]
    parts = [make_card(release, estimate)["data"] for estimate in estimates]
    assert parts[0] == parts[1] == parts[2]


@pytest.mark.parametrize("make", LEARNED)
def test_the_sentences_have_the_limits_the_clipping_and_the_factor(make):
    release, card = made(make)
    clipping = release.learned.clipping
    assert "limited to the limits of their columns" in said(card)
    assert with_share_error(clipping.share, clipping.share_error) in said(card)
    assert f"multiplied by {in_digits_of(release.factor_error, release.factor)} ±" in said(card)


def test_columns_of_which_nothing_was_seen_are_to_be_stated():
    found = said(made(releases.uneven)[1])
    assert "state bounds, or center and scale, for 'never'." in found
    assert "for 'never'" not in said(made(releases.learned)[1])
    scale = np.array([1, 2, 1, 1, 2], dtype=np.int8)
    assert "for 'x1' and 'x4'." in said(card_with(known_scale=scale))


def test_a_tail_is_cut_where_more_than_a_hundredth_seems_to_lie_beyond():
    error = made(releases.learned)[0].learned.beyond_error
    beyond = np.array([0.0, 0.01 + 1.9 * error, 0.01 + 4 * error, -1.0, 0.009])
    assert f"the limits of 'x2' ({with_share_error(beyond[2], error)}): tails are cut" in said(
        card_with(beyond=beyond)
    )
    assert "tails are cut" not in said(card_with(beyond=np.zeros(5)))


def test_what_was_learned_is_counted():
    assert (
        "promise: the center of 5 columns, the scale of 5 columns, which share of the cells of "
        "each column is missing, the row"
    ) in said(made(releases.facts)[1])
    assert "Centers and scales of all columns were stated." in said(made(releases.scaled)[1])


def test_the_table_says_how_every_fact_is_known():
    rows = {row.name: row.cells for row in column_rows(made(releases.uneven)[1])}
    assert rows["a"]["known"] == "learned"
    assert rows["b"]["known"] == "range stated; center, scale learned"
    assert rows["never"]["known"] == "center learned; range, scale guessed"
    assert rows["known"]["known"] == "stated"
    assert rows["b"]["limits"] == "-3 to 3"


def test_a_table_has_no_empty_column():
    assert list(column_rows(made(releases.dense)[1])[0].cells) == ["mean", "deviation"]
    assert list(column_rows(made(releases.collected)[1])[0].cells) == ["deviation"]
    assert column_rows(made(releases.pairs)[1]) == []


def test_a_table_of_many_columns_ends_somewhere():
    card = made(releases.learned)[1]
    many = card | {
        "data": card["data"] | {"columns": 99 * card["data"]["columns"]},
        "learned": card["learned"] | {"columns": 99 * card["learned"]["columns"]},
    }
    assert len(column_rows(many)) == MOST_ROWS
    assert len(column_rows(many, 3)) == 3


@pytest.mark.parametrize(
    ("step", "number", "text"),
    [
        (0.1, -0.001, "0.00"),
        (3000.0, -882_345.0, "-882,300"),
        (1e9, 12.0, "0"),
        (1e-12, 5.0, "5"),
        (1.0, 1e12, "1e+12"),
        (0.0, 2.0, "2"),
        (1e200, 3e201, "3e+201"),
    ],
)
def test_a_number_is_written_to_two_digits_of_its_step(step, number, text):
    assert in_digits_of(step, number) == text


def test_some_names_are_named():
    assert name_some(["a"]) == "a"
    assert name_some("abc") == "a, b and c"
    assert name_some("abc", 2) == "a, b and 1 more"
