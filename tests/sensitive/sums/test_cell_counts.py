"""Counts of cells on a public ruler."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FuturesTimeoutError
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.columns.missing import Missing
from dpcov.errors import (
    InexactArithmeticError,
    MissingValueError,
    ParameterError,
    SensitiveDataError,
)
from dpcov.exact.ruler import Ruler
from dpcov.sensitive.sums import cell_counts
from dpcov.sensitive.sums.cell_counts import CellCounts, CellKernel
from exact.loops import all_compiled, none_compiled

ORIGIN = np.array([0.0, 10.0, -3.0])
RULER = Ruler(ORIGIN, np.array([40, 40, 7]), 6)
LOWER, UPPER = np.array([-np.inf, 10.0, -100.0]), np.array([np.inf, np.inf, 100.0])
COLUMNS = np.arange(3)
EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.0**-40, 2.0**40, -(2.0**40), 1.0, np.nextafter(1.0, 0)]
CELLS = st.one_of(st.floats(), st.sampled_from([*EDGES, np.nan, np.inf, -np.inf, 1e308, 10.0]))
ROWS = hnp.arrays(float, (7, 3), elements=CELLS)


def kernel(missing=Missing.CENTER):
    return CellKernel(RULER, LOWER, UPPER, missing)


def count(rows, missing=Missing.CENTER):
    return kernel(missing).sum_over([rows])


@st.composite
def windows(draw):
    ends = [sorted(draw(st.tuples(*[st.integers(0, RULER.n_bins - 1)] * 2))) for _ in range(3)]
    return np.array(ends).T


@pytest.mark.claim("P22")
@given(ROWS, hnp.arrays(float, 3, elements=CELLS), windows())
def test_replacing_a_row_moves_every_count_by_at_most_one(rows, other, window):
    changed = rows.copy()
    changed[4] = other
    one, two = count(rows), count(changed)
    assert np.abs(one.between(*window, COLUMNS) - two.between(*window, COLUMNS)).max() <= 1
    assert np.abs(one.observed(COLUMNS) - two.observed(COLUMNS)).max() <= 1


@pytest.mark.claim("P22")
@given(ROWS, windows())
def test_counts_are_those_of_cells_one_by_one(rows, window):
    first, last = window
    expected = np.zeros(3, dtype=np.int64)
    for row in rows:
        for column, cell in enumerate(row):
            if np.isfinite(cell):
                cell = min(max(cell, LOWER[column]), UPPER[column])
                place = RULER.index(np.array([cell]), np.array([column]))[0]
                expected[column] += first[column] <= place <= last[column]
    assert np.array_equal(count(rows).between(first, last, COLUMNS), expected)


@pytest.mark.claim("P22")
@given(ROWS)
def test_a_missing_or_infinite_cell_is_in_no_bin(rows):
    counts = count(rows)
    assert np.array_equal(counts.observed(COLUMNS), np.isfinite(rows).sum(axis=0))
    assert counts.n_rows == 7


@pytest.mark.claim("P22")
@given(ROWS, st.permutations(range(7)), st.integers(1, 6))
def test_counts_do_not_depend_on_order_layout_or_split(rows, order, cut):
    shuffled = np.asfortranarray(rows[order])
    whole = count(rows)
    assert kernel().sum_over([shuffled[:cut], shuffled[cut:]]) == whole
    assert count(shuffled[:cut]) + count(shuffled[cut:]) == whole


def test_tiles_are_not_seen_in_the_counts():
    rows = np.random.default_rng(0).normal(size=(100_000, 3)) * 50
    expected = [
        np.bincount(
            RULER.index(np.clip(rows[:, j], LOWER[j], UPPER[j]), np.full(len(rows), j)),
            minlength=RULER.n_bins,
        )
        for j in range(3)
    ]
    counts = kernel().sum_over([rows])
    places = np.arange(RULER.n_bins)
    for j in range(3):
        column = np.full(RULER.n_bins, j)
        assert np.array_equal(counts.between(places, places, column), expected[j])


def test_sums_are_those_of_a_function_of_bins():
    rows = np.array([[1.0, 12.0, np.nan], [2.0, 11.0, 4.0], [2.0, -5.0, 4.0]])

    def nearest(column, index):
        return RULER.nearest(index, column).astype(np.int64)

    assert count(rows).sums(nearest, COLUMNS).tolist() == [5, 12 + 11 + 10, 8]
    assert count(rows).sums(nearest, np.array([2])).tolist() == [8]


def test_only_bins_of_the_columns_that_are_asked_are_looked_at():
    seen = []

    def watched(columns, index):
        seen.append((set(columns.tolist()), index.tolist()))
        return index

    count(np.full((2, 3), 5.0)).sums(watched, np.array([2, 0]))
    places = RULER.index(np.full(3, 5.0)).tolist()
    assert seen == [({2}, [places[2]]), ({0}, [places[0]])]


@pytest.mark.claim("P22")
def test_sums_over_a_trillion_rows_are_exact():
    n_rows, steps = 1 << 40, 4096
    bins = np.array([4, 9, RULER.n_bins + 2, 2 * RULER.n_bins + 7])
    counts = np.array([n_rows - 3, 3, n_rows, n_rows])
    many = CellCounts(bins, counts, n_rows=n_rows, ruler=RULER)

    def value(columns, index):
        return np.where(index == 9, 1, np.where(columns == 2, -steps, steps))

    assert many.sums(value, COLUMNS).tolist() == [
        (n_rows - 3) * steps + 3,
        n_rows * steps,
        -n_rows * steps,
    ]
    assert many.observed(COLUMNS).tolist() == [n_rows] * 3


@pytest.mark.parametrize("kind", [np.int16, np.uint8, np.float32, np.bool_])
def test_other_types_of_numbers_count_as_their_values(kind):
    rows = np.array([[0, 1, 1], [1, 0, 1]], dtype=kind)
    assert count(rows) == count(rows.astype(float))


def test_no_rows_are_no_cells():
    counts = kernel().sum_over([])
    assert counts.n_rows == 0
    assert counts.observed(COLUMNS).tolist() == [0, 0, 0]
    assert counts + count(np.ones((2, 3))) == count(np.ones((2, 3)))


@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf])
def test_missing_cells_are_refused_where_the_rule_says_so(cell):
    rows = np.array([[1.0, 2.0, 987654.0], [1.0, cell, 2.0]])
    with pytest.raises(MissingValueError, match="missing or infinite cells") as refusal:
        count(rows, Missing.REFUSE)
    assert "987654" not in str(refusal.value)
    assert count(rows[:1], Missing.REFUSE) == count(rows[:1])


def test_counts_travel_and_are_not_stored_or_shown():
    counts = count(np.full((2, 3), 987654.0))
    with pytest.raises(SensitiveDataError):
        pickle.dumps(counts)
    assert pickle.loads(ForkingPickler.dumps(counts)) == counts
    assert repr(counts) == "CellCounts(2 rows × 3 columns)"


def test_a_kernel_travels():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    assert pickle.loads(pickle.dumps(kernel())).sum_over([rows]) == count(rows)


def test_counts_on_other_rulers_do_not_merge():
    other = CellKernel(Ruler(ORIGIN, np.array([40, 40, 8]), 6), LOWER, UPPER, Missing.CENTER)
    with pytest.raises(ParameterError):
        count(np.ones((1, 3))) + other.sum_over([np.ones((1, 3))])


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_rows_of_the_caller_stay_as_they_are(order):
    rows = np.array(np.random.default_rng(0).normal(size=(50, 3)), order=order)
    before = rows.copy()
    rows.setflags(write=False)
    far = np.full(3, 0.5)
    ruler = Ruler(np.ones(3), np.full(3, 4), 5)
    CellKernel(ruler, -far, far, Missing.REFUSE).sum_over([rows])
    assert np.array_equal(rows, before)


@pytest.mark.claim("P22")
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_counts_on_any_number_of_threads_are_the_same(threads):
    blocks = np.random.default_rng(0).normal(size=(30, 200, 3)) * [1, 100, 0.01]
    expected = kernel().sum_over(blocks, threads=1)
    assert kernel().sum_over(blocks, threads=threads) == expected


@pytest.mark.claim("P22")
def test_counts_go_on_in_longer_integers_when_shorter_ones_might_be_too_short(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(100, 3))
    expected = count(rows)
    monkeypatch.setattr("dpcov.sensitive.sums.cell_counts._MOST_SHORT", 50)
    longer = kernel().sum_over([rows[:40], rows[40:70], rows[70:]])
    assert longer._counts.dtype == np.int64
    assert longer == expected


def test_short_integers_hold_the_counts_of_as_many_rows_as_are_allowed():
    assert np.iinfo(np.int32).max == cell_counts._MOST_SHORT


@pytest.mark.claim("P22")
def test_integers_become_longer_with_the_first_row_that_may_not_fit(monkeypatch):
    monkeypatch.setattr(cell_counts, "_MOST_SHORT", 50)
    column = cell_counts._ColumnHistogram(4)
    for n_rows, kind in ((49, np.int32), (1, np.int32), (1, np.int64), (9, np.int64)):
        column.add(np.ones(n_rows, dtype=np.int32), waits=True)
        assert column._counts.dtype == kind
    assert [part.tolist() for part in column.in_use(60)] == [[1], [60]]


@pytest.mark.claim("P22")
def test_cells_of_the_next_column_are_not_observed_in_this_one():
    """The lowest bins of a column come right after the highest of the one before."""
    n_bins = RULER.n_bins
    bins = np.array([n_bins - 1, n_bins, n_bins + 1, 2 * n_bins - 1, 2 * n_bins, 3 * n_bins - 1])
    counts = CellCounts(bins, np.array([1, 2, 4, 8, 16, 32]), n_rows=63, ruler=RULER)
    assert counts.observed(COLUMNS).tolist() == [1, 2 + 4 + 8, 16 + 32]


@pytest.mark.claim("P22")
@pytest.mark.parametrize("first", range(4))
def test_counts_of_the_first_bins_merge_as_all_do(first):
    one, other = (
        CellCounts(np.array(bins), np.array(counts), n_rows=9, ruler=RULER)
        for bins, counts in (([first, 7], [4, 5]), ([7, 8], [3, 6]))
    )
    merged = CellCounts(np.array([first, 7, 8]), np.array([4, 8, 6]), n_rows=18, ruler=RULER)
    assert one + other == other + one == merged


@pytest.mark.claim("P22")
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_loops_count_the_same(order):
    rows = np.random.default_rng(0).normal(size=(5_000, 3)) * [1, 100, 0.01]
    rows[::7, 1] = np.nan
    blocks = [np.array(part, order=order) for part in np.split(rows, [10, 700, 4_000])]
    with none_compiled():
        expected = kernel().sum_over(blocks, threads=1)
    with all_compiled():
        assert kernel().sum_over(blocks, threads=2) == expected


def column_in_the_hands_of_another_lane():
    column = cell_counts._ColumnHistogram(4)
    column._one_at_a_time.acquire()
    return column


@pytest.mark.claim("P22")
def test_a_lane_passes_by_a_column_that_another_one_counts():
    column = column_in_the_hands_of_another_lane()
    assert not column.add(np.array([1], dtype=np.int32), waits=False)
    column._one_at_a_time.release()
    assert [part.tolist() for part in column.in_use(0)] == [[], []]


@pytest.mark.claim("P22")
def test_a_lane_that_waits_counts_after_the_other():
    column = column_in_the_hands_of_another_lane()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(column.add, np.array([1, 1], dtype=np.int32), waits=True)
        with pytest.raises(FuturesTimeoutError):  # before Python 3.11 another class
            waiting.result(0.05)
        assert not column._counts.any()
        column._one_at_a_time.release()
        assert waiting.result(60)
    assert [part.tolist() for part in column.in_use(2)] == [[1], [2]]


@pytest.mark.claim("P22")
def test_a_column_that_was_passed_by_is_counted_when_all_others_are():
    histogram = cell_counts._Histogram(RULER)
    first, *others = histogram._columns
    first._one_at_a_time.acquire()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(histogram.add, np.full((3, 2), 5, dtype=np.int32))
        with pytest.raises(FuturesTimeoutError):
            waiting.result(0.1)
        passed_by = [column._counts[5] for column in (first, *others)]
        first._one_at_a_time.release()
        waiting.result(60)
    assert passed_by == [0, 2, 2]
    assert [column._counts[5] for column in (first, *others)] == [2, 2, 2]


@pytest.mark.claim("P22")
@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("wrong", [-1, 1])
def test_counts_that_are_not_those_of_all_rows_are_refused(place, wrong):
    column = cell_counts._ColumnHistogram(4)
    column.add(np.array([0, 2, 4, 4], dtype=np.int32), waits=True)
    column._counts[place] += wrong
    with pytest.raises(InexactArithmeticError, match="do not add up"):
        column.in_use(4)


@pytest.mark.claim("P22")
@pytest.mark.parametrize("times", [0, 2])
def test_rows_that_are_not_counted_once_are_refused(monkeypatch, times):
    once = cell_counts._Histogram.add
    several = lambda self, bins: [once(self, bins) for _ in range(times)]  # noqa: E731
    monkeypatch.setattr(cell_counts._Histogram, "add", several)
    with pytest.raises(InexactArithmeticError, match="do not add up"):
        count(np.ones((5, 3)))


def test_the_check_of_counts_has_room_for_many_rows():
    column = cell_counts._ColumnHistogram(4)
    column._counts = np.array([2**31, 0, 2**31, 0, 1])
    assert column.in_use(2**32 + 1)[1].tolist() == [2**31, 2**31]


@pytest.mark.claim("P8")
def test_a_cell_without_a_bin_is_refused_without_its_number():
    column = cell_counts._ColumnHistogram(4)
    with pytest.raises(InexactArithmeticError) as refusal:
        column.add(np.array([99], dtype=np.int32), waits=True)
    assert "99" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert column.add(np.array([1], dtype=np.int32), waits=False)


@pytest.mark.parametrize(
    "other",
    [
        [[1.0, 11.0, 1.0], [1.0, 11.0, 1.0]],
        [[1.0, 11.0, 1.0], [1.0, 11.0, 50.0]],
        [[1.0, 11.0, 1.0], [50.0, 11.0, 1.0], [np.nan, np.nan, np.nan]],
    ],
    ids=["other counts", "other bins", "other rows"],
)
def test_counts_are_equal_only_if_all_of_them_are(other):
    rows = np.array([[1.0, 11.0, 1.0], [50.0, 11.0, 1.0]])
    assert count(rows) == count(rows[::-1])
    assert count(rows) != count(np.array(other))
