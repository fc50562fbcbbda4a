"""Answers from releases of the strongest pairs: where they can be had, and how sure they are."""

import numpy as np
import pytest

import dpcov
from dpcov.answers.moments import moments_of
from dpcov.answers.pairs_moments import PairsMoments
from dpcov.errors import ParameterError

SIZE = 5
TRUTH = 0.6 ** np.abs(np.subtract.outer(range(SIZE), range(SIZE)))
NAMES = [f"x{place}" for place in range(SIZE)]
INVERSE = np.linalg.inv(TRUTH)
PARTIAL = -INVERSE / np.sqrt(np.outer(INVERSE.diagonal(), INVERSE.diagonal()))


def release_of(seed, *, n_columns=SIZE, n_rows=10_000, max_pairs=10, **options):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns))
    rows[:, :SIZE] = rows[:, :SIZE] @ np.linalg.cholesky(TRUTH).T
    return dpcov.release_pairs(
        rows, epsilon=1, delta=1e-6, max_pairs=max_pairs, seed=seed, **options
    )


@pytest.fixture(scope="module")
def some():
    return release_of(0, n_columns=8, max_pairs=7)


def partial_coverage(runs=16):
    covered, count = 0, 0
    for seed in range(runs):
        found = release_of(seed).partial_correlations()
        truth = PARTIAL[found.first, found.second]
        covered += int(((found.low <= truth) & (truth <= found.high)).sum())
        count += len(truth)
    return covered / count


def test_intervals_of_partial_correlations_cover():
    assert 0.92 < partial_coverage() < 0.995


def test_intervals_without_errors_of_sampling_do_not_cover(monkeypatch):
    monkeypatch.setattr(PairsMoments, "_of_signs", lambda self, weights: [])
    assert partial_coverage(8) < 0.85


def test_intervals_of_slopes_cover():
    slopes = np.linalg.solve(TRUTH[:-1, :-1], TRUTH[:-1, -1])
    covered = []
    for seed in range(12):
        low, high = release_of(seed).regress(NAMES[-1], NAMES[:-1]).interval()
        covered += ((low[1:] <= slopes) & (slopes <= high[1:])).tolist()
    assert np.mean(covered) > 0.9


def test_own_units_follow_from_released_variances():
    release = release_of(0, row_norm=8.0, cell_bound=5.0)
    fit = release.regress("x4", ["x2", "x3"])
    np.testing.assert_allclose(fit.standardized[1], 0.6, atol=0.1)
    assert "standardized: " not in fit.summary()


def test_without_variances_columns_are_standardized(some):
    known = release_of(0)
    fit = known.regress("x4", ["x2", "x3"])
    np.testing.assert_array_equal(fit.coefficients[1:], fit.standardized)
    assert "all columns count as standardized" in fit.summary()


def test_without_means_there_is_no_intercept():
    fit = release_of(0).regress("x4", ["x2", "x3"])
    assert not fit.told[0]
    assert "no intercept to be told" in fit.summary()


def test_means_that_were_released_give_an_intercept():
    release = release_of(0, row_norm=8.0, cell_bound=5.0, center="learned")
    fit = release.regress("x4", ["x2", "x3"])
    assert fit.told[0]
    assert abs(fit.coefficients[0]) < 5 * fit.standard_errors[0]


def test_errors_about_the_table_are_smaller():
    release = release_of(0)
    table, people = (
        release.partial_correlations(about=about).standard_errors
        for about in ("table", "population")
    )
    assert (table < people).all()


def test_errors_of_correlations_are_those_of_the_estimate():
    release = release_of(0)
    moments = moments_of(release, np.arange(SIZE), "population")
    first, second = release.pairs.T
    weights = np.zeros((len(first), SIZE, SIZE))
    weights[np.arange(len(first)), first, second] = 1.0
    expected = release.estimate().pair_standard_error
    np.testing.assert_allclose(np.sqrt(moments.variance(weights)), expected, rtol=0.02)


def test_missing_pairs_are_named(some):
    with pytest.raises(ParameterError, match=r"Nothing was released of .*x0 – x7.*max_pairs="):
        some.partial_correlations(["x0", "x1", "x7"])


def test_columns_that_have_all_pairs_are_named(some):
    with pytest.raises(ParameterError, match="All are there of x1, x2 and x3"):
        some.partial_correlations()


def test_a_regression_names_missing_pairs_too(some):
    with pytest.raises(ParameterError, match="x0 – x7"):
        some.regress("x0", ["x1", "x7"])


def test_a_graph_of_pairs_is_had_where_all_were_released():
    assert len(release_of(0).graph().edges) >= SIZE - 1


def test_a_column_that_is_not_there_is_refused(some):
    with pytest.raises(ParameterError, match="did you mean"):
        some.partial_correlations(["x0", "x1", "x22"])


def test_the_covariance_of_all_entries_is_refused(some):
    with pytest.raises(ParameterError, match="strongest pairs"):
        some.entry_covariance()
