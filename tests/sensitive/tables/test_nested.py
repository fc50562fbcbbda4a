"""Nested sequences: their cells have no declared type, and none of them decides one."""

import warnings

import numpy as np
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table


def read(table):
    return np.concatenate(list(open_table(table).blocks(10)))


@pytest.mark.claim("P20")
def test_a_cell_does_not_decide_whose_rows_are_whose():
    rows = [[2**53 + place, place % 3] for place in range(40)]
    with pytest.raises(InputError, match="no declared type"):
        dpcov.release(
            rows,
            epsilon=1.0,
            delta=1e-6,
            columns=["id", "x"],
            privacy_unit="id",
            rows_per_unit=1,
        )


@pytest.mark.parametrize("odd", [0.5, None, 2**70, True, np.float32(1), float("nan")])
def test_a_cell_does_not_decide_the_type_of_the_others(odd):
    plain = read([[2**53 + 1, 1], [3, 4]])
    other = read([[2**53 + 1, 1], [3, odd]])
    assert plain.dtype == other.dtype == np.float64
    assert np.array_equal(plain[0], other[0])


@pytest.mark.claim("P8")
def test_a_signaling_nan_is_missing_without_a_word():
    table = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    table.view(np.uint32)[4, 1] = 0x7F800001
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", dpcov.errors.WeakPromiseWarning)
        for one in (table, np.ma.masked_array(table)):
            dpcov.release(one, epsilon=1.0, delta=1e-6, missing="center")


@pytest.mark.claim("P8")
@pytest.mark.parametrize("place", [0, 1])
def test_a_masked_cell_is_missing_beside_rows_without_a_mask(place):
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    rows[place] = np.ma.masked_array(rows[place], mask=[False, True])
    found = read(rows)
    assert np.isnan(found[place, 1])
    assert np.isnan(found).sum() == 1


def test_a_text_among_numbers_is_refused_even_if_it_says_a_number():
    with pytest.raises(InputError, match="must hold real numbers"):
        open_table([[1, None], ["2", 3]])
