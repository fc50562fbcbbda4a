"""Factor analysis: exact models are found, by both methods, and the errors are those of fits."""

import numpy as np
import pytest

from answers.scales import CORRELATIONS, LOADINGS
from dpcov.answers.factor_errors import factor_slopes
from dpcov.answers.factor_fit import LEAST_UNIQUENESS, METHODS, fit_factors
from dpcov.answers.rotation import rotate
from dpcov.answers.rotation_errors import loading_slopes


def noisy(seed, size=0.02):
    noise = np.triu(np.random.default_rng(seed).normal(0, size, CORRELATIONS.shape), 1)
    return CORRELATIONS + noise + noise.T


@pytest.mark.parametrize("method", METHODS)
def test_the_factors_of_an_exact_model_are_found(method):
    fit = fit_factors(CORRELATIONS, 2, method)
    assert np.abs(rotate(fit.loadings, "varimax").loadings - LOADINGS).max() < 1e-4
    assert np.abs(fit.uniquenesses - (1 - (LOADINGS**2).sum(axis=1))).max() < 1e-4


def test_maximum_likelihood_is_that_of_scikit_learn():
    decomposition = pytest.importorskip("sklearn.decomposition")
    rows = np.random.default_rng(0).standard_normal((3000, 8)) @ np.linalg.cholesky(CORRELATIONS).T
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    other = decomposition.FactorAnalysis(2, tol=1e-6, max_iter=2000, svd_method="lapack")
    other.fit(rows)
    fit = fit_factors(np.corrcoef(rows.T), 2, "ml")
    assert np.abs(fit.uniquenesses - other.noise_variance_).max() < 5e-3
    assert (
        np.abs(fit.loadings @ fit.loadings.T - other.components_.T @ other.components_).max() < 5e-3
    )


def test_minimum_residual_leaves_less_off_the_diagonal_than_maximum_likelihood():
    left = [
        np.triu(noisy(1, 0.1) - fit_factors(noisy(1, 0.1), 2, method).implied, 1)
        for method in METHODS
    ]
    assert (left[0] ** 2).sum() < (left[1] ** 2).sum()


def test_a_column_that_factors_would_explain_beyond_all_is_a_heywood_case():
    matrix = np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.6], [0.8, 0.6, 1.0]])  # 0.9 · 0.8 > 0.6
    fit = fit_factors(matrix, 1, "minres")
    assert fit.at_bound.tolist() == [True, False, False]
    assert fit.uniquenesses[0] == pytest.approx(LEAST_UNIQUENESS)


def test_an_indefinite_matrix_is_fitted_by_minimum_residual():
    matrix = noisy(3, 0.3)
    assert np.linalg.eigvalsh(matrix)[0] < 0
    fit = fit_factors(matrix, 2, "minres")
    assert np.isfinite(fit.loadings).all()
    assert fit.uniquenesses.min() >= LEAST_UNIQUENESS


@pytest.mark.parametrize("method", METHODS)
def test_loadings_and_uniquenesses_move_with_correlations_as_their_slopes_say(method):
    step = np.triu(np.random.default_rng(5).normal(0, 1e-4, CORRELATIONS.shape), 1)
    step = step + step.T
    fit, up, down = (fit_factors(noisy(2) + sign * step, 2, method) for sign in (0, 1, -1))
    slopes = factor_slopes(fit)
    of_loadings = loading_slopes(rotate(fit.loadings, "varimax")) @ slopes.loadings.reshape(16, -1)
    turned = [rotate(each.loadings, "varimax").loadings.ravel() for each in (up, down)]
    difference = (turned[0] - turned[1]) / 2
    assert np.abs(of_loadings @ step.ravel() - difference).max() < 0.01 * np.abs(difference).max()
    difference = (up.uniquenesses - down.uniquenesses) / 2
    said = slopes.uniquenesses.reshape(8, -1) @ step.ravel()
    assert np.abs(said - difference).max() < 0.01 * np.abs(difference).max()


def test_a_uniqueness_at_its_bound_does_not_move():
    matrix = np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.6], [0.8, 0.6, 1.0]])
    assert not factor_slopes(fit_factors(matrix, 1, "minres")).uniquenesses[0].any()
