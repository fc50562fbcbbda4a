import math

import numpy as np
import pytest
from scipy import stats

from dpcov import paper
from dpcov.errors import InputError, ParameterError
from dpcov.paper import algorithms

ROWS = np.random.default_rng(0).normal(size=(60, 5)) / 4
BUDGET = {"epsilon": 0.7, "delta": 0.01}


def transcription(rows, noise, threshold):
    """Algorithm 1 from step 1 on, entry by entry."""
    n, p = rows.shape
    noisy = [[sum(x[i] * x[j] for x in rows) / n + noise[i][j] for j in range(p)] for i in range(p)]
    kept = [[entry if abs(entry) > threshold else 0.0 for entry in line] for line in noisy]
    values, vectors = np.linalg.eigh(np.array(kept))
    return sum(max(v, 0) * np.outer(u, u) for v, u in zip(values, vectors.T, strict=True))


@pytest.fixture
def fixed_noise(monkeypatch):
    """Replace the noise by a fixed matrix, scaled to what was asked for."""
    normal = np.random.default_rng(1).standard_normal((5, 5))
    symmetric = np.triu(normal) + np.triu(normal, k=1).T
    monkeypatch.setattr(algorithms, "symmetric_noise", lambda size, scale, _: scale * symmetric)
    return symmetric


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_algorithm_1_is_its_transcription(fixed_noise, gamma):
    sigma = math.sqrt(2 * math.log(1.25 / 0.01) / (60**2 * 0.7**2))
    threshold = gamma * math.sqrt(math.log(5) / 60) + 4 * math.sqrt(
        2 * math.log(1.25 / 0.01)
    ) * math.sqrt(math.log(5)) / (60 * 0.7)
    result = paper.dp_thresholding(ROWS, gamma=gamma, **BUDGET)
    assert result.noise_scale == pytest.approx(sigma, rel=1e-12)
    assert result.threshold == pytest.approx(threshold, rel=1e-12)
    assert result.matrix == pytest.approx(
        transcription(ROWS, sigma * fixed_noise, threshold), abs=1e-12
    )


def test_algorithm_2_is_its_transcription(fixed_noise):
    sigma = math.sqrt(2 * math.log(1.25 / 0.01)) / 0.7
    threshold = 4 * sigma * math.sqrt(math.log(5)) / math.sqrt(60)
    result = paper.ldp_thresholding(ROWS, gamma=0.0, **BUDGET, literal=True)
    # The same matrix for everybody: its average is itself.
    assert result.threshold == pytest.approx(threshold, rel=1e-12)
    assert result.matrix == pytest.approx(
        transcription(ROWS, sigma * fixed_noise, threshold), abs=1e-10
    )


def test_a_wrong_constant_fails_the_same_test(fixed_noise, monkeypatch):
    monkeypatch.setattr(algorithms, "noise_multiplier", lambda claimed: 1.01 * 4.439)
    sigma = math.sqrt(2 * math.log(1.25 / 0.01) / (60**2 * 0.7**2))
    result = paper.dp_thresholding(ROWS, gamma=0.0, **BUDGET)
    assert result.noise_scale != pytest.approx(sigma, rel=1e-3)


def test_equation_7_returns_the_perturbed_matrix():
    result = paper.perturbed_covariance(ROWS, **BUDGET, seed=3)
    assert (result.matrix == result.matrix.T).all()
    assert result.threshold is None


def entries(literal):
    rows = np.zeros((20, 2))
    results = [
        paper.ldp_thresholding(rows, gamma=0.0, **BUDGET, literal=literal, seed=seed)
        for seed in range(2000)
    ]
    return np.array([result.perturbed[np.triu_indices(2)] for result in results])


def test_the_literal_and_the_aggregate_law_agree():
    literal, aggregate = entries(literal=True), entries(literal=False)
    for column in range(3):
        assert stats.ks_2samp(literal[:, column], aggregate[:, column]).pvalue > 1e-4
        assert stats.ks_2samp(literal[:, column], 1.3 * aggregate[:, column]).pvalue < 1e-4


def test_the_diagonal_is_thresholded_as_printed():
    result = paper.dp_thresholding(ROWS / 100, gamma=0.0, **BUDGET, seed=0)
    assert not result.matrix.any()


def test_clipping_eigenvalues_fills_in_zeros():
    generator = np.random.default_rng(0)
    place = np.arange(60)
    truth = np.maximum(1 - np.abs(place[:, None] - place) / 10, 0) + 1e-6 * np.eye(60)
    rows = generator.standard_normal((5000, 60)) @ np.linalg.cholesky(truth).T / 5
    result = paper.dp_thresholding(rows, epsilon=1, delta=0.01, gamma=0.1, seed=0)
    kept = np.abs(result.perturbed) > result.threshold
    assert np.linalg.eigvalsh(np.where(kept, result.perturbed, 0))[0] < 0
    assert (np.abs(result.matrix) > 1e-12).mean() > 2 * kept.mean()


@pytest.mark.parametrize("X", [np.ones(3), np.ones((3, 1)), np.ones((0, 2)), [["a", "b"]]])
def test_unusable_rows_are_refused(X):
    with pytest.raises(InputError, match="at least two columns"):
        paper.dp_thresholding(X, gamma=0, **BUDGET)


def test_an_impossible_gamma_is_refused():
    with pytest.raises(ParameterError, match="gamma must"):
        paper.dp_thresholding(ROWS, gamma=-1, **BUDGET)
