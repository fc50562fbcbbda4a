"""Moments for models: as released, and the nearest with an inverse where there is none."""

import numpy as np
import pytest

import dpcov
from answers.exported import three_factor_release
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.errors import ParameterError


def own(release):
    return release.matrix * np.outer(release.units.scale, release.units.scale)


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


def test_a_matrix_that_has_an_inverse_is_the_released_one():
    release = three_factor_release(0)
    moments = moments_of(ask(release, None))
    np.testing.assert_array_equal(moments.covariance, own(release))
    np.testing.assert_array_equal(moments.mean, release.location)
    assert moments.moved == 0
    assert "the released one" in moments.sentences[0]


def test_a_matrix_that_has_none_gets_one_and_hardly_moves():
    release = nearly_singular()
    assert np.linalg.eigvalsh(release.matrix)[0] < 0
    moments = moments_of(ask(release, None))
    assert np.linalg.eigvalsh(moments.correlation)[0] > 0
    assert 0 < moments.moved < 3
    assert "nearest that has one" in moments.sentences[0]
    assert not (moments.covariance == 0).any()


def test_columns_that_noise_does_not_let_tell_apart_are_named():
    rows = np.random.default_rng(0).normal(size=(4_000, 4))
    rows[:, 1] = rows[:, 0] + 0.02 * rows[:, 1]
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=5, seed=0)
    moments = moments_of(ask(release, None))
    assert moments.untold == ("x0", "x1")
    assert "apart: x0, x1. Do not rely on slopes" in moments.sentences[1]
    assert moments_of(ask(release, ["x1", "x2", "x3"])).untold == ()


def test_a_part_of_the_columns_is_in_the_order_in_which_they_are_named():
    release = three_factor_release(0)
    moments = moments_of(ask(release, ["x5", "x1"]))
    np.testing.assert_array_equal(moments.covariance, own(release)[np.ix_([4, 0], [4, 0])])


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
