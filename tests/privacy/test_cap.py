"""Claim P14, the constants: what they pay for, and that they are the best."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import Cap, cap_epsilon, plan_cap
from dpcov.privacy.cap import COIN

epsilons = st.floats(1e-3, 20)
sizes = st.integers(1, 2**16)


@pytest.mark.claim("P14")
@given(epsilons, sizes)
def test_the_constants_pay_for_the_promise_and_hardly_more(epsilon, n_columns):
    cap = plan_cap(epsilon=epsilon, n_columns=n_columns)
    assert epsilon * (1 - 2e-5) < cap_epsilon(cap, n_columns=n_columns) <= epsilon


@pytest.mark.claim("P14")
@given(epsilons, sizes)
def test_the_ratio_of_probabilities_is_below_the_promise_in_forty_digits(epsilon, n_columns):
    cap = plan_cap(epsilon=epsilon, n_columns=n_columns)
    with mpmath.workdps(40):
        q = mpmath.erfc(mpmath.mpf(cap.threshold) / mpmath.sqrt(2))
        p = mpmath.mpf(cap.coin) / COIN
        ratio = p / q * (1 - q) / (1 - p)
        assert mpmath.log(ratio) <= mpmath.mpf(epsilon) * (1 - mpmath.mpf("0.99e-9"))


@pytest.mark.claim("P14")
@given(st.floats(0.01, 20), sizes)
def test_a_coin_that_is_larger_by_a_thousandth_is_refused(epsilon, n_columns):
    cap = plan_cap(epsilon=epsilon, n_columns=n_columns)
    larger = Cap(cap.threshold, COIN - math.floor((COIN - cap.coin) * 0.999))
    assert cap_epsilon(larger, n_columns=n_columns) > epsilon


@pytest.mark.parametrize(
    ("epsilon", "threshold", "variance"),
    [(0.5, 1.1245, 14.3), (1, 1.2552, 3.02), (2, 1.5298, 0.557), (4, 2.0968, 0.087)],
)
def test_known_thresholds_and_variances(epsilon, threshold, variance):
    cap = plan_cap(epsilon=epsilon, n_columns=100)
    assert cap.threshold == pytest.approx(threshold, abs=1e-3)
    assert cap.variance == pytest.approx(variance, rel=6e-3)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 2, 4, 7])
def test_no_other_threshold_has_less_variance(epsilon):
    best = plan_cap(epsilon=epsilon, n_columns=10)

    def variance(threshold):
        q = math.erfc(threshold / math.sqrt(2))
        odds = math.exp(epsilon) * q / (1 - q)
        return Cap(threshold, int(odds / (1 + odds) * COIN)).variance

    others = [variance(step / 100) for step in range(50, 301)]
    assert best.variance <= min(others) * (1 + 1e-6)


def test_the_threshold_is_bounded_so_that_devices_find_a_seed():
    assert plan_cap(epsilon=20, n_columns=10).threshold == 3.0
    assert plan_cap(epsilon=20, n_columns=10).steady_tries < 10_000


@pytest.mark.parametrize("epsilon", [0, -1, 20.1, math.nan, math.inf, "1", None, True])
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon must"):
        plan_cap(epsilon=epsilon, n_columns=10)


@pytest.mark.claim("P14")
def test_an_epsilon_that_cannot_pay_for_the_generator_is_refused():
    with pytest.raises(ParameterError, match="too small to pay"):
        plan_cap(epsilon=1e-12, n_columns=1000)


@pytest.mark.parametrize("n_columns", [0, 2**16 + 1, 2.0])
def test_an_impossible_number_of_columns_is_refused(n_columns):
    with pytest.raises(ParameterError, match="n_columns"):
        plan_cap(epsilon=1.0, n_columns=n_columns)


@pytest.mark.parametrize(
    "constants", [(1.0, 0), (1.0, COIN), (0.1, COIN - 1), (3.5, COIN - 1), (1.0, 5), (1, 2.5)]
)
def test_impossible_constants_are_refused(constants):
    with pytest.raises(ParameterError):
        Cap(*constants)
