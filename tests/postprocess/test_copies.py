import numpy as np
import pytest

from dpcov.postprocess.copies import copy_matrix
from dpcov.postprocess.noise_model import NoiseModel

SIZE = 80


@pytest.fixture(scope="module")
def truth():
    loadings = np.random.default_rng(0).standard_normal((SIZE, 2)) / 2
    return loadings @ loadings.T


def copies_of(truth, seed, *, believed=0.1):
    noise = NoiseModel(np.ones(SIZE), 20_000, 0.1, 0.14)
    normal = np.triu(np.random.default_rng(seed).standard_normal((SIZE, SIZE)), k=1)
    matrix = truth + (normal + normal.T) * np.sqrt(noise.block(slice(None)))
    # The split is the same for all matrices of a size: average over splits, too.
    turned = np.random.default_rng(seed).permutation(SIZE)
    matrix = matrix[np.ix_(turned, turned)]
    return copy_matrix(matrix, NoiseModel(np.ones(SIZE), 20_000, believed, 0.14))


def risk_and_error(truth, seed, **options):
    """The estimated risk of the factors alone, and the true one on the same copies."""
    copies = copies_of(truth, seed, **options)
    turned = np.random.default_rng(seed).permutation(SIZE)
    truth = truth[np.ix_(turned, turned)]
    above = np.triu_indices(SIZE, k=1)
    true = np.mean(
        [np.sum((low_rank.block(slice(None)) - truth)[above] ** 2) for _, low_rank in copies.firsts]
    )
    risk, error = copies.rest.risk(np.zeros_like(copies.rest.weight))
    return risk + np.sum(truth[above] ** 2) - true, error


def test_the_risk_of_the_factors_is_estimated_without_bias(truth):
    found = np.array([risk_and_error(truth, seed) for seed in range(40)])
    assert abs(found[:, 0].mean()) < 4 * found[:, 1].mean() / np.sqrt(40)
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.4)


def test_a_wrong_variance_biases_it(truth):
    # With half of the noise believed, what the factors took from the noise looks like a finding.
    found = np.array([risk_and_error(truth, seed, believed=0.05) for seed in range(40)])
    assert abs(found[:, 0].mean()) > 4 * found[:, 0].std() / np.sqrt(40)


def test_the_gain_of_nothing_over_nothing_is_nothing(truth):
    copies = copies_of(truth, 0)
    zeros = np.zeros_like(copies.plain.weight)
    nothing, _ = copies.gain(zeros, np.zeros_like(copies.rest.weight))
    before, _ = copies.plain.risk(zeros)
    after, _ = copies.rest.risk(np.zeros_like(copies.rest.weight))
    # Factors and variances that they do not exceed are positive semi-definite already.
    assert nothing == pytest.approx(before - after, rel=1e-6)


def test_without_any_factor_there_is_nothing_to_compare():
    noise = NoiseModel(np.ones(SIZE), 20_000, 0.1, 0.14)
    assert copy_matrix(np.eye(SIZE), noise) is None


def test_copies_are_symmetric_and_keep_the_diagonal(truth):
    copies = copies_of(truth, 1)
    for first, _ in copies.firsts:
        assert (first == first.T).all()
        assert (np.diag(first) == np.diag(copies.matrix)).all()
        assert (first != copies.matrix)[np.triu_indices(SIZE, k=1)].all()
