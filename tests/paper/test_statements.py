"""What docs/paper.md says beyond the promises, the models and the algorithms."""

import math

import numpy as np
import pytest

from dpcov import paper
from dpcov.norms import operator_norm
from dpcov.paper.algorithms import threshold_and_clip
from dpcov.privacy import ApproxDP, gaussian_scale


def generator(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("size", "least"), [(50, 0.96), (100, 0.9999), (200, 0.9999)])
def test_rows_as_long_as_printed_leave_no_promise(size, least):
    claimed = ApproxDP(1.0, 1e-3, "replace")
    assert paper.actual_promise(claimed, math.sqrt(size / 4)).replace > least


def test_the_classical_formula_fails_at_large_epsilon_with_any_sensitivity():
    at = {e: paper.actual_promise(ApproxDP(e, 1e-5, "replace"), 1.0) for e in (2.0, 10.0)}
    assert at[2.0].add_remove < 1e-5 < at[10.0].add_remove


def test_bounded_rows_make_the_noise_grow_like_p_on_the_correlation_scale():
    noise = gaussian_scale(epsilon=1.0, delta=1e-5) / 20_000
    relative = {
        size: noise / np.diagonal(paper.scaled_to_norm(np.eye(size))).mean() for size in (100, 1000)
    }
    assert relative[1000] / relative[100] == pytest.approx(10, rel=0.2)
    assert relative[1000] > 0.15


def test_clipping_eigenvalues_can_raise_the_column_sum_error():
    truth = np.array([[1.55, -0.25, -2.53], [-0.25, 5.32, 3.36], [-2.53, 3.36, 5.78]])
    assert np.linalg.eigvalsh(truth)[0] > -1e-2
    thresholded = np.where(np.abs(truth) > 0.3, truth, 0.0)
    before = operator_norm(thresholded - truth, 1)
    after = operator_norm(threshold_and_clip(truth, 0.3) - truth, 1)
    assert after > 1.2 * before


@pytest.mark.parametrize("sparsity", [4, 16, 64])
def test_the_squared_error_grows_with_s_squared_not_with_s(sparsity):
    # Entries just below the threshold are lost, s of them in a column.
    threshold = 0.01
    truth = np.eye(100) * 1.0
    truth[: sparsity + 1, : sparsity + 1] += 0.9 * threshold * (1 - np.eye(sparsity + 1))
    lost = operator_norm(np.where(truth > threshold, truth, 0.0) - truth, 1)
    assert lost**2 == pytest.approx((0.9 * threshold) ** 2 * sparsity**2)


def test_with_realistic_n_the_printed_threshold_removes_the_diagonal():
    # Rows of norm 1, p = 100, ε = 1: variances are near 1/100.
    u = paper.scaled_to_norm(paper.sparse_covariance(100, 0.2, generator()))
    rows = paper.sample_rows(u, 2000, generator(1))
    result = paper.dp_thresholding(rows, epsilon=1.0, delta=1 / 2000, gamma=0.0, seed=0)
    assert result.threshold > 1.5 * np.diagonal(u).mean()
    assert not result.matrix.any()
