"""Intervals of eigenvalues that stand out."""

import numpy as np
import pytest

import dpcov

LOADINGS = np.array([[1.5, 0.0], [1.5, 0.3], [1.2, -0.4], [1.0, 0.8], [1.0, -0.9], [0.5, 0.9]])
TRUTH = LOADINGS @ LOADINGS.T + np.eye(6)


def test_intervals_cover_the_largest_eigenvalues():
    expected = np.linalg.eigvalsh(TRUTH)[::-1][:2]
    covered, plain = [], []
    for seed in range(80):
        rows = np.random.default_rng(seed).standard_normal((3_000, 6))
        rows = rows @ np.linalg.cholesky(TRUTH).T
        release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=11.0, seed=seed)
        estimate = release.estimate(rule="hard", threshold=3.0, psd="none")
        low, high = estimate.eigenvalue_interval()
        covered.append((low[:2] <= expected) & (expected <= high[:2]))
        # The control: without the part of sampling they are too short for the largest.
        half = (high[0] - low[0]) / 2
        sampling = 1.96 * expected[0] * np.sqrt(2 / 3_000)
        short = np.sqrt(max(half**2 - sampling**2, 0.0)) * 0.5
        plain.append(abs((low[0] + high[0]) / 2 - expected[0]) <= short)
    assert 0.9 <= np.mean(covered) <= 0.995
    assert np.mean(plain) < 0.88


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
def test_noise_alone_has_no_interval():
    rows = np.random.default_rng(0).standard_normal((200, 8))
    stated = {"epsilon": 0.2, "delta": 1e-6, "row_norm": 6.0, "allow": {"small"}}
    release = dpcov.release(rows, **stated, seed=1)
    low, _ = release.estimate(rule="hard", threshold=3.0, psd="none").eigenvalue_interval()
    assert len(low) == 0
