"""The ends of a bracket are what they are said to be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.bisection import bracket, smallest_count, smallest_safe
from dpcov.errors import ParameterError

NUMBERS = st.floats(1e-300, 1e300)


@given(NUMBERS)
def test_the_ends_are_neighbors_on_both_sides_of_the_turn(turn):
    low, high = bracket(lambda x: x >= turn, 0.0, 1e301)
    assert low < turn <= high
    assert math.nextafter(low, math.inf) == high


@given(NUMBERS)
def test_the_safe_end_is_the_smallest_safe_number(turn):
    assert smallest_safe(lambda x: x >= turn, start=1.0, otherwise="") == turn


def test_a_width_stops_the_search():
    tried = []

    def holds(x):
        tried.append(x)
        return x >= 0.3

    low, high = bracket(holds, 0.0, 1.0, width=2**-10)
    assert low < 0.3 <= high
    assert len(tried) == 10


def test_a_condition_that_never_holds_is_refused_in_the_callers_words():
    with pytest.raises(ParameterError, match="in my words"):
        smallest_safe(lambda x: False, start=1.0, otherwise="in my words")
    with pytest.raises(ParameterError, match="in my words"):
        smallest_count(lambda n: False, start=1, most=100, otherwise="in my words")


@given(st.integers(1, 10**9))
def test_the_smallest_count_is_enough_and_one_less_is_not(turn):
    found = smallest_count(lambda n: n >= turn, start=4, most=2**40, otherwise="")
    assert found == max(turn, 4)
