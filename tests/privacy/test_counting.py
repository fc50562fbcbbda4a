"""What an account may rely on when budgets are chosen after answers."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import (
    Approximate,
    Concentrated,
    Gaussian,
    Pure,
    Selection,
    compose,
    events_delta,
    events_epsilon,
    gaussian_delta,
    gaussian_scale,
)
from dpcov.privacy.counting import (
    Counting,
    counted_budget,
    counted_cost,
    counted_epsilon,
    counting_for,
    stated_delta,
)
from dpcov.privacy.zcdp import zcdp_delta

BOTH = list(Counting)
epsilons = st.floats(1e-6, 50.0)


def distance(event):
    return math.sqrt(counted_cost(Counting.GAUSSIAN, event))


@pytest.mark.claim("P40")
@given(epsilons, st.floats(0.0, 60.0))
def test_a_gaussian_tells_what_a_pure_promise_does_at_every_epsilon(epsilon, at):
    mpmath.mp.dps = 50
    pure = max(mpmath.mpf(0), (mpmath.exp(epsilon) - mpmath.exp(at)) / (1 + mpmath.exp(epsilon)))
    mu = mpmath.mpf(distance(Pure("report", epsilon)))
    noise = mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)
    assert noise >= pure


@pytest.mark.claim("P40")
@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 1.0001e-4, 499.0, 500.0, 1e3, 1e5, 1e6])
def test_a_distance_is_enough_for_the_smallest_and_largest_promises(epsilon):
    with mpmath.workdps(60):
        mu = mpmath.mpf(distance(Pure("report", epsilon)))
        assert mpmath.ncdf(-mu / 2) <= 1 / (1 + mpmath.exp(epsilon))


@pytest.mark.claim("P40")
@given(epsilons)
def test_a_smaller_distance_would_tell_less_than_a_pure_promise(epsilon):
    mpmath.mp.dps = 50
    mu = mpmath.mpf(distance(Pure("report", epsilon))) * (1 - mpmath.mpf("1e-3"))
    if epsilon < 40:
        assert mpmath.ncdf(-mu / 2) > 1 / (1 + mpmath.exp(epsilon))


@pytest.mark.claim("P40")
@pytest.mark.parametrize("epsilon", [500.0, 1e3, 1e5, 1e6])
def test_a_distance_is_hardly_larger_than_the_largest_promises_need(epsilon):
    with mpmath.workdps(60):
        mu = mpmath.mpf(distance(Pure("report", epsilon))) * (1 - mpmath.mpf("5e-3"))
        assert mpmath.ncdf(-mu / 2) > 1 / (1 + mpmath.exp(epsilon))


@pytest.mark.claim("P40")
@pytest.mark.parametrize("epsilon", [1e-5, 1e-9, 1e-20, 1e-140])
def test_a_small_promise_costs_hardly_more_than_by_the_slope_at_zero(epsilon):
    cost = counted_cost(Counting.GAUSSIAN, Pure("report", epsilon))
    assert 1 <= cost / (Fraction(math.pi / 2) * Fraction(epsilon) ** 2) <= 1 + Fraction(1, 10**11)


@pytest.mark.claim("P40")
@pytest.mark.parametrize("bits", [1, 2, 3, 5, 9])
def test_a_distance_is_enough_for_promises_of_hardly_a_bit(bits):
    epsilon = bits * 5e-324  # floats here have no digits left to round up
    cost = counted_cost(Counting.GAUSSIAN, Pure("report", epsilon))
    assert cost >= Fraction(math.pi / 2) * Fraction(epsilon) ** 2


@pytest.mark.claim("P40")
@given(st.floats(1e-3, 20.0), st.floats(0.001, 0.999))
def test_a_gaussian_tells_what_any_choice_of_that_range_does(width, share):
    """The two-point laws with losses t and t − η are all that a bounded range allows."""
    mpmath.mp.dps = 50
    t = mpmath.mpf(share) * width
    q = (1 - mpmath.exp(t - width)) / (mpmath.exp(t) - mpmath.exp(t - width))
    p = mpmath.exp(t) * q
    mu = distance(Selection("selection", width))
    # At the corner of its trade-off, and so, by convexity, everywhere.
    assert mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * q) - mu) <= 1 - p


@pytest.mark.claim("P40")
@pytest.mark.parametrize("width", [2e3, 2e6, 2e15, 2e30, 1e100])
def test_a_distance_is_enough_for_choices_of_the_largest_ranges(width):
    with mpmath.workdps(60):
        mu = mpmath.mpf(distance(Selection("selection", width)))
        assert mpmath.ncdf(-mu / 2) <= 1 / (1 + mpmath.exp(mpmath.mpf(width) / 2))


@pytest.mark.claim("P40")
@pytest.mark.parametrize("width", [1e-9, 0.02, 1.0, 30.0, 2e3])
def test_choices_cost_no_more_than_pure_promises_of_half_their_range(width):
    choices = counted_cost(Counting.GAUSSIAN, Selection("selection", width, 7))
    assert choices == 7 * counted_cost(Counting.GAUSSIAN, Pure("report", width / 2))


@pytest.mark.claim("P40")
def test_the_largest_distance_of_choices_is_in_the_middle():
    mpmath.mp.dps = 30

    def probit(share):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * share - 1)

    for width in (0.01, 0.5, 3.0, 10.0):
        found = [
            probit(1 / (1 + mpmath.exp(-x - width))) - probit(1 / (1 + mpmath.exp(-x)))
            for x in mpmath.linspace(-width - 5, 5, 101)
        ]
        assert max(found) <= distance(Selection("selection", width))


@pytest.mark.claim("P40")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_release_of_moments_uses_up_its_own_promise_and_no_more(epsilon):
    event = Gaussian("moments", gaussian_scale(epsilon=epsilon, delta=1e-6))
    budget = counted_budget(Counting.GAUSSIAN, epsilon=epsilon, delta=1e-6)
    assert counted_cost(Counting.GAUSSIAN, event) == budget
    assert counted_epsilon(Counting.GAUSSIAN, budget, delta=1e-6) == epsilon


@pytest.mark.claim("P40")
@pytest.mark.parametrize("counting", BOTH)
@pytest.mark.parametrize("epsilon", [0.003, 0.1, 1.0, 7.0])
def test_a_whole_budget_costs_its_epsilon_and_hardly_more(counting, epsilon):
    budget = counted_budget(counting, epsilon=epsilon, delta=1e-6)
    found = counted_epsilon(counting, budget, delta=1e-6)
    assert found == pytest.approx(epsilon, rel=1e-14)


@pytest.mark.claim("P40")
@pytest.mark.parametrize("parts", range(1, 9))
def test_no_sum_is_said_to_cost_less_than_it_does(parts):
    cost = Fraction(parts, 97)  # whose epsilon is no round number
    noise = counted_epsilon(Counting.GAUSSIAN, cost, delta=1e-6)
    assert gaussian_delta(epsilon=noise, scale=1 / math.sqrt(cost)) <= 1e-6
    rho = counted_epsilon(Counting.ZCDP, cost, delta=1e-6)
    assert zcdp_delta(rho=float(cost), epsilon=rho) <= 1e-6 * (1 + 1e-14)


@pytest.mark.claim("P40")
@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(1.0, 50.0), min_size=1, max_size=6))
def test_gaussian_noise_costs_what_the_exact_accountant_says(multipliers):
    events = [Gaussian("moments", each) for each in multipliers]
    cost = sum((counted_cost(Counting.GAUSSIAN, event) for event in events), Fraction(0))
    counted = counted_epsilon(Counting.GAUSSIAN, cost, delta=1e-6)
    exact = events_epsilon(events, delta=1e-6)
    assert exact * (1 - 1e-9) <= counted <= exact * (1 + 1e-9) + 1e-9


@pytest.mark.claim("P40")
@settings(deadline=None, max_examples=30)
@given(st.floats(0.01, 3.0), st.floats(1e-9, 1e-3))
def test_a_budget_is_within_its_promise(epsilon, delta):
    gaussian = counted_budget(Counting.GAUSSIAN, epsilon=epsilon, delta=delta)
    assert gaussian_delta(epsilon=epsilon, scale=1 / math.sqrt(gaussian)) <= delta * (1 + 1e-9)
    rho = counted_budget(Counting.ZCDP, epsilon=epsilon, delta=delta)
    noise = Gaussian("all", 1 / math.sqrt(2 * rho))
    assert events_delta([noise], epsilon=epsilon) <= delta


@pytest.mark.claim("P40")
@pytest.mark.parametrize("counting", BOTH)
@pytest.mark.parametrize(
    "event",
    [
        Gaussian("moments", 5.0),
        Selection("selection", 0.02, 100),
        Pure("report", 0.7),
        Approximate("counts", 0.7, 1e-9),
    ],
)
def test_no_event_costs_less_than_accounting_says(counting, event):
    cost = counted_cost(counting, event)
    assert counted_epsilon(counting, cost, delta=1e-5) >= (
        events_epsilon([event], delta=1e-5 + 1e-9) * (1 - 1e-9)
    )


@pytest.mark.parametrize("counting", BOTH)
def test_nothing_is_so_small_that_it_costs_nothing(counting):
    for event in (Gaussian("a", 1e100), Selection("b", 1e-99), Pure("c", 1e-300)):
        assert counted_cost(counting, event) > 0


@pytest.mark.parametrize("counting", BOTH)
def test_more_cost_is_a_larger_epsilon(counting):
    costs = [Fraction(k, 100) for k in range(1, 12)]
    found = [counted_epsilon(counting, cost, delta=1e-6) for cost in costs]
    assert found == sorted(found)
    assert counted_epsilon(counting, Fraction(0), delta=1e-6) == 0.0


def test_a_rho_is_no_distance_of_noise():
    with pytest.raises(ParameterError, match="multiplier"):
        counted_cost(Counting.GAUSSIAN, Concentrated("tables", 0.1))
    assert counted_cost(Counting.ZCDP, Concentrated("tables", 0.5)) == Fraction(1, 2)


def test_what_decides_how_costs_are_counted():
    assert counting_for([Gaussian("moments", 4.0)]) is Counting.GAUSSIAN
    assert counting_for([Selection("a", 0.1), Gaussian("b", 4.0)]) is Counting.ZCDP


def test_stated_deltas_add_up_exactly():
    parts = [Approximate("a", 1.0, 0.1)] * 3
    assert stated_delta(parts) == 3 * Fraction(0.1)


@pytest.mark.claim("P21")
def test_a_rho_composes_by_zcdp_alone():
    both = [Concentrated("tables", 0.02), Gaussian("moments", 5.0)]
    alone = compose(*both, delta=1e-6, neighbors="replace").epsilon
    exact = compose(*[Gaussian("moments", 5.0)] * 2, delta=1e-6, neighbors="replace").epsilon
    assert exact < alone < 1.2 * exact


@pytest.mark.claim("P21")
def test_a_rho_has_no_pure_promise():
    with pytest.raises(ParameterError, match="delta must be stated"):
        compose(Concentrated("tables", 0.02), neighbors="replace")
