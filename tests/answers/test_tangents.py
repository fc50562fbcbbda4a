"""How partial correlations move with the moments: against differences and written-out sums."""

import numpy as np
import pytest

from dpcov.answers.tangents import Independent, Tangents

SIZE = 6
ROOT = np.random.default_rng(0).normal(size=(SIZE, 20))
MOMENTS = np.corrcoef(ROOT)
TANGENTS = Tangents(np.linalg.inv(MOMENTS))
FIRST, SECOND = np.triu_indices(SIZE, k=1)


def symmetric(seed):
    noise = np.random.default_rng(seed).uniform(0.5, 2, size=(SIZE, SIZE))
    return noise + noise.T


@pytest.fixture(scope="module")
def weights():
    return np.concatenate(list(TANGENTS.written(FIRST, SECOND)))


def test_weights_are_derivatives(weights):
    change = 1e-6 * symmetric(1)
    moved = Tangents(np.linalg.inv(MOMENTS + change)).correlations - TANGENTS.correlations
    expected = np.einsum("aij,ij->a", weights, change)
    np.testing.assert_allclose(moved[FIRST, SECOND], expected, rtol=1e-4, atol=1e-10)


def test_weights_do_not_see_the_units_of_columns(weights):
    scale = np.random.default_rng(2).normal(size=SIZE)
    change = MOMENTS * np.add.outer(scale, scale)
    np.testing.assert_allclose(np.einsum("aij,ij->a", weights, change), 0, atol=1e-12)


def written_variance(weights, variances):
    sides = 2 * variances
    np.fill_diagonal(sides, variances.diagonal())
    return np.einsum("aij,aij,ij->a", weights, weights, sides)


def spread_variance(noise):
    found = TANGENTS.spread(noise)
    rho = TANGENTS.correlations
    return (found.noise - found.cross * rho + found.scale * rho**2)[FIRST, SECOND]


def test_the_spread_is_that_of_weights_written_down(weights):
    variances = symmetric(3)
    expected = written_variance(weights, variances)
    np.testing.assert_allclose(spread_variance(Independent(None, variances)), expected)


def test_noise_of_mapped_columns_is_that_of_mapped_weights(weights):
    image = np.random.default_rng(4).normal(size=(SIZE, SIZE))
    variances = symmetric(5)
    expected = written_variance(image.T @ weights @ image, variances)
    np.testing.assert_allclose(spread_variance(Independent(image, variances)), expected)


def test_errors_of_columns_are_those_of_weights_written_down(weights):
    own = np.arange(1.0, SIZE + 1)
    expected = 4 * np.einsum("aij,jk,aki,i->a", weights, MOMENTS, weights, own)
    np.testing.assert_allclose(TANGENTS.of_columns(own)[FIRST, SECOND], expected)
