"""The lines of the table of pairs, as text."""

import numpy as np
import pytest

from dpcov.digits import (
    correlation_text,
    interval_text,
    probability_text,
    with_error,
)
from dpcov.postprocess import TOO_NOISY
from dpcov.publication.findings import pair_rows, related_lines
from dpcov.publication.tables import pairs_table
from plot.pictures import estimate_of, pairs_estimate_of, truth_of

LINKS = (0, 1, 0.5), (2, 3, -0.6), (4, 5, 0.1)


def test_a_row_has_the_numbers_of_its_pair():
    estimate = estimate_of(4.0 * truth_of(6, *LINKS))
    rows = pair_rows(pairs_table(estimate, 0.01), 100)
    assert len(rows) == 15
    for row in rows:
        pair = estimate[row.first, row.second]
        width = pair.interval[1] - pair.interval[0]
        assert row.correlation == correlation_text(pair.released, width)
        assert row.interval == interval_text(*pair.interval)
        assert row.estimate == correlation_text(pair.correlation, width)
        assert row.q_value == probability_text(pair.q_value)
        assert row.related == (pair.q_value <= 0.01)


def test_the_related_pairs_come_first_and_are_those_of_the_list():
    estimate = estimate_of(truth_of(6, *LINKS))
    table = pairs_table(estimate, 0.01)
    edges = estimate.edges(0.01)
    rows = pair_rows(table, 100, related_only=True)
    assert [(row.first, row.second) for row in rows] == list(
        zip(edges.first, edges.second, strict=True)
    )
    assert [row.related for row in pair_rows(table, 100)] == [True] * 3 + [False] * 12
    assert [line["first"] for line in related_lines(table)] == list(edges.first)


def test_a_covariance_is_that_of_the_list_with_its_error():
    estimate = estimate_of(4.0 * truth_of(6, *LINKS))
    for row, edge in zip(
        pair_rows(pairs_table(estimate, 0.01), 3), estimate.edges(0.01), strict=True
    ):
        shown = with_error(edge.value, edge.standard_error)
        assert f"{row.covariance} ± {row.covariance_error}" == shown


def test_a_release_of_pairs_without_variances_has_no_covariances():
    table = pairs_table(pairs_estimate_of(truth_of(6, *LINKS)), 0.1)
    assert not [name for name in table if "covariance" in name]
    assert pair_rows(table, 1)[0].covariance == ""


def test_a_correlation_that_noise_hides_is_not_given_as_a_number():
    estimate = estimate_of(truth_of(30), n_rows=200, epsilon=0.1, allow={"small"})
    rows = pair_rows(pairs_table(estimate, 0.1), 100)
    assert {row.correlation for row in rows} == {TOO_NOISY}
    assert {row.interval for row in rows} == {""}


def test_no_correlation_is_beyond_one():
    estimate = estimate_of(truth_of(4, (0, 1, 0.99)), n_rows=100)
    table = pairs_table(estimate, 0.9)
    for name in ("released", "low", "high", "estimate"):
        assert (np.abs(table[name].values) <= 1).all()


@pytest.mark.parametrize(
    ("correlation", "width", "text"),
    [
        (0.5, 0.1, "+0.50"),
        (-0.9941, 0.02, "-0.994"),
        (-0.001, 0.1, "+0.00"),
        (0.99996, 1e-4, "+1.0000"),
        (0.0, 0.1, "0"),
    ],
)
def test_correlations_are_written_as_far_as_their_digits_mean_something(correlation, width, text):
    assert correlation_text(correlation, width) == text


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.0, "< 0.0001"), (9.9e-5, "< 0.0001"), (1e-4, "0.00010"), (0.0456, "0.046"), (1.0, "1.0")],
)
def test_small_probabilities_are_never_written_as_zero(probability, text):
    assert probability_text(probability) == text
