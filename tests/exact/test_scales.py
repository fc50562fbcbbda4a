"""Noise scales are rounded toward more noise, and hardly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.exact.scales import MAX_SCALE, frobenius_scales, round_scale_up, scale_of


@given(st.integers(1, MAX_SCALE))
def test_a_rounded_scale_is_never_smaller_and_hardly_larger(value):
    scale = round_scale_up(value)
    assert value <= scale <= value * (1 + Fraction(1, 2**30))
    assert round_scale_up(scale) == scale


def test_a_scale_beyond_the_range_is_refused():
    with pytest.raises(ParameterError, match="56 bits"):
        round_scale_up(MAX_SCALE + 1)


@pytest.mark.claim("P5")
@pytest.mark.parametrize("value", [0, -1])
def test_no_scale_is_zero(value):
    assert round_scale_up(value) == 1


def test_the_largest_scale_has_32_bits_and_24_zeros():
    # In numbers of its own: a constant that is wrong agrees with itself.
    largest = 2**56 - 2**24
    assert round_scale_up(largest) == largest
    with pytest.raises(ParameterError, match="56 bits"):
        round_scale_up(largest + 1)


@pytest.mark.claim("P5")
@given(st.fractions(Fraction(1, 10**6), MAX_SCALE**2))
def test_the_square_of_a_scale_is_never_below_the_variance_and_hardly_above(variance):
    scale = scale_of(variance)
    assert scale**2 >= variance
    smaller = scale * (1 - Fraction(1, 2**30)) - 1
    assert smaller <= 0 or smaller**2 < variance


@pytest.mark.claim("P5")
@given(st.fractions(Fraction(1), MAX_SCALE**2))
def test_noise_has_at_least_the_variance_in_every_frobenius_direction(variance):
    off_diagonal, diagonal = frobenius_scales(variance)
    assert 2 * off_diagonal**2 >= variance
    assert diagonal**2 >= variance
