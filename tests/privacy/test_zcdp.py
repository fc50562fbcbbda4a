"""Claim P9: what events cost, and how costs become a promise."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import opendp.prelude as dp  # first of all: it changes the environment
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import Approximate, Gaussian, Pure, Selection, gaussian_delta, zcdp
from dpcov.privacy.zcdp import selection_scale, zcdp_budget, zcdp_cost, zcdp_delta
from wiring.planting import plant


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Let no budget that was computed with a bug be used without it, nor the other way round."""
    zcdp._largest_rho.cache_clear()
    yield
    zcdp._largest_rho.cache_clear()


PROMISES = [(0.01, 1e-5), (0.1, 1e-6), (1.0, 1e-5), (1.0, 0.3), (4.0, 1e-9), (10.0, 1e-3)]


@pytest.mark.claim("P9")
@given(st.floats(1e-3, 50), st.floats(1e-30, 0.5))
def test_the_budget_is_never_beyond_the_promise_and_nearly_all_of_it(epsilon, delta):
    rho = zcdp_budget(epsilon=epsilon, delta=delta)
    assert zcdp._log_delta(rho, epsilon) <= math.log(delta)
    assert zcdp_delta(rho=rho * (1 + 1e-6), epsilon=epsilon) > delta


@pytest.mark.claim("P9")
@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_opendp_agrees_with_the_conversion(epsilon, delta):
    dp.enable_features("contrib")
    rho = zcdp_budget(epsilon=epsilon, delta=delta)
    gaussian = dp.m.make_gaussian(
        dp.atom_domain(T=float, nan=False),
        dp.absolute_distance(T=float),
        scale=math.sqrt(1 / (2 * rho)),
    )
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta)
    assert theirs == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.claim("P9")
@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_dp_accounting_agrees_with_the_conversion(epsilon, delta):
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    rho = zcdp_budget(epsilon=epsilon, delta=delta)
    orders = 1 + np.geomspace(1e-3, 1e6, 20_000)
    theirs, _ = compute_epsilon(orders, orders * rho, delta)
    assert theirs == pytest.approx(epsilon, rel=1e-4)
    assert theirs > epsilon * (1 - 1e-9)


@pytest.mark.claim("P9")
@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_the_gaussian_mechanism_needs_no_more_than_zcdp_says(epsilon, delta):
    rho = zcdp_budget(epsilon=epsilon, delta=delta)
    assert gaussian_delta(epsilon=epsilon, scale=math.sqrt(1 / (2 * rho))) <= delta


def renyi(p, q, order):
    terms = [order * math.log(a) + (1 - order) * math.log(b) for a, b in zip(p, q, strict=True)]
    return float(np.logaddexp.reduce(terms)) / (order - 1)


def exponential(scores, scale):
    weights = np.exp(np.array(scores) / scale)
    return weights / weights.sum()


@pytest.mark.claim("P9")
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 2)), min_size=2, max_size=5),
    st.floats(0.5, 20),
    st.floats(1.01, 50),
)
def test_a_round_of_selection_costs_no_more_than_stated(moves, scale, order):
    before = [score for score, _ in moves]
    after = [score + move for score, move in moves]
    cost = zcdp_cost(Selection("choice", 4 / scale))
    divergence = renyi(exponential(before, scale), exponential(after, scale), order)
    assert divergence <= cost * order * (1 + 1e-9)


def test_half_the_cost_of_a_selection_would_be_too_little():
    scale, order = 20.0, 1.5
    cost = zcdp_cost(Selection("choice", 4 / scale)) / 2
    before, after = exponential([10, 10], scale), exponential([12, 8], scale)
    assert renyi(before, after, order) > cost * order


def test_gaussian_noise_costs_half_the_squared_inverse_multiplier():
    assert zcdp_cost(Gaussian("values", 2.0)) == pytest.approx(0.125, rel=1e-9)
    assert zcdp_cost(Gaussian("values", 2.0)) >= 0.125


@given(st.floats(0.01, 5), st.floats(0, 1), st.floats(1.01, 50))
def test_a_pure_promise_costs_no_more_than_stated(epsilon, place, order):
    """Two answers, each up to e^ε times as likely for one table as for the other."""
    low, high = math.exp(-epsilon), math.exp(epsilon)
    second = (1 - low) / (high - low) * (1 - place) + place * 0.5
    first = min(second * high, 1 - (1 - second) * low)
    divergence = renyi([first, 1 - first], [second, 1 - second], order)
    assert divergence <= zcdp_cost(Pure("answer", epsilon)) * order * (1 + 1e-9)


def test_the_exception_of_an_approximate_promise_is_not_in_its_cost():
    assert zcdp_cost(Approximate("answer", 0.5, 0.1)) == zcdp_cost(Pure("answer", 0.5))


@pytest.mark.parametrize("count", [1, 10, 200])
@pytest.mark.parametrize("rho", [1e-9, 0.003, 2.0])
def test_a_selection_at_its_scale_costs_at_most_what_it_may(count, rho):
    scale = selection_scale(count=count, sensitivity=2, rho=rho)
    cost = zcdp_cost(Selection("selection", 4 / scale, count))
    assert rho * (1 - 1e-12) < cost <= rho


def test_opendp_charges_the_same_for_a_selection():
    dp.enable_features("contrib")
    for count, sensitivity in ((1, 2), (10, 1), (200, 2)):
        theirs = dp.m.make_noisy_top_k(
            dp.vector_domain(dp.atom_domain(T="i32")),
            dp.linf_distance(T="i32"),
            dp.zero_concentrated_divergence(),
            k=count,
            scale=37.5,
        ).map(sensitivity)
        ours = zcdp_cost(Selection("selection", 2 * sensitivity / 37.5, count))
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("function", "keywords"),
    [
        (zcdp_budget, {"epsilon": 0, "delta": 1e-6}),
        (zcdp_budget, {"epsilon": 1, "delta": 0}),
        (zcdp_budget, {"epsilon": 1, "delta": 1}),
        (zcdp_delta, {"rho": 0, "epsilon": 1}),
    ],
)
def test_impossible_numbers_are_refused(function, keywords):
    with pytest.raises(ParameterError):
        function(**keywords)


@pytest.mark.parametrize(
    ("function", "other"), [(zcdp_budget, {"delta": 1e-6}), (zcdp_delta, {"rho": 1.0})]
)
def test_no_number_is_told_for_a_negative_epsilon(function, other):
    with pytest.raises(ParameterError, match="epsilon must lie in"):
        function(epsilon=-0.5, **other)


def test_a_promise_that_no_noise_keeps_is_refused():
    with pytest.raises(ParameterError, match="too strong for any noise"):
        zcdp_budget(epsilon=1e-30, delta=1e-100)


@pytest.mark.claim("P9")
def test_what_costs_far_more_than_epsilon_has_a_delta_of_one():
    assert zcdp_delta(rho=1000.0, epsilon=0.0) == 1.0


@pytest.mark.claim("P9")
def test_no_delta_is_zero_however_small():
    # Gaussian noise of this cost promises no epsilon without a delta.
    assert zcdp_delta(rho=1e-6, epsilon=100.0) > 0


@pytest.mark.claim("P9")
@given(st.floats(1e-9, 1e9), st.integers(1, 10**6))
def test_costs_are_rounded_up(size, count):
    exact = Fraction(size)
    assert zcdp_cost(Gaussian("values", size)) >= 1 / exact**2 / 2
    cost = zcdp_cost(Selection("selection", size, count))
    assert cost >= count * exact**2 / 8
    assert cost <= count * exact**2 / 8 * (1 + Fraction(1, 10**12))
    assert zcdp_cost(Pure("report", min(size, 1e6))) >= min(exact, 10**6) ** 2 / 2


def exact_delta(rho, epsilon):
    """Return δ at the best order, in 40 digits."""
    rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)

    def slope(excess):
        order = 1 + excess
        return (2 * order - 1) * rho - epsilon + mpmath.log(excess / order)

    excess = mpmath.findroot(slope, _near_the_best(float(rho), float(epsilon)))
    order = 1 + excess
    log_delta = excess * (order * rho - epsilon) + order * mpmath.log(excess / order)
    return mpmath.exp(log_delta) / excess


def _near_the_best(rho, epsilon):
    excesses = np.geomspace(1e-6, 1e9, 20_001)
    slopes = (1 + 2 * excesses) * rho - epsilon - np.log1p(1 / excesses)
    return float(excesses[np.flatnonzero(slopes > 0)[0]])


COSTS = [(rho, share * math.sqrt(rho)) for rho in (1e-6, 1e-3, 0.04, 1.0) for share in (3, 5, 8)]
COSTS += [(rho, epsilon) for rho, epsilon in ((0.02, 1.0), (0.5, 6.0), (5.0, 30.0), (40.0, 120.0))]


def too_small():
    """Return the costs for which a delta, or a budget, is on the wrong side of the truth."""
    found = []
    with mpmath.workdps(40):
        for rho, epsilon in COSTS:
            delta = zcdp_delta(rho=rho, epsilon=epsilon)
            if delta < exact_delta(rho, epsilon):
                found.append(("delta", rho, epsilon))
            if exact_delta(zcdp_budget(epsilon=epsilon, delta=delta), epsilon) > delta:
                found.append(("budget", rho, epsilon))
    return found


@pytest.mark.claim("P9")
def test_deltas_are_rounded_up_and_budgets_down_in_forty_digits():
    assert too_small() == []


@pytest.mark.claim("P9")
def test_a_delta_is_rounded_by_less_than_a_millionth():
    with mpmath.workdps(40):
        for rho, epsilon in COSTS:
            assert zcdp_delta(rho=rho, epsilon=epsilon) < exact_delta(rho, epsilon) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("_log_delta", "math.fsum(terms) + slip", "math.fsum(terms) - slip"),
        ("_log_delta", "math.fsum(terms) + slip", "math.fsum(terms) - 2.0**-50"),
        ("_log_delta", "-log_excess,", "-log_excess * (1 + 1e-12),"),
        ("_largest_rho", "return low\n", "return low * (1 + 1e-9)\n"),
    ],
)
def test_numbers_that_are_rounded_the_other_way_fail_the_same_test(monkeypatch, where, old, new):
    plant(monkeypatch, f"privacy.zcdp:{where}", old, new)
    assert too_small()


def one_gaussian(size):
    return zcdp.zcdp_cost(Gaussian("values", size)), 1 / Fraction(size) ** 2 / 2


def one_round(size):
    return zcdp.zcdp_cost(Selection("choice", size)), Fraction(size) ** 2 / 8


def one_pure(size):
    return zcdp.zcdp_cost(Pure("report", size)), Fraction(size) ** 2 / 2


def cheap_events(cost):
    """Return the sizes for which an event costs less than it should, in fractions."""
    return [size for size in (1 + k / 7 for k in range(200)) if cost(size)[0] < cost(size)[1]]


@pytest.mark.claim("P9")
@pytest.mark.parametrize("cost", [one_gaussian, one_round, one_pure])
def test_no_event_costs_less_than_it_should(cost):
    assert cheap_events(cost) == []


@pytest.mark.parametrize(
    ("cost", "where"),
    [(one_gaussian, "zcdp_cost"), (one_round, "_selection_cost"), (one_pure, "zcdp_cost")],
)
def test_a_cost_that_is_not_rounded_up_fails_the_same_test(monkeypatch, cost, where):
    plant(monkeypatch, f"privacy.zcdp:{where}", " * _UP", "")
    assert cheap_events(cost)
