"""Rulers: public bins of floats."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.exact.ruler import OCTAVES, Ruler, ruler_bits

RULER = Ruler(np.zeros(1), np.array([40]), 10)
FLOATS = st.floats(allow_nan=False)


def index(value, ruler=RULER):
    return int(ruler.index(np.array([value]))[0])


def ends(place, ruler=RULER):
    low, high = ruler.ends(np.array([place]))
    return float(low[0]), float(high[0])


@pytest.mark.claim("P22")
@given(FLOATS, FLOATS)
def test_bins_rise_with_the_value(x, y):
    low, high = sorted((x, y))
    assert index(low) <= index(high)


@pytest.mark.claim("P22")
@given(FLOATS)
def test_a_value_lies_within_the_ends_of_its_bin(x):
    low, high = ends(index(x))
    assert 0 <= index(x) < RULER.n_bins
    assert low <= x <= high


@given(st.integers(0, RULER.n_bins - 1))
def test_the_nearer_end_is_in_its_bin_and_the_other_is_not(place):
    nearest = float(RULER.nearest(np.array([place]))[0])
    low, high = ends(place)
    assert index(nearest) == place
    assert nearest == (low if place > RULER.half else high if place < RULER.half else 0.0)
    for outer in {low, high} - {nearest}:
        assert math.isinf(outer) or index(outer) != place


@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, -5e-324, 2.0**-41, -(2.0**-41)])
def test_zero_and_what_is_too_small_share_a_bin(value):
    assert index(value) == RULER.half


def test_what_is_too_large_shares_the_outermost_bin():
    assert index(2.0**40) == index(1e308) == index(math.inf) == RULER.n_bins - 1
    assert index(-(2.0**40)) == index(-math.inf) == 0
    assert index(np.nextafter(2.0**40, 0)) == RULER.n_bins - 2


@pytest.mark.parametrize("bits", [2, 10, 12])
def test_whole_numbers_have_bins_of_their_own_as_far_as_bits_go(bits):
    ruler = Ruler(np.zeros(1), np.array([40]), bits)
    whole = np.arange(-(2 << bits), (2 << bits) + 1)
    places = [index(float(x), ruler) for x in whole]
    assert len(set(places)) == len(whole)
    assert [float(ruler.nearest(np.array([place]))[0]) for place in places] == whole.tolist()


def test_bins_are_finest_at_the_origin():
    ruler = Ruler(np.array([1e6]), np.array([12]), 10)
    assert index(1e6 + 5, ruler) != index(1e6 + 5.01, ruler)
    assert float(ruler.width(ruler.index(np.array([1e6])))[0]) == 2.0 ** (12 - OCTAVES)


def test_the_outermost_bin_is_as_wide_as_its_neighbor():
    last = np.array([RULER.n_bins - 1])
    assert RULER.width(last) == RULER.width(last - 1) == 2.0**29


def test_many_columns_have_coarser_bins():
    for n_columns in (1, 200, 1000, 10_000):
        ruler = Ruler(np.zeros(n_columns), np.full(n_columns, 40), ruler_bits(n_columns))
        assert n_columns * ruler.n_bins * 8 <= 256 << 20
    assert [ruler_bits(p) for p in (1, 51, 52, 200, 1000)] == [12, 12, 11, 10, 7]
    assert ruler_bits(10**6) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"origin": np.array([np.nan])},
        {"top": np.array([2000])},
        {"bits": 21},
        {"origin": np.zeros(2)},
    ],
)
def test_impossible_rulers_are_refused(bad):
    facts = {"origin": np.zeros(1), "top": np.array([40]), "bits": 10}
    with pytest.raises(ParameterError):
        Ruler(**(facts | bad))
