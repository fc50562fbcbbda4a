import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count, check_number


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.25), np.int8(1)])
def test_numbers_of_any_real_type_become_floats(value):
    assert type(check_number("x", value, low=0, high=2)) is float


@pytest.mark.parametrize(
    "value", [None, True, "1", [1.0], np.array([1.0]), np.array(1.0), 1 + 0j, float("nan")]
)
def test_what_is_not_a_number_is_refused(value):
    with pytest.raises(ParameterError, match="x must"):
        check_number("x", value, low=0, high=2)


@pytest.mark.parametrize(
    ("value", "open_low", "accepted"), [(0, True, False), (0, False, True), (-1, False, False)]
)
def test_an_end_of_the_interval_belongs_to_it_only_when_closed(value, open_low, accepted):
    def call():
        return check_number("x", value, low=0, high=2, open_low=open_low)

    if accepted:
        assert call() == value
    else:
        with pytest.raises(ParameterError):
            call()


def test_the_message_says_what_must_hold_what_came_and_what_to_do():
    with pytest.raises(ParameterError) as caught:
        check_number("delta", 3, low=0, high=1, advice="Choose less.")
    assert str(caught.value) == "delta must lie in (0, 1); got 3. Choose less."


def test_an_array_passed_by_mistake_is_not_quoted():
    with pytest.raises(ParameterError) as caught:
        check_number("epsilon", np.array([123.456]), low=0, high=1)
    assert "123" not in str(caught.value)


@pytest.mark.parametrize("value", [True, 1.0, "1", -1, None])
def test_what_is_not_a_count_is_refused(value):
    with pytest.raises(ParameterError, match="whole number of at least 0"):
        check_count("seed", value, low=0)


def test_a_count_above_its_range_is_refused():
    with pytest.raises(ParameterError, match="from 1 to 24; got 25"):
        check_count("bits", 25, low=1, high=24)


@pytest.mark.parametrize("value", ["c", None, 3, ["a"]])
def test_an_unknown_choice_is_answered_with_the_known_ones(value):
    with pytest.raises(ParameterError, match="one of 'a', 'b'"):
        check_choice("letter", value, ["a", "b"])
