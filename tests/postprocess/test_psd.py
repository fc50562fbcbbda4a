import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.postprocess import psd
from dpcov.postprocess.psd import components, make_psd


def random_sparse(size, density, seed, strength=0.6):
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.random((size, size)) < density, k=1)
    values = np.where(upper, generator.normal(scale=strength, size=(size, size)), 0.0)
    return values + values.T + np.eye(size)


def smallest_eigenvalue(matrix):
    return np.linalg.eigvalsh(matrix)[0]


def plain_dykstra(matrix, steps=20_000):
    """The textbook algorithm, written for clarity."""
    zero = matrix == 0
    x, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(steps):
        values, vectors = np.linalg.eigh(x + correction)
        y = (vectors * np.maximum(values, 0)) @ vectors.T
        correction = x + correction - y
        x = np.where(zero, 0.0, y)
    return x


@settings(max_examples=30)
@given(st.integers(2, 40), st.floats(0.02, 0.9), st.integers(0, 10**6))
def test_the_result_is_psd_symmetric_and_zero_off_the_support(size, density, seed):
    matrix = random_sparse(size, density, seed)
    result = make_psd(matrix.copy(), method="sparse", tolerance=1e-4)
    assert (result == result.T).all()
    assert not result[matrix == 0].any()
    assert smallest_eigenvalue(result) >= -1e-12


def test_the_projection_is_dykstra_s(monkeypatch):
    monkeypatch.setattr(psd, "_MOST_STEPS", 3000)
    monkeypatch.setattr(psd, "_STEPS_AT_1000", 3000)
    matrix = random_sparse(12, 0.3, seed=1)
    assert smallest_eigenvalue(matrix) < -0.1
    result = make_psd(matrix.copy(), method="sparse", tolerance=1e-9)
    expected = plain_dykstra(matrix)
    nearest = np.linalg.norm(expected - matrix)
    assert np.linalg.norm(result - matrix) == pytest.approx(nearest, rel=1e-4)
    assert np.linalg.norm(result - expected) < 0.01 * nearest


def test_the_projection_is_nearer_than_a_shift():
    matrix = random_sparse(30, 0.2, seed=2)
    result = make_psd(matrix.copy(), method="sparse", tolerance=1e-6)
    shifted = matrix - smallest_eigenvalue(matrix) * np.eye(30)
    assert np.linalg.norm(result - matrix) < 0.8 * np.linalg.norm(shifted - matrix)


@pytest.mark.parametrize("method", psd.METHODS)
def test_a_positive_definite_matrix_is_left_alone(method):
    matrix = random_sparse(20, 0.2, seed=3, strength=0.05)
    assert (make_psd(matrix.copy(), method=method, tolerance=1e-6) == matrix).all()


def test_clip_sets_negative_eigenvalues_to_zero():
    matrix = random_sparse(20, 0.5, seed=4)
    result = make_psd(matrix.copy(), method="clip", tolerance=1e-6)
    values, vectors = np.linalg.eigh(matrix)
    assert result == pytest.approx((vectors * np.maximum(values, 0)) @ vectors.T, abs=1e-10)


def test_none_does_nothing():
    matrix = random_sparse(20, 0.5, seed=4)
    assert (make_psd(matrix.copy(), method="none", tolerance=1e-6) == matrix).all()


def test_an_unknown_method_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match="'sparse', 'clip', 'none'"):
        make_psd(np.eye(2), method="ridge", tolerance=1e-6)


def test_components_are_found():
    matrix = np.eye(6)
    matrix[0, 4] = matrix[4, 0] = matrix[4, 5] = matrix[5, 4] = 0.1
    assert [part.tolist() for part in components(matrix)] == [[0, 4, 5]]


def test_components_are_repaired_apart():
    bad, good = random_sparse(10, 0.6, seed=5), random_sparse(8, 0.5, seed=6, strength=0.02)
    matrix = np.zeros((18, 18))
    matrix[:10, :10], matrix[10:, 10:] = bad, good
    together = make_psd(matrix.copy(), method="sparse", tolerance=1e-6)
    alone = make_psd(bad.copy(), method="sparse", tolerance=1e-6)
    assert (together[10:, 10:] == good).all()
    assert together[:10, :10] == pytest.approx(alone, abs=1e-12)


def test_large_components_use_the_negative_eigenpairs_alone(monkeypatch):
    matrix = random_sparse(60, 0.3, seed=7)
    expected = make_psd(matrix.copy(), method="sparse", tolerance=1e-5)
    monkeypatch.setattr(psd, "_LARGE", 10)
    result = make_psd(matrix.copy(), method="sparse", tolerance=1e-5)
    assert result == pytest.approx(expected, abs=1e-9)


def test_few_steps_still_give_a_psd_matrix(monkeypatch):
    monkeypatch.setattr(psd, "_MOST_STEPS", 1)
    matrix = random_sparse(40, 0.3, seed=8)
    result = make_psd(matrix.copy(), method="sparse", tolerance=1e-9)
    assert smallest_eigenvalue(result) >= -1e-12
    assert not result[matrix == 0].any()
