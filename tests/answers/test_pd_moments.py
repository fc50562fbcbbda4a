"""Moments for models: released correlations in published units, and the nearest with an inverse."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from answers.exported import three_factor_release, with_categories, with_tails
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.errors import ParameterError
from dpcov.publication.card_data import describe_data
from dpcov.releases.tails import withheld


def noisy(seed=0):
    """Return a release whose variances are noisy, so that published ones are shrunk."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3_000, 8)) + 0.8 * rng.normal(size=(3_000, 1))
    rows[:, 0] *= 1.4
    return dpcov.release(rows, epsilon=2, delta=1e-6, row_norm=8, seed=seed)


def of_two_values(seed):
    """Return a release with a column of ones and twos, half of them each, in limits 1 and 2."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(3_000, 6)), columns=list("abcdef"))
    table["sex"] = rng.integers(1, 3, 3_000)
    columns = [*"abcdef", dpcov.Column("sex", lower=1, upper=2)]
    columns = [dpcov.Column(each) if isinstance(each, str) else each for each in columns]
    return dpcov.release(table, epsilon=1, delta=1e-6, columns=columns, seed=seed)


def nearly_singular(seed=0):
    """Return a release in which noise makes an eigenvalue negative."""
    rows = np.random.default_rng(seed).normal(size=(4_000, 6))
    rows[:, 3:] = rows[:, :3] + 0.02 * rows[:, 3:]
    return dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=seed)


def small_correlations(seed):
    """Return a release in which no single correlation, of 0.05, stands out."""
    rng = np.random.default_rng(seed)
    rows = np.sqrt(0.95) * rng.normal(size=(4_000, 5)) + np.sqrt(0.05) * rng.normal(size=(4_000, 1))
    return dpcov.release(rows, epsilon=2, delta=1e-6, row_norm=8, seed=seed)


def test_a_matrix_that_has_an_inverse_has_the_released_correlations():
    release = three_factor_release(0)
    moments = moments_of(ask(release, None))
    own = np.sqrt(release.matrix.diagonal())
    np.testing.assert_allclose(moments.correlation, release.matrix / np.outer(own, own))
    np.testing.assert_array_equal(moments.mean, release.location)
    assert moments.moved == 0
    assert "nothing was set to zero or shrunk" in moments.sentences[0]


@pytest.mark.parametrize("make", [noisy, nearly_singular, with_categories])
def test_deviations_are_those_of_the_published_columns(make):
    release = make()
    moments = moments_of(ask(release, None))
    estimate = release.estimate()
    columns = describe_data(estimate)["columns"]
    shown = {column["name"]: column["standard_deviation"] for column in columns}
    found = dict(zip(moments.asked.names, moments.deviations.tolist(), strict=True))
    assert found == {name: pytest.approx(shown[name], rel=1e-12) for name in found}
    np.testing.assert_allclose(np.sqrt(moments.covariance.diagonal()), moments.deviations)
    np.testing.assert_array_equal(moments.correlation.diagonal(), 1.0)


def test_the_published_deviations_of_that_test_are_not_the_released_ones():
    release = noisy()
    moments = moments_of(ask(release, None))
    released = np.sqrt(release.matrix.diagonal()) * release.units.scale
    assert np.max(np.abs(moments.deviations / released - 1)) > 0.005


def test_correlations_are_those_of_the_published_pairs():
    release = noisy()
    moments, pairs = moments_of(ask(release, None)), release.estimate().pairs()
    found = moments.correlation[pairs.first, pairs.second]
    np.testing.assert_allclose(found, pairs.released, atol=1e-12)


def test_reliability_shows_the_published_deviations():
    release = noisy()
    items = release.reliability([f"x{number}" for number in range(4)]).items
    np.testing.assert_allclose(items.deviations, release.estimate().released_deviations[:4])


def test_no_deviation_is_above_half_of_the_range():
    found = []
    for seed in range(10):
        release = of_two_values(seed)
        place = release.columns.index("sex")
        moments = moments_of(ask(release, None))
        assert moments.deviations[place] <= 0.5
        assert release.estimate().released_deviations[place] <= 0.5
        found.append(release.matrix[place, place] ** 0.5 * release.units.scale[place])
    assert max(found) > 0.5  # noise alone would say more


def test_a_mean_that_no_view_shows_is_in_no_export():
    release = with_tails()
    assert [release.columns[place] for place in withheld(release)] == ["x4"]
    moments = moments_of(ask(release, None))
    assert np.flatnonzero(np.isnan(moments.mean)).tolist() == [3]
    assert "No mean is given of x4" in " ".join(moments.sentences)


def test_rows_of_pairs_are_those_in_which_both_cells_are_there():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20_000, 3))
    table[:8_000, 0] = np.nan
    table[4_000:10_000, 1] = np.nan
    release = dpcov.release(table, epsilon=4, delta=1e-6, seed=0)
    moments = moments_of(ask(release, None))
    truth = [[12_000, 10_000, 12_000], [10_000, 14_000, 14_000], [12_000, 14_000, 20_000]]
    np.testing.assert_allclose(moments.rows, truth, atol=400)
    said = " ".join(moments.sentences)
    assert "The divisor of variances and covariances is n, not n - 1; n is 20,000 rows" in said
    assert "The fewest rows are those of x0 with x1" in said


def test_without_gaps_all_pairs_have_all_rows():
    moments = moments_of(ask(three_factor_release(0), None))
    assert moments.rows is None
    assert "n is 20,000 rows." in " ".join(moments.sentences)


def test_it_is_said_which_matrix_models_are_tested_on():
    said = " ".join(moments_of(ask(three_factor_release(0), None)).sentences)
    assert "counts n alone rejects too often" in said
    assert "as many factors then fit it perfectly" in said


def test_a_matrix_that_has_none_gets_one_and_hardly_moves():
    release = nearly_singular()
    assert np.linalg.eigvalsh(release.matrix)[0] < 0
    moments = moments_of(ask(release, None))
    assert np.linalg.eigvalsh(moments.correlation)[0] > 0
    assert 0 < moments.moved < 3
    assert "nearest that have one" in moments.sentences[0]
    assert not (moments.covariance == 0).any()


def test_columns_that_noise_does_not_let_tell_apart_are_named():
    rows = np.random.default_rng(0).normal(size=(4_000, 4))
    rows[:, 1] = rows[:, 0] + 0.02 * rows[:, 1]
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=5, seed=0)
    moments = moments_of(ask(release, None))
    assert moments.untold == ("x0", "x1")
    assert "indistinguishable: x0, x1. Do not rely on slopes" in moments.sentences[1]
    assert moments_of(ask(release, ["x1", "x2", "x3"])).untold == ()


def test_a_part_of_the_columns_is_in_the_order_in_which_they_are_named():
    release = three_factor_release(0)
    moments = moments_of(ask(release, ["x5", "x1"]))
    whole = moments_of(ask(release, None)).covariance
    np.testing.assert_array_equal(moments.covariance, whole[np.ix_([4, 0], [4, 0])])


def test_one_column_is_enough():
    assert moments_of(ask(three_factor_release(0), ["x2"])).covariance.shape == (1, 1)


def biases(matrix_of):
    """Return the mean error of small covariances over releases, in its standard errors."""
    above = np.triu_indices(5, 1)
    errors = np.array(
        [(matrix_of(small_correlations(seed))[above] - 0.05).mean() for seed in range(40)]
    )
    return float(errors.mean() / (errors.std(ddof=1) / np.sqrt(len(errors))))


def test_small_covariances_are_not_biased():
    assert abs(biases(lambda release: moments_of(ask(release, None)).covariance)) < 5


def test_an_estimate_would_bias_them():
    assert biases(lambda release: release.estimate().covariance) < -5


def test_a_column_that_does_not_stand_out_is_refused_by_name():
    rows = np.random.default_rng(0).normal(size=(5_000, 3)) * [1, 1, 1e-4]
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=0)
    with pytest.raises(ParameterError, match=r"'x2' does not stand out .* columns="):
        moments_of(ask(release, None))
    assert moments_of(ask(release, ["x0", "x1"])).n_rows == 5_000
