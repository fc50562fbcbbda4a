"""Rulers: public bins of floats."""

import math
from dataclasses import FrozenInstanceError

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


def test_bins_are_as_far_from_the_origin_as_the_values():
    ruler = Ruler(np.array([1e6, -3.0]), np.array([12, 12]), 10)
    values = np.array([1e6 + 5, -4.0])
    places = ruler.index(values)
    assert ruler.nearest(places).tolist() == values.tolist()
    low, high = ruler.ends(places)
    assert low.tolist() == [1e6 + 5, -4.0 - 2.0**-10]
    assert high.tolist() == [1e6 + 5 + 2.0**-8, -4.0]
    columns = np.array([1])
    assert ruler.nearest(places[1:], columns).tolist() == [-4.0]
    assert [end.tolist() for end in ruler.ends(places[1:], columns)] == [[-4.0 - 2.0**-10], [-4.0]]


def test_the_bins_beside_zero_end_where_that_of_zero_begins():
    smallest, half = 2.0 ** (40 - OCTAVES), RULER.half
    assert ends(half) == (-smallest, smallest)
    assert ends(half + 1) == (smallest, smallest * (1 + 2.0**-10))
    assert ends(half - 1) == (-smallest * (1 + 2.0**-10), -smallest)


@pytest.mark.parametrize("bits", [0, 1, 19, 20])
def test_bins_may_have_any_number_of_bits_from_0_to_20(bits):
    ruler = Ruler(np.zeros(1), np.array([40]), bits)
    for value in (1.0, 1.5, 2.0, 3.0, 2.0**39, 2.0**-39):
        place = index(value, ruler)
        low, high = ends(place, ruler)
        assert low <= value < high == low + float(ruler.width(np.array([place]))[0])
        # The bins of a sign are those of the other, mirrored.
        assert index(-value, ruler) == 2 * ruler.half - place
        assert ends(2 * ruler.half - place, ruler) == (-high, -low)
    assert index(2.0**40, ruler) == ruler.n_bins - 1
    assert index(-(2.0**40), ruler) == 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_ruler_may_end_as_far_out_as_learned_ones_do(sign):
    """Learned centers have rulers down to 2^-900: a refusal would come after noise was drawn."""
    ruler = Ruler(np.zeros(2), np.array([40, sign * 900]), 10)
    assert ruler.index(np.full(2, np.ldexp(1.0, sign * 900)))[1] == ruler.n_bins - 1
    with pytest.raises(ParameterError, match="within the floats"):
        Ruler(np.zeros(2), np.array([40, sign * 901]), 10)


def test_a_ruler_that_was_checked_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        RULER.bits = 21


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
        {"origin": np.array([0.0, np.inf]), "top": np.array([40, 40])},
        {"origin": np.zeros(2), "top": np.array([40, -2000])},
    ],
)
def test_impossible_rulers_are_refused(bad):
    facts = {"origin": np.zeros(1), "top": np.array([40]), "bits": 10}
    with pytest.raises(ParameterError):
        Ruler(**(facts | bad))
