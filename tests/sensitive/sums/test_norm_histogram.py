"""Row counts by squared norm."""

import pickle
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.columns.missing import Missing
from dpcov.errors import MissingValueError, ParameterError, SensitiveDataError
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel

EDGES = 3 * np.exp2(np.arange(-32, 41) / 8)
CELLS = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, -0.0, 5e-324, 1e308, np.nan, np.inf]))
ROWS = hnp.arrays(float, (6, 3), elements=CELLS)


def count(rows, missing=Missing.CENTER):
    return NormBinsKernel(EDGES, 3, missing).sum_over([rows])


@pytest.mark.claim("P25")
@given(ROWS, hnp.arrays(float, 3, elements=CELLS))
def test_replacing_a_row_moves_two_counts_by_one(rows, other):
    changed = rows.copy()
    changed[2] = other
    moved = count(rows).counts - count(changed).counts
    assert (moved**2).sum() <= 2


@pytest.mark.claim("P25")
@given(ROWS)
def test_a_row_that_adds_nothing_in_its_place_moves_one_count(rows):
    for nothing in (np.zeros(3), np.full(3, np.nan)):
        changed = rows.copy()
        changed[2] = nothing
        assert ((count(rows).counts - count(changed).counts) ** 2).sum() <= 1


@pytest.mark.claim("P25")
@given(ROWS, st.permutations(range(6)), st.integers(1, 5))
def test_counts_do_not_depend_on_order_layout_or_split(rows, order, cut):
    shuffled = np.asfortranarray(rows[order])
    assert count(shuffled[:cut]) + count(shuffled[cut:]) == count(rows)


def test_rows_are_counted_where_their_norms_are():
    rows = np.array([[3.0, 0, 0], [0.0, 0, 0], [1e200, 0, 0], [1e-2, 0, 0], [1e-9, 0, 0]])
    counts = count(rows).counts
    assert counts[np.searchsorted(EDGES, 9.0)] == 1
    assert counts[-1] == counts[0] == 1
    assert counts.sum() == 3  # two are of no length, or too short to tell
    assert count(rows).n_rows == 5


@pytest.mark.claim("P25")
@given(hnp.arrays(float, (3, 3), elements=st.floats(-1e100, 1e100)))
def test_rows_of_every_length_are_put_near_their_norm(rows):
    for row in rows:
        counts = count(row[None]).counts
        largest = np.abs(row).max()
        norm = largest * np.sqrt(((row / largest) ** 2).sum()) if largest > 1e-100 else 0.0
        if norm**2 < EDGES[0] / 2:
            assert counts[1:].sum() == 0  # in the first bin, or too short for any
        else:
            around = np.searchsorted(EDGES, norm**2 * np.array([0.99, 1.0, 1.01]))
            assert counts[np.unique(around)].sum() == counts.sum() == 1


def test_missing_cells_are_refused_where_the_rule_says_so():
    with pytest.raises(MissingValueError):
        count(np.array([[1.0, np.nan, 1.0]]), Missing.REFUSE)


def test_counts_travel_and_are_not_stored_merged_with_others_or_shown():
    counts = count(np.eye(3))
    with pytest.raises(SensitiveDataError):
        pickle.dumps(counts)
    assert pickle.loads(ForkingPickler.dumps(counts)) == counts
    with pytest.raises(ParameterError):
        counts + NormBinsKernel(EDGES[1:], 3, Missing.CENTER).sum_over([np.eye(3)])
    assert repr(counts) == "NormBins(3 rows)"
