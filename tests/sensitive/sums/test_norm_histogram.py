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
from dpcov.sensitive.sums import norm_histogram
from dpcov.sensitive.sums.norm_histogram import NormBins, NormBinsKernel

EDGES = 3 * np.exp2(np.arange(-32, 41) / 8)
CELLS = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, -0.0, 5e-324, 1e308, np.nan, np.inf]))
ROWS = hnp.arrays(float, (6, 3), elements=CELLS)


def count(rows, missing=Missing.CENTER):
    return NormBinsKernel(EDGES, 3, missing).sum_over([rows])


def counts_of(bins):
    """Return the counts of all bins, by sums of one bin each."""
    return bins.sums(np.eye(len(EDGES) + 1, dtype=np.int64))


@pytest.mark.claim("P25")
@given(ROWS, hnp.arrays(float, 3, elements=CELLS), st.integers(0, len(EDGES) - 1))
def test_replacing_a_row_moves_the_number_beyond_by_one(rows, other, place):
    changed = rows.copy()
    changed[2] = other
    assert abs(count(rows).beyond(place) - count(changed).beyond(place)) <= 1
    assert (np.abs(counts_of(count(rows)) - counts_of(count(changed))) <= 1).all()


@pytest.mark.claim("P25")
@given(
    ROWS,
    hnp.arrays(float, 3, elements=CELLS),
    hnp.arrays(np.int64, (2, len(EDGES) + 1), elements=st.integers(0, 4096)),
)
def test_replacing_a_row_moves_each_sum_within_what_bins_stand_for(rows, other, values):
    changed = rows.copy()
    changed[2] = other
    moved = count(rows).sums(values) - count(changed).sums(values)
    assert (np.abs(moved) <= 4096).all()


@pytest.mark.claim("P25")
@given(ROWS, st.integers(0, len(EDGES) - 1))
def test_a_row_without_cells_adds_nothing(rows, place):
    others = count(rows)
    for nothing in (np.zeros((1, 3)), np.full((1, 3), np.nan), np.full((1, 3), -np.inf)):
        with_it = count(np.concatenate([rows, nothing]))
        assert with_it.n_rows == others.n_rows + 1
        assert with_it.beyond(place) == others.beyond(place)
        assert np.array_equal(counts_of(with_it), counts_of(others))


@pytest.mark.claim("P25")
@given(ROWS)
def test_the_number_beyond_is_the_sum_of_the_bins_after_an_edge(rows):
    bins = count(rows)
    each = counts_of(bins)
    for place in (0, 1, 40, len(EDGES) - 1):
        assert bins.beyond(place).tolist() == [each[place + 1 :].sum()]


def test_a_row_as_long_as_an_edge_is_not_beyond_it():
    edges = np.array([1.0, 4.0, 9.0])
    for rows, beyond in (([[2.0]], [1, 0, 0]), ([[2.001]], [1, 1, 0]), ([[50.0]], [1, 1, 1])):
        bins = NormBinsKernel(edges, 1, Missing.REFUSE).sum_over([np.array(rows)])
        assert [int(bins.beyond(place)[0]) for place in range(3)] == beyond


@pytest.mark.claim("P25")
def test_sums_over_a_trillion_rows_are_exact():
    n_rows, steps = 1 << 40, 4096
    each = np.zeros(len(EDGES) + 1, dtype=np.int64)
    each[[3, -1]] = n_rows - 5, 5
    bins = NormBins(each, EDGES, n_rows=n_rows)
    values = np.full((2, len(each)), steps)
    values[1, -1] = 1
    assert bins.sums(values).tolist() == [n_rows * steps, (n_rows - 5) * steps + 5]
    assert (bins + bins).beyond(3).tolist() == [10]


@pytest.mark.claim("P25")
@given(ROWS, st.permutations(range(6)), st.integers(1, 5))
def test_counts_do_not_depend_on_order_layout_or_split(rows, order, cut):
    shuffled = np.asfortranarray(rows[order])
    assert count(shuffled[:cut]) + count(shuffled[cut:]) == count(rows)


def test_rows_are_counted_where_their_norms_are():
    rows = np.array([[3.0, 0, 0], [0.0, 0, 0], [1e200, 0, 0], [1e-2, 0, 0], [1e-9, 0, 0]])
    counts = counts_of(count(rows))
    assert counts[np.searchsorted(EDGES, 9.0)] == 1
    assert counts[-1] == counts[0] == 1
    assert counts.sum() == 3  # two are of no length, or too short to tell
    assert count(rows).n_rows == 5


@pytest.mark.claim("P25")
@given(hnp.arrays(float, (3, 3), elements=st.floats(-1e100, 1e100)))
def test_rows_of_every_length_are_put_near_their_norm(rows):
    for row in rows:
        counts = counts_of(count(row[None]))
        largest = np.abs(row).max()
        norm = largest * np.sqrt(((row / largest) ** 2).sum()) if largest > 1e-100 else 0.0
        if norm**2 < EDGES[0] / 2:
            assert counts[1:].sum() == 0  # in the first bin, or too short for any
        else:
            around = np.searchsorted(EDGES, norm**2 * np.array([0.99, 1.0, 1.01]))
            assert counts[np.unique(around)].sum() == counts.sum() == 1


def test_short_rows_are_told_apart_however_far_the_edges_reach():
    edges = np.exp2(np.arange(-40.0, 41.0))
    rows = np.sqrt(1.02 * edges / 3)[:, None] * np.ones(3)
    bins = NormBinsKernel(edges, 3, Missing.REFUSE).sum_over([rows])
    beyond = [int(bins.beyond(place)[0]) for place in range(len(edges))]
    assert beyond == list(range(len(edges), 0, -1))


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


@pytest.mark.parametrize(
    "other",
    [[[1.0, 0, 0], [5.0, 0, 0]], [[2.0, 0, 0], [5.0, 0, 0], [0.0, 0, 0]]],
    ids=["other counts", "other rows"],
)
def test_counts_are_equal_only_if_all_of_them_are(other):
    rows = np.array([[2.0, 0, 0], [5.0, 0, 0]])
    assert count(rows) == count(rows[::-1])
    assert count(rows) != count(np.array(other))
    assert count(rows) != NormBins(count(rows)._counts, EDGES + 1, n_rows=2)
    assert count(rows) != 2


@pytest.mark.claim("P25")
def test_norms_that_floats_may_round_take_the_longer_way(monkeypatch):
    """Sums of squares are the same in any order below 2^53, and not from there on."""
    slowly, real = [], norm_histogram.squared_norms

    def watched(rows, missing):
        slowly.extend(rows[:, 0].tolist())
        return real(rows, missing)

    monkeypatch.setattr(norm_histogram, "squared_norms", watched)
    kernel = NormBinsKernel(np.array([1.0, 1e6]), 2, Missing.REFUSE)
    cells = kernel._unit * np.array(
        [[2.0**26 - 1, 2.0**26], [2.0**26, 2.0**26], [2.0**26 + 1, 2.0**26], [1.0, 0.0]]
    )
    kernel.sum_over([cells])
    assert slowly == cells[1:3, 0].tolist()


def test_short_rows_of_many_columns_are_told_apart_by_one_edge():
    for n_columns in (1, 4096):
        rows = np.sqrt(np.array([[0.98], [1.02]]) / n_columns) * np.ones(n_columns)
        kernel = NormBinsKernel(np.ones(1), n_columns, Missing.REFUSE)
        assert kernel.sum_over([rows]).sums(np.eye(2, dtype=np.int64)).tolist() == [1, 1]
