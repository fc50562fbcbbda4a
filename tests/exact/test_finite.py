"""Whether all numbers are finite: sure only if they are."""

import numpy as np
import pytest

from dpcov.exact.finite import surely_finite

SIZES = [1, 100, 4096, 4097, 10_000]
BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_number_that_is_not_finite_is_seen_at_either_end(size, bad, dtype):
    for place in (0, size // 2, size - 1):
        cells = np.ones(size, dtype=dtype)
        assert surely_finite(cells)
        cells[place] = bad
        assert not surely_finite(cells)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_is_seen_in_any_layout(bad, order):
    table = np.array(np.ones((300, 20)), order=order)
    table[299, 7] = bad
    for some in (table, table[::2], table[1::2], table[:, 5:9], table[250:]):
        assert surely_finite(some) == bool(np.isfinite(some).all())


def test_two_infinities_do_not_cancel():
    assert not surely_finite(np.array([np.inf, -np.inf]))


def test_numbers_whose_sum_overflows_are_not_sure_and_no_warning_is_given():
    assert not surely_finite(np.full(10, 1e308))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.uint64])
def test_whole_numbers_are_finite(dtype):
    assert surely_finite(np.ones((3, 4), dtype=dtype))


def test_no_cells_are_finite():
    assert surely_finite(np.ones((0, 4)))
