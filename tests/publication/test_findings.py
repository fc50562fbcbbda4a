import numpy as np
import pytest

from dpcov.publication.findings import _small, _to_two_digits_of, find
from plot.pictures import estimate_of, pairs_estimate_of, truth_of

LINKS = (0, 1, 0.5), (2, 3, -0.6), (4, 5, 0.1)


def test_a_row_has_the_numbers_of_its_edge():
    estimate = estimate_of(4.0 * truth_of(6, *LINKS))
    found = find(estimate, 0.01)
    edges = estimate.edges(0.01)
    assert len(found.rows) == len(edges) >= 3
    for row, edge in zip(found.rows, edges, strict=True):
        assert (row.first, row.second) == (edge.first, edge.second)
        assert float(row.value) == pytest.approx(edge.value, abs=edge.standard_error / 10)
        assert float(row.standard_error) == pytest.approx(edge.standard_error, rel=0.06)
        i, j = (estimate.columns.index(name) for name in (edge.first, edge.second))
        unit = np.sqrt(estimate.noise.variances[i] * estimate.noise.variances[j])
        assert float(row.correlation) == pytest.approx(edge.value / unit, abs=6e-4)
        assert row.q_value == _small(edge.q_value)


def test_a_release_of_pairs_without_variances_is_in_units_of_correlation():
    assert find(pairs_estimate_of(truth_of(6, *LINKS)), 0.1).quantity == "correlation"
    assert find(estimate_of(truth_of(6, *LINKS)), 0.1).quantity == "covariance"


@pytest.mark.parametrize(
    ("error", "number", "text"),
    [
        (0.0123, 0.45678, "0.457"),
        (0.0123, -0.5, "-0.500"),
        (12.0, 345.6, "346"),
        (1234.0, 98761.0, "9.876e+04"),
        (1.2e-9, 3.45678e-8, "3.457e-08"),
    ],
)
def test_numbers_are_written_as_far_as_their_digits_mean_something(error, number, text):
    assert _to_two_digits_of(error, number) == text


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.0, "< 1e-99"), (1e-100, "< 1e-99"), (2.34e-7, "2.3e-07"), (0.0456, "0.046")],
)
def test_small_probabilities_are_never_written_as_zero(probability, text):
    assert _small(probability) == text


def test_a_correlation_that_noise_led_to_one_is_noticed_and_never_beyond():
    assert not find(estimate_of(truth_of(4, (0, 1, 0.5))), 0.01).at_one
    noisy = find(estimate_of(truth_of(4, (0, 1, 0.99)), n_rows=100), 0.9)
    assert noisy.at_one
    assert all(abs(float(row.correlation)) <= 1 for row in noisy.rows)
