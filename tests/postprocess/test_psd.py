import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

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


def alike(variance=0.01):
    """All correlations are known equally well."""
    return lambda rows, columns: np.full((len(rows), len(columns)), variance)


def nearest_by_a_general_solver(target, weights):
    """The nearest correlation matrix as a product of a factor with itself, by BFGS."""
    size = len(target)

    def matrix(numbers):
        factor = numbers.reshape(size, size)
        factor = factor / np.linalg.norm(factor, axis=1, keepdims=True)
        return factor @ factor.T

    start = np.linalg.cholesky(0.5 * np.clip(target, -0.5, 0.5) + 0.5 * np.eye(size) * size)
    found = minimize(
        lambda numbers: np.sum(weights * (matrix(numbers) - target) ** 2),
        start.ravel(),
        options={"gtol": 1e-9, "maxiter": 5000},
    )
    return matrix(found.x)


@settings(max_examples=30)
@given(st.integers(2, 40), st.floats(0.02, 0.9), st.integers(0, 10**6))
def test_the_result_is_positive_definite_symmetric_and_zero_off_the_support(size, density, seed):
    matrix = random_sparse(size, density, seed)
    spread = np.random.default_rng(seed).uniform(0.01, 0.3, (size, size))
    known = (spread + spread.T) ** 2
    result = make_psd(
        matrix.copy(), method="sparse", variances=lambda rows, columns: known[np.ix_(rows, columns)]
    )
    assert (result == result.T).all()
    assert not result[matrix == 0].any()
    assert smallest_eigenvalue(result) > 0


def test_the_projection_is_the_nearest_by_precision():
    generator = np.random.default_rng(1)
    target = random_sparse(5, 1.0, seed=11, strength=0.7)
    assert smallest_eigenvalue(target) < -0.1
    known = generator.uniform(0.02, 0.5, (5, 5))
    known = (known + known.T) ** 2
    result = make_psd(
        target.copy(),
        method="sparse",
        variances=lambda rows, columns: known[np.ix_(rows, columns)] * 1e-6,  # no floor to speak of
    )
    deviation = np.sqrt(np.diag(result))
    correlation = result / np.outer(deviation, deviation)
    expected = nearest_by_a_general_solver(target, 1 / known)
    assert correlation == pytest.approx(expected, abs=2e-3)
    unweighted = nearest_by_a_general_solver(target, np.ones((5, 5)))
    assert np.abs(unweighted - expected).max() > 0.05  # the control: precision matters here


def impossible():
    """Columns 0 and 1 are nearly opposite, and both seem to go with all the others."""
    matrix = np.eye(6)
    matrix[0, 1] = matrix[1, 0] = -0.994
    matrix[:2, 2:] = 0.5
    matrix[2:, :2] = 0.5
    known = np.full((6, 6), 0.3**2)
    known[0, 1] = known[1, 0] = 0.006**2
    return matrix, known


def test_a_pair_that_is_known_well_does_not_move_to_mend_others():
    matrix, known = impossible()
    result = make_psd(
        matrix.copy(), method="sparse", variances=lambda rows, columns: known[np.ix_(rows, columns)]
    )
    moved = result / np.sqrt(np.outer(np.diag(result), np.diag(result)))
    assert moved[0, 1] == pytest.approx(-0.994, abs=0.012)
    same = make_psd(matrix.copy(), method="sparse", variances=alike(0.09))
    moved = same / np.sqrt(np.outer(np.diag(same), np.diag(same)))
    assert moved[0, 1] > -0.9  # the control: without weights it gives way


def test_no_eigenvalue_of_the_correlations_is_below_a_tenth_of_their_error():
    result = make_psd(random_sparse(30, 0.4, seed=2), method="sparse", variances=alike(0.2**2))
    deviation = np.sqrt(np.diag(result))
    lowest = smallest_eigenvalue(result / np.outer(deviation, deviation))
    assert lowest == pytest.approx(0.1 * 0.2, rel=0.05)


def test_the_projection_is_nearer_than_a_shift():
    matrix = random_sparse(30, 0.2, seed=2)
    result = make_psd(matrix.copy(), method="sparse", variances=alike())
    shifted = matrix - smallest_eigenvalue(matrix) * np.eye(30)
    assert np.linalg.norm(result - matrix) < 0.8 * np.linalg.norm(shifted - matrix)


def test_units_of_columns_do_not_matter():
    matrix, scale = random_sparse(12, 0.4, seed=1), 10.0 ** np.arange(-6, 6)
    plain = make_psd(matrix.copy(), method="sparse", variances=alike())
    scaled = make_psd(matrix * np.outer(scale, scale), method="sparse", variances=alike())
    assert scaled == pytest.approx(plain * np.outer(scale, scale), rel=1e-6)


@pytest.mark.parametrize("method", psd.METHODS)
def test_a_positive_definite_matrix_is_left_alone(method):
    matrix = random_sparse(20, 0.2, seed=3, strength=0.05)
    assert (make_psd(matrix.copy(), method=method, variances=alike(1e-6)) == matrix).all()


def test_clip_sets_negative_eigenvalues_to_zero():
    matrix = random_sparse(20, 0.5, seed=4)
    result = make_psd(matrix.copy(), method="clip")
    values, vectors = np.linalg.eigh(matrix)
    assert result == pytest.approx((vectors * np.maximum(values, 0)) @ vectors.T, abs=1e-10)


def test_none_does_nothing():
    matrix = random_sparse(20, 0.5, seed=4)
    assert (make_psd(matrix.copy(), method="none") == matrix).all()


def test_an_unknown_method_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match="'sparse', 'clip', 'none'"):
        make_psd(np.eye(2), method="ridge")


def test_components_are_found():
    matrix = np.eye(6)
    matrix[0, 4] = matrix[4, 0] = matrix[4, 5] = matrix[5, 4] = 0.1
    assert [part.tolist() for part in components(matrix)] == [[0, 4, 5]]


def test_components_are_repaired_apart():
    bad, good = random_sparse(10, 0.6, seed=5), random_sparse(8, 0.5, seed=6, strength=0.02)
    matrix = np.zeros((18, 18))
    matrix[:10, :10], matrix[10:, 10:] = bad, good
    together = make_psd(matrix.copy(), method="sparse", variances=alike())
    alone = make_psd(bad.copy(), method="sparse", variances=alike())
    assert (together[10:, 10:] == good).all()
    assert together[:10, :10] == pytest.approx(alone, abs=1e-12)


def test_large_components_use_the_negative_eigenpairs_alone(monkeypatch):
    matrix = random_sparse(60, 0.3, seed=7)
    expected = make_psd(matrix.copy(), method="sparse", variances=alike())
    monkeypatch.setattr(psd, "_LARGE", 10)
    monkeypatch.setattr(psd, "_PENALTY_OF_LARGE", psd._PENALTY)
    result = make_psd(matrix.copy(), method="sparse", variances=alike())
    assert result == pytest.approx(expected, abs=1e-9)


def test_few_steps_still_give_a_psd_matrix(monkeypatch):
    monkeypatch.setattr(psd, "_MOST_STEPS", 1)
    matrix = random_sparse(40, 0.3, seed=8)
    result = make_psd(matrix.copy(), method="sparse", variances=alike())
    assert smallest_eigenvalue(result) >= -1e-12
    assert not result[matrix == 0].any()
