import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.errors import ParameterError
from dpcov.norms import operator_norm, relative_error

matrices = hnp.arrays(np.float64, (4, 4), elements=st.floats(-10, 10)).filter(
    lambda matrix: np.abs(matrix).max() > 1e-3
)


@pytest.mark.parametrize("w", [1, 2, math.inf])
def test_the_three_named_norms_are_numpy_s(w):
    matrix = np.random.default_rng(0).normal(size=(5, 7))
    assert operator_norm(matrix, w) == pytest.approx(np.linalg.norm(matrix, w))


@given(matrices, st.floats(1.05, 20), hnp.arrays(np.float64, 4, elements=st.floats(-1, 1)))
def test_no_vector_is_stretched_by_more_than_the_norm_of_a_matrix_without_negatives(matrix, w, x):
    size = np.linalg.norm(x, w)
    if size < 1e-3:
        return
    matrix = np.abs(matrix)
    assert np.linalg.norm(matrix @ x, w) / size <= operator_norm(matrix, w) * (1 + 1e-6)


@given(matrices, st.floats(1.05, 20))
def test_a_norm_in_between_is_bounded_by_interpolation(matrix, w):
    bound = operator_norm(matrix, 1) ** (1 / w) * operator_norm(matrix, math.inf) ** (1 - 1 / w)
    assert operator_norm(matrix, w) <= bound * (1 + 1e-9)


@given(matrices)
def test_near_two_the_norm_is_near_the_spectral_one(matrix):
    assert operator_norm(matrix, 2 + 1e-9) == pytest.approx(operator_norm(matrix, 2), rel=1e-5)


def test_corollary_1_symmetric_matrices_are_never_longer_than_in_norm_1():
    matrix = np.random.default_rng(0).normal(size=(30, 30))
    matrix += matrix.T
    assert all(
        operator_norm(matrix, w) <= operator_norm(matrix, 1) * (1 + 1e-9)
        for w in (1.2, 1.5, 2, 3, 10, math.inf)
    )


def test_relative_error_of_the_truth_is_zero():
    assert relative_error(np.eye(3), np.eye(3), w=1) == 0.0


@pytest.mark.parametrize("w", [0.5, -1, math.nan, "2", None])
def test_an_impossible_order_is_refused(w):
    with pytest.raises(ParameterError, match="w must"):
        operator_norm(np.eye(2), w)


@pytest.mark.parametrize("matrix", [np.ones(3), np.ones((0, 0)), np.array([[np.nan]])])
def test_what_is_not_a_finite_matrix_is_refused(matrix):
    with pytest.raises(ParameterError, match="finite matrix"):
        operator_norm(matrix)


def test_very_large_and_small_matrices_have_norms():
    matrix = np.random.default_rng(0).normal(size=(3, 3))
    norm = operator_norm(matrix, 3)
    assert operator_norm(matrix * 1e300, 3) == pytest.approx(norm * 1e300)
    assert operator_norm(matrix * 1e-300, 3) == pytest.approx(norm * 1e-300)
    assert operator_norm(np.zeros((2, 2)), 3) == 0.0


def test_a_truth_of_zeros_and_complex_matrices_are_refused():
    with pytest.raises(ParameterError, match="truth of zeros"):
        relative_error(np.eye(2), np.zeros((2, 2)))
    with pytest.raises(ParameterError, match="real numbers"):
        operator_norm(np.eye(2) * 1j, 3)


def test_matrices_of_different_shape_are_refused():
    with pytest.raises(ParameterError, match="differ in shape"):
        relative_error(np.eye(2), np.eye(3))
