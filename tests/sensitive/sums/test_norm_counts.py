"""Row counts by radius."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.errors import MissingValueError, ParameterError, SensitiveDataError
from dpcov.sensitive.sums.norm_counts import NormKernel

RADII = np.exp2(np.arange(-40, 41) / 4)
CELLS = st.floats(-1e6, 1e6)


def count(rows, missing="refuse"):
    return NormKernel(RADII, rows.shape[1], missing).sum_over([rows])


@pytest.mark.claim("P18")
@given(hnp.arrays(float, (6, 3), elements=CELLS), hnp.arrays(float, 3, elements=CELLS))
def test_replacing_a_row_moves_every_count_by_at_most_one(rows, other):
    changed = rows.copy()
    changed[2] = other
    moved = count(rows).cumulative() - count(changed).cumulative()
    assert np.abs(moved).max() <= 1


@pytest.mark.claim("P18")
@given(hnp.arrays(float, (6, 3), elements=CELLS), st.permutations(range(6)), st.integers(1, 5))
def test_counts_do_not_depend_on_order_layout_or_split(rows, order, cut):
    kernel = NormKernel(RADII, 3, "refuse")
    shuffled = np.asfortranarray(rows[order])
    split = kernel.sum_over([shuffled[:cut]]) + kernel.sum_over([shuffled[cut:]])
    assert np.array_equal(split.cumulative(), count(rows).cumulative())


def test_a_row_is_within_its_own_norm():
    rows = np.array([[3.0, 4.0]])
    within = NormKernel(np.array([4.9, 5.0, 5.1]), 2, "refuse").sum_over([rows]).cumulative()
    assert within.tolist() == [0, 1, 1]


def test_rows_beyond_all_floats_count_as_long():
    rows = np.array([[1e308, 1e308], [0.0, 0.0]])
    assert count(rows).cumulative().tolist()[-1] == 1
    assert count(rows).n_rows == 2


def test_missing_cells_are_refused_or_count_for_nothing():
    rows = np.array([[np.nan, 1.0]])
    with pytest.raises(MissingValueError):
        count(rows)
    assert count(rows, "center").cumulative()[40] == 1


def test_counts_refuse_to_be_stored_and_to_meet_other_radii():
    counts = count(np.eye(3))
    with pytest.raises(SensitiveDataError):
        pickle.dumps(counts)
    with pytest.raises(ParameterError):
        counts + NormKernel(RADII[1:], 3, "refuse").sum_over([np.eye(3)])
    assert "3" not in repr(counts)
