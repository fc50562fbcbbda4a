"""Exact sums of squares."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.errors import ParameterError, SensitiveDataError
from dpcov.exact.grid import Grid
from dpcov.sensitive.sums.gram import Gram
from dpcov.sensitive.sums.square_sums import SquareKernel

GRID = Grid(row_norm=1.0, bits=12)
ROWS = hnp.arrays(float, (5, 3), elements=st.floats(-3, 3))


def squares(rows, grid=GRID):
    return SquareKernel(rows.shape[1], grid, "refuse").sum_over([rows])


@given(ROWS)
def test_they_are_the_diagonal_of_the_gram_matrix(rows):
    gram = Gram.from_rows(rows, grid=GRID)
    assert np.array_equal(squares(rows).sums, np.diag(gram.sums))


@pytest.mark.claim("P19")
@given(ROWS, hnp.arrays(float, 3, elements=st.floats(-3, 3)))
def test_one_row_moves_the_sums_no_further_than_claimed(rows, other):
    changed = rows.copy()
    changed[0] = other
    moved = squares(rows).sums - squares(changed).sums
    assert int(moved @ moved) <= 2 * GRID.squared_norm**2
    assert abs(int(moved.sum())) <= GRID.squared_norm
    changed[0] = 0
    moved = squares(rows).sums - squares(changed).sums
    assert int(moved @ moved) <= GRID.squared_norm**2


@pytest.mark.claim("P19")
def test_the_bounds_are_attained():
    one, other = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    moved = squares(one).sums - squares(other).sums
    assert int(moved @ moved) == 2 * GRID.squared_norm**2
    assert int(squares(one).sums.sum()) == GRID.squared_norm


@given(ROWS, st.integers(0, 5))
def test_any_split_gives_the_same_sums(rows, cut):
    parts = squares(rows[:cut]) + squares(rows[cut:])
    assert np.array_equal(parts.sums, squares(rows).sums)
    assert parts.n_rows == 5


def test_they_refuse_to_be_stored_and_to_meet_another_grid():
    sums = squares(np.eye(3))
    with pytest.raises(SensitiveDataError):
        pickle.dumps(sums)
    with pytest.raises(ParameterError):
        sums + squares(np.eye(3), Grid(row_norm=2.0, bits=12))
