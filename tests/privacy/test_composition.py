"""Claim P9: what steps cost, and how costs become a promise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import composition, gaussian_delta
from dpcov.privacy.composition import (
    Step,
    gaussian_step,
    selection_step,
    zcdp_budget,
    zcdp_delta,
)

PROMISES = [(0.01, 1e-5), (0.1, 1e-6), (1.0, 1e-5), (1.0, 0.3), (4.0, 1e-9), (10.0, 1e-3)]


@pytest.mark.claim("P9")
@given(st.floats(1e-3, 50), st.floats(1e-30, 0.5))
def test_the_budget_is_never_beyond_the_promise_and_nearly_all_of_it(epsilon, delta):
    rho = zcdp_budget(epsilon=epsilon, delta=delta)
    assert composition._log_delta(rho, epsilon) <= math.log(delta)
    assert zcdp_delta(rho=rho * (1 + 1e-6), epsilon=epsilon) > delta


@pytest.mark.claim("P9")
@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_opendp_agrees_with_the_conversion(epsilon, delta):
    dp = pytest.importorskip("opendp.prelude")
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
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (
        order - 1
    )


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
    cost = selection_step("", count=1, sensitivity=2, scale=scale).rho
    divergence = renyi(exponential(before, scale), exponential(after, scale), order)
    assert divergence <= cost * order * (1 + 1e-9)


def test_half_the_cost_of_a_selection_would_be_too_little():
    scale, order = 20.0, 1.5
    cost = selection_step("", count=1, sensitivity=2, scale=scale).rho / 2
    before, after = exponential([10, 10], scale), exponential([12, 8], scale)
    assert renyi(before, after, order) > cost * order


def test_a_gaussian_step_costs_half_the_squared_ratio():
    assert gaussian_step("", sensitivity=3.0, scale=6.0).rho == pytest.approx(0.125, rel=1e-9)
    assert gaussian_step("", sensitivity=3.0, scale=6.0).rho >= 0.125


def test_opendp_charges_the_same_for_a_selection():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    for count, sensitivity in ((1, 2), (10, 1), (200, 2)):
        theirs = dp.m.make_noisy_top_k(
            dp.vector_domain(dp.atom_domain(T="i32")),
            dp.linf_distance(T="i32"),
            dp.zero_concentrated_divergence(),
            k=count,
            scale=37.5,
        ).map(sensitivity)
        ours = selection_step("", count=count, sensitivity=sensitivity, scale=37.5).rho
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("function", "keywords"),
    [
        (zcdp_budget, {"epsilon": 0, "delta": 1e-6}),
        (zcdp_budget, {"epsilon": 1, "delta": 0}),
        (zcdp_budget, {"epsilon": 1, "delta": 1}),
        (zcdp_delta, {"rho": 0, "epsilon": 1}),
        (Step, {"name": 3, "rho": 1.0}),
        (Step, {"name": "values", "rho": -1.0}),
    ],
)
def test_impossible_numbers_are_refused(function, keywords):
    with pytest.raises(ParameterError):
        function(**keywords)


@pytest.mark.claim("P9")
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 10**6))
def test_costs_are_rounded_up(sensitivity, scale, count):
    ratio = Fraction(sensitivity) / Fraction(scale)
    assert gaussian_step("", sensitivity=sensitivity, scale=scale).rho >= ratio**2 / 2
    step = selection_step("", count=count, sensitivity=sensitivity, scale=scale)
    assert step.rho >= count * (2 * ratio) ** 2 / 8
    assert step.rho <= count * (2 * ratio) ** 2 / 8 * (1 + Fraction(1, 10**12))
