"""Reliability of items: intervals cover, and it is printed as papers print it."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from answers.scales import clear, holds, releases, table
from dpcov.answers.share_of_sum import SharesOfSums
from dpcov.errors import ParameterError

ITEMS = list("abcde")
LOADINGS = np.array([0.8, 0.7, 0.75, 0.6, 0.65])
MATRIX = np.outer(LOADINGS, LOADINGS) + np.diag(1 - LOADINGS**2)
ALPHA = 5 / 4 * (1 - 5 / MATRIX.sum())
OMEGA = LOADINGS.sum() ** 2 / MATRIX.sum()
REST = (MATRIX.sum(axis=1) - 1) / np.sqrt(MATRIX.sum() - 2 * MATRIX.sum(axis=1) + 1)
RUNS = 80


def alpha_of(covariance):
    count = len(covariance)
    return count / (count - 1) * (1 - np.trace(covariance) / covariance.sum())


@pytest.fixture(scope="module")
def found():
    noisy = releases(RUNS, n_rows=3000, correlations=MATRIX)
    return [release.reliability(ITEMS) for release in noisy]


def test_intervals_cover_alpha(found):
    assert 0.88 <= np.mean([holds(each.alpha_interval(), ALPHA) for each in found]) <= 0.995
    # The control: without privacy noise, by Bonett's formula.
    errors = (1 - ALPHA) * np.sqrt(2 * 5 / (4 * 2998))
    assert np.mean([abs(each.alpha - ALPHA) < 1.96 * errors for each in found]) < 0.8


def test_intervals_cover_omega(found):
    assert 0.88 <= np.mean([holds(each.omega_interval(), OMEGA) for each in found]) <= 0.995
    half = [abs(each.omega - OMEGA) < 1.96 * each.omega_error / 2 for each in found]
    assert np.mean(half) < 0.85


def test_intervals_cover_alpha_without_each_item(found):
    truth = [alpha_of(np.delete(np.delete(MATRIX, place, 0), place, 1)) for place in range(5)]
    covered = [holds(each.dropped_interval(), np.array(truth)) for each in found]
    assert 0.9 <= np.mean(covered) <= 0.99


def test_intervals_cover_correlations_with_the_other_items(found):
    assert 0.9 <= np.mean([holds(each.rest_interval(), REST) for each in found]) <= 0.99


def test_alpha_is_that_of_the_raw_table_where_there_is_hardly_any_noise():
    rows = table(0, 20_000, MATRIX)
    found = clear(correlations=MATRIX).reliability(ITEMS, about="table")
    assert found.alpha == pytest.approx(alpha_of(np.cov(rows.T)), abs=0.002)
    low, high = found.alpha_interval()
    assert low < alpha_of(np.cov(rows.T)) < high


def test_an_item_that_is_worded_the_other_way_round_can_be_reversed():
    turned = MATRIX.copy()
    turned[1], turned[:, 1] = -turned[1], -turned[:, 1]
    turned[1, 1] = 1.0
    release = clear(correlations=turned)
    reversed_ = release.reliability(ITEMS, reverse=["b"])
    assert reversed_.alpha == pytest.approx(ALPHA, abs=0.01)
    assert reversed_.omega == pytest.approx(OMEGA, abs=0.01)
    assert np.abs(reversed_.items.rest_correlations - REST).max() < 0.03
    low, high = reversed_.omega_interval()
    assert high - low < 0.03
    plain = release.reliability(ITEMS)
    assert plain.alpha < 0.5
    assert "b goes against the other items" in plain.summary()
    assert "b (reversed)" in reversed_.summary()


def test_it_is_printed_as_papers_print_it():
    text = clear(correlations=MATRIX).reliability(ITEMS).summary()
    assert "Cronbach's α = .82" in text
    assert "McDonald's ω = .83" in text
    assert "95 % CI [.8" in text
    assert "0.8" not in text.split("Cronbach")[1].split("rows")[0]


def test_a_sum_that_does_not_stand_out_of_the_noise_is_said():
    rows = table(0, 300, MATRIX)
    stated = {"epsilon": 0.2, "delta": 1e-6, "row_norm": 7.0, "allow": {"small"}}
    release = dpcov.release(rows, **stated, seed=3)
    found = release.reliability(ITEMS)
    assert np.isnan(found.alpha)
    assert found.omega_interval() == (0.0, 1.0)
    assert "too noisy to tell" in found.summary()


def test_an_item_that_does_not_vary_leaves_alpha_and_not_omega():
    rows = table(0, 20_000, MATRIX).assign(still=0.0)
    release = dpcov.release(rows, epsilon=5, delta=1e-6, row_norm=7.0, seed=3)
    found = release.reliability([*ITEMS, "still"])
    assert np.isfinite(found.alpha)
    assert np.isnan(found.omega)
    assert "The variance of still does not stand out" in found.summary()
    assert found.rest_interval()[0][-1] == -1.0


def test_an_interval_of_a_share_holds_what_the_numbers_do_not_refute():
    variances = np.array([[[0.04, 0.01], [0.01, 0.25]]])
    shares = SharesOfSums(np.array([5]), np.array([5.0]), np.array([12.0]), variances)
    for end in shares.interval(1.96):
        ratio = 1 - end * 4 / 5
        variance = 0.04 - 2 * ratio * 0.01 + ratio**2 * 0.25
        assert (5.0 - ratio * 12.0) ** 2 == pytest.approx(1.96**2 * variance)


def test_the_frame_and_the_page_show_the_same_numbers():
    found = clear(correlations=MATRIX).reliability(ITEMS, confidence=0.9)
    frame = found.to_frame()
    assert frame.loc["a", "alpha_if_dropped"] == found.alpha_if_dropped[0]
    assert isinstance(frame, pd.DataFrame)
    assert "90 % CI" in found._repr_html_()
    assert found.alpha_interval() == found.alpha_interval(0.9)
    assert repr(found) == "Reliability(5 items, α 0.83, ω 0.83)"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"columns": ["a", "b"]}, "at least 3 columns"),
        ({"columns": None}, "must name the items"),
        ({"columns": ["a", "b", "a"]}, "'a' is named twice"),
        ({"columns": ["a", "b", "nobody"]}, "There is no column"),
        ({"columns": ["a", "b", "c"], "reverse": ["d"]}, "'d' is to be reversed"),
        ({"columns": ["a", "b", "c"], "reverse": "a"}, "put the one name into a list"),
        ({"columns": ["a", "b", "c"], "confidence": 1.5}, "confidence must"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(ParameterError, match=sentence):
        clear(n_rows=2000, correlations=MATRIX).reliability(**arguments)
