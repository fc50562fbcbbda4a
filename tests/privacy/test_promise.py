import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpcov.errors import ParameterError
from dpcov.privacy import ApproxDP, Neighbors, NoPromise, Promise, PureDP, gaussian_scale
from dpcov.privacy.promise import WEAK_EPSILON


@pytest.mark.parametrize(
    "epsilon", [0, -1, math.nan, math.inf, 10**400, 2e6, "1", None, [1.0], True]
)
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon must"):
        ApproxDP(epsilon, 1e-6, "replace")


@pytest.mark.parametrize("delta", [0, -1e-9, 1, 2, math.nan, "1", None, True])
def test_an_impossible_delta_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must"):
        ApproxDP(1, delta, "replace")


def test_the_ends_of_what_is_documented_can_be_promised_and_nothing_beyond():
    assert ApproxDP(1e6, 1e-300, "replace").delta == 1e-300
    assert PureDP(1e6, "replace").epsilon == 1e6
    for epsilon, delta in ((math.nextafter(1e6, math.inf), 0.1), (1.0, 0.999e-300)):
        with pytest.raises(ParameterError, match="must lie"):
            ApproxDP(epsilon, delta, "replace")


def test_an_unknown_relation_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match="'replace', 'add-remove'"):
        ApproxDP(1, 1e-6, "swap")


def test_a_promise_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        ApproxDP(1, 1e-6, "replace").epsilon = 2


def test_equal_promises_are_equal_whatever_type_the_numbers_had():
    assert ApproxDP(1, 1e-6, "replace") == ApproxDP(1.0, 1e-6, Neighbors.REPLACE)


def test_numbers_of_promises_are_floats_whose_rounding_is_paid_for():
    promise = ApproxDP(np.float32(0.1), np.float32(1e-6), "replace")
    assert type(promise.epsilon) is type(promise.delta) is float
    assert type(PureDP(np.float32(0.1), "replace").epsilon) is float


@pytest.mark.parametrize("privacy_unit", [7, True, ["who"]])
def test_a_privacy_unit_that_is_no_name_is_refused(privacy_unit):
    with pytest.raises(ParameterError, match="name of a column"):
        ApproxDP(1, 1e-6, "replace", privacy_unit)


def test_add_remove_says_that_the_number_of_rows_is_public():
    assert "number of rows is public" in ApproxDP(1, 1e-6, "add-remove").in_words
    assert "n public" in str(ApproxDP(1, 1e-6, "add-remove"))


def test_a_promise_about_privacy_units_names_its_own_relation():
    replaced = ApproxDP(1, 1e-6, "replace", "who").in_words
    assert "tables that differ in the cells of all rows of one 'who'" in replaced
    removed = ApproxDP(1, 1e-6, "add-remove", "who").in_words
    assert "rows that add nothing in the place of all rows of one 'who'" in removed


def test_a_promise_says_whether_one_row_is_another_or_all_rows_of_a_person():
    assert "had that person's row been another" in ApproxDP(1, 1e-6, "replace").in_words
    assert "had that person's row been another" in PureDP(1, "local").in_words
    assert "had that person's rows been others" in ApproxDP(1, 1e-6, "replace", "who").in_words


def test_the_local_model_says_that_the_row_stays_on_the_device():
    assert str(PureDP(1, "local")) == "1-differential privacy in the local model"
    assert "never leaves the person's device" in PureDP(1, "local").in_words


@pytest.mark.claim("P8")
def test_a_promise_for_complete_tables_says_so():
    words = ApproxDP(1, 1e-6, "replace", complete=True).in_words
    assert "among complete tables, without missing or infinite cells" in words
    assert "nobody's cell is missing" in words


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    "promise", [PureDP, lambda *facts, **more: ApproxDP(1, 1e-6, "local", **more)]
)
def test_a_promise_for_complete_rows_says_what_silence_tells(promise):
    words = promise(1, "local", complete=True).in_words
    assert "among complete rows" in words
    assert "its silence tells so" in words
    assert "table" not in words


@pytest.mark.parametrize("promise", [PureDP(1, "local"), ApproxDP(1, 1e-6, "add-remove", "who")])
def test_a_promise_for_all_tables_does_not_speak_of_complete_ones(promise):
    assert "complete" not in promise.in_words


def test_promises_among_other_tables_are_other_promises():
    assert PureDP(1, "replace") != PureDP(1, "replace", complete=True)


@pytest.mark.parametrize("complete", [None, 1, "yes"])
def test_a_promise_is_for_complete_tables_or_not(complete):
    with pytest.raises(ParameterError, match="complete must be"):
        ApproxDP(1, 1e-6, "replace", complete=complete)
    with pytest.raises(ParameterError, match="complete must be"):
        PureDP(1, "replace", complete=complete)


def test_no_promise_says_so_everywhere():
    nothing = NoPromise("simulated with a seed")
    assert str(nothing) == "no promise: simulated with a seed"
    assert "Do not publish" in nothing.in_words


def test_the_bare_promise_says_nothing():
    with pytest.raises(TypeError, match="use ApproxDP"):
        _ = Promise().in_words


def test_the_words_are_the_definition():
    assert "probability at most 7.39 q as it is" in PureDP(2, "replace").in_words
    assert "at most 2.72 q + 1e-06 as it is" in ApproxDP(1, 1e-6, "replace").in_words
    assert "e^1000 q" in PureDP(1000, "replace").in_words


@given(st.floats(1e-3, 50), st.floats(1e-12, 0.5), st.floats(0, 1))
def test_attack_power_bounds_the_best_test_against_the_gaussian_mechanism(epsilon, delta, alpha):
    power = norm.cdf(norm.ppf(alpha) + 1 / gaussian_scale(epsilon=epsilon, delta=delta))
    assert ApproxDP(epsilon, delta, "replace").attack_power(alpha) >= power - 1e-9


def test_attack_power_without_delta_is_that_of_randomized_response():
    epsilon = 1.5
    alpha = 1 / (1 + math.exp(epsilon))
    assert PureDP(epsilon, "replace").attack_power(alpha) == pytest.approx(1 - alpha)


def test_attack_power_is_bounded_by_what_is_overlooked_when_alarms_are_frequent():
    assert PureDP(1.0, "replace").attack_power(0.5) == pytest.approx(1 - math.exp(-1) / 2)
    power = ApproxDP(1.0, 0.1, "replace").attack_power(0.5)
    assert power == pytest.approx(1 - math.exp(-1) * 0.4)


def test_a_promise_is_weak_where_one_percent_may_become_more_than_twenty():
    assert PureDP(WEAK_EPSILON, "replace").attack_power(0.01) == pytest.approx(0.2, abs=0.005)


@pytest.mark.parametrize("false_alarm", [-0.1, 1.1, math.nan, None])
def test_no_attack_power_is_told_for_an_impossible_rate(false_alarm):
    with pytest.raises(ParameterError, match="false_alarm must"):
        PureDP(1.0, "replace").attack_power(false_alarm)


def test_attack_power_does_not_overflow():
    assert PureDP(1e4, "replace").attack_power(0.5) == 1.0
    assert ApproxDP(1000.0, 1e-6, "replace").attack_power(1e-305) == 1.0
    assert PureDP(1000.0, "replace").attack_power(0.0) == 0.0


def test_a_promise_is_never_printed_as_smaller_than_it_is():
    promise = ApproxDP(1.0000049, 1.2345644e-6, "replace")
    assert str(promise).startswith("(1.0000049, 1.2345644e-06)")
    assert "1.2345644e-06" in promise.in_words
    assert "at most 4.49 q" in PureDP(1.5, "replace").in_words
