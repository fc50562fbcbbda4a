import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcov
from dpcov.postprocess.choice import LOW_RANK, choose
from dpcov.postprocess.low_rank import find_low_rank, whitening
from dpcov.postprocess.noise_model import NoiseModel
from postprocess.simulation import band, release_of

SIZE = 120


def factors(size, rank=3, seed=0):
    return np.random.default_rng(seed).standard_normal((size, rank)) / np.sqrt(2 * rank)


def low_rank_truth(size=SIZE):
    loadings = factors(size)
    return loadings @ loadings.T + 0.5 * np.eye(size)


def release_within(truth, n_rows):
    """Rows of strong factors are of unlike length: clip one in a hundred."""
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((n_rows, len(truth))) @ np.linalg.cholesky(truth).T
    row_norm = float(np.quantile(np.linalg.norm(rows, axis=1), 0.99))
    return dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=row_norm, seed=1)


def noisy(means, noise, seed=0):
    normal = np.triu(np.random.default_rng(seed).standard_normal(means.shape), k=1)
    return means + (normal + normal.T) * np.sqrt(noise.block(slice(None)))


def noise_of(variances, scale=0.05):
    return NoiseModel(np.asarray(variances, dtype=float), 20_000, scale, scale * 2**0.5)


def error(matrix, truth):
    above = np.triu_indices(len(truth), k=1)
    return float(np.linalg.norm((matrix - truth)[above]))


def test_scaled_by_the_whitening_the_variances_of_every_row_add_up_to_the_columns():
    variances = np.geomspace(0.01, 10, 40)
    noise = NoiseModel(variances, 500, 0.05, 0.07, signal_noise=0.01, mean_noise=variances / 50)
    scale = whitening(noise)
    sums = (noise.block(slice(None)) / np.outer(scale**2, scale**2)).sum(axis=1)
    assert sums == pytest.approx(np.full(40, 40.0), rel=1e-6)


@pytest.mark.parametrize("size", [40, 300])
def test_noise_alone_has_hardly_a_factor(size):
    noise = noise_of(np.geomspace(0.1, 4, size))
    for seed in range(10):
        found = find_low_rank(noisy(np.zeros((size, size)), noise, seed), noise)
        entries = found.block(slice(None)) / np.sqrt(noise.block(slice(None)))
        assert found.rank <= 1
        assert np.abs(entries).mean() < 0.1


@pytest.mark.parametrize("size", [60, 300])
def test_an_eigenvalue_belongs_to_what_its_formula_says(size):
    noise = noise_of(np.ones(size))
    deviation = np.sqrt(noise.block(slice(None))[0, 1])
    loadings = np.random.default_rng(0).choice([-1.0, 1.0], (size, 1)) * 0.5
    matrix = noisy(loadings @ loadings.T, noise)
    largest = np.linalg.eigvalsh(matrix - np.diag(np.diag(matrix)) + 0.25 * np.eye(size))[-1]
    expected = np.sqrt(largest**2 - 4 * size * deviation**2)
    found = np.linalg.norm(find_low_rank(matrix, noise).loadings) ** 2
    assert found == pytest.approx(expected, rel=0.02)


def test_factors_are_found_with_a_fraction_of_the_error():
    truth, noise = low_rank_truth(), noise_of(np.diag(low_rank_truth()), 0.1)
    matrix = noisy(truth, noise)
    found = find_low_rank(matrix, noise)
    assert found.rank == 3
    assert error(found.block(slice(None)), truth) < 0.4 * error(matrix, truth)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_scale_of_the_noise_is_worse(factor):
    # Weak factors, just beyond the edge, where the scale of the noise decides.
    loadings = factors(SIZE) * 0.7
    truth, right, wrong = loadings @ loadings.T, 0.0, 0.0
    noise = noise_of(np.full(SIZE, 0.75), 0.5)
    planted = noise_of(np.full(SIZE, 0.75), 0.5 * factor)
    for seed in range(10):
        matrix = noisy(truth, noise, seed)
        right += error(find_low_rank(matrix, noise).block(slice(None)), truth)
        wrong += error(find_low_rank(matrix, planted).block(slice(None)), truth)
    assert wrong > 1.1 * right


def test_columns_of_little_variance_get_few_false_correlations():
    variances = np.where(np.arange(SIZE) < SIZE // 2, 1.0, 0.01)
    loadings = factors(SIZE) * (variances == 1.0)[:, None]
    noise = noise_of(variances, 0.1)
    found = find_low_rank(noisy(loadings @ loadings.T, noise), noise)
    assert found.rank == 3
    deviation = np.sqrt(variances)
    correlation = found.block(slice(None)) / np.outer(deviation, deviation)
    # All are false. Shrunk by their eigenvalues alone, they would be 0.22.
    assert np.sqrt(np.mean(correlation[: SIZE // 2, SIZE // 2 :] ** 2)) < 0.15


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(0.01, 3))
@settings(deadline=None, max_examples=30)
def test_no_column_loads_more_than_it_varies(size, seed, scale):
    generator = np.random.default_rng(seed)
    noise = noise_of(generator.uniform(0.01, 2, size), scale)
    matrix = generator.standard_normal((size, size)) * 3
    found = find_low_rank(matrix + matrix.T, noise)
    assert (np.diag(found.block(slice(None))) <= noise.variances * (1 + 1e-9)).all()


def test_low_rank_wins_where_the_truth_is_low_rank_and_nowhere_else():
    blocks = np.kron(np.eye(12), 0.5 * np.eye(5) + 0.5)
    for truth, wins in [(low_rank_truth(60), True), (band(60), False), (blocks, False)]:
        release = release_of(truth, n_rows=20_000)
        for sparse in (True, False):
            choice = choose(release.matrix, NoiseModel.of(release), sparse=sparse)
            assert (choice.rule == LOW_RANK) == wins


def test_a_sparse_rest_is_found_beside_the_factors():
    truth = low_rank_truth(60)
    truth[0, 1] = truth[1, 0] = truth[0, 1] + 0.45
    release = release_within(truth, n_rows=8_000)
    estimate = release.estimate()
    assert estimate.rule == LOW_RANK
    assert estimate.choice.low_rank.rank == 3
    assert estimate.covariance[0, 1] == pytest.approx(truth[0, 1], abs=0.08)
    without = estimate.choice.low_rank.block(slice(None))
    assert abs(without[0, 1] - truth[0, 1]) > 0.25


def test_the_estimate_has_a_fraction_of_the_error_of_the_release():
    truth = low_rank_truth(100)
    release = release_within(truth, n_rows=20_000)
    estimate = release.estimate()
    assert error(estimate.covariance, truth) < 0.5 * error(release.matrix, truth)
    assert np.linalg.norm(estimate.covariance - truth, 2) < 0.9 * np.linalg.norm(
        release.matrix - truth, 2
    )


@pytest.mark.parametrize("threshold", ["thinned", "cai-liu", 2.0, np.inf])
@pytest.mark.parametrize("truth", [low_rank_truth(40), band(40), np.eye(40)])
def test_a_low_rank_estimate_is_symmetric_and_positive_semi_definite(truth, threshold):
    estimate = release_of(truth, n_rows=5000).estimate(rule=LOW_RANK, threshold=threshold)
    covariance = estimate.covariance
    assert estimate.rule == LOW_RANK
    assert (covariance == covariance.T).all()
    assert np.linalg.eigvalsh(covariance)[0] > -1e-9
    assert not covariance[~estimate.support].any()
    assert np.abs(estimate.correlation).max() <= 1
    assert "low rank" in estimate.choice.in_words


def test_the_risk_curve_shows_low_rank_where_it_competed():
    release = release_of(low_rank_truth(40), n_rows=20_000)
    assert LOW_RANK in release.estimate(sparse=False).risk_curve.risk
    assert LOW_RANK not in release_of(band(40), n_rows=20_000).estimate().risk_curve.risk
    assert set(release.estimate(rule=LOW_RANK).risk_curve.risk) == {LOW_RANK}


def test_the_same_release_gives_the_same_answer():
    release = release_of(low_rank_truth(40), n_rows=20_000)
    assert (release.estimate().covariance == release.estimate().covariance).all()
