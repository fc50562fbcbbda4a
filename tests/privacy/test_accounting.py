"""Claim P21: what events cost together, whoever made them."""

import logging
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import (
    Approximate,
    Concentrated,
    Gaussian,
    Pure,
    PureDP,
    Selection,
    accounting,
    adaptive,
    events_delta,
    events_epsilon,
    gaussian_delta,
)
from dpcov.privacy.accounting import event_shares, events_rho
from dpcov.privacy.counting import Counting, counted_cost
from dpcov.privacy.zcdp import zcdp_delta
from wiring import account
from wiring.planting import plant

pytestmark = pytest.mark.claim("P21")

GAUSSIANS = [Gaussian("first", 4.0), Gaussian("second", 7.0)]
CASES = {
    "Gaussians": (GAUSSIANS, 0.8),
    "two ranges": ([*GAUSSIANS, Selection("a", 0.3), Selection("b", 0.05, 2)], 1.0),
    "a wide and a tiny range": (
        [Gaussian("g", 6.0), Selection("a", 1.0), Selection("b", 1e-3)],
        1.2,
    ),
    "selections alone": ([Selection("a", 0.4, 3), Selection("b", 0.2)], 0.5),
    "many rounds": ([Gaussian("g", 5.0), Selection("a", 0.03, 200)], 1.0),
    "pure alone": ([Pure("a", 0.3), Pure("b", 0.5), Pure("c", 0.5)], 0.9),
    "many pure ones": ([Pure("a", 0.1)] * 50, 2.0),
    "pure and a Gaussian": ([Gaussian("g", 6.0), Pure("a", 0.3)], 0.9),
    "a large pure one": ([Gaussian("g", 6.0), Pure("a", 3.0), Selection("s", 0.05)], 3.3),
    "exceptions": ([Gaussian("g", 6.0), Approximate("a", 0.2, 1e-4)], 0.8),
    "all kinds": (
        [
            *GAUSSIANS,
            Selection("s", 0.1, 2),
            Pure("p", 0.2),
            Approximate("a", 0.1, 1e-5),
            Approximate("b", 0.3, 1e-6),
        ],
        1.3,
    ),
}


@pytest.fixture(autouse=True)
def _nothing_remembered():
    adaptive._losses.cache_clear()
    yield
    adaptive._losses.cache_clear()


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.ERROR)  # dp-accounting tells which algorithm it uses


def two_points(high, width, interval):
    """Return the loss distribution of a mechanism with the losses `high` and `high` − `width`."""
    low = math.exp(high - width)
    second = (1 - low) / (math.exp(high) - low)
    q = np.array([second, 1 - second])
    p = q * np.exp([high, high - width])

    def losses(first, other):
        masses = {}
        for a, b in zip(first, other, strict=True):
            place = math.floor(math.log(a / b) / interval + 1e-9)  # toward less loss
            masses[place] = masses.get(place, 0.0) + a
        return pld_pmf.SparsePLDPmf(masses, interval, 0.0, False)

    return pld.PrivacyLossDistribution(losses(p, q), losses(q, p))


def true_delta(events, epsilon, interval=5e-4):
    """Return no more than some mechanisms with these events leak, by dp-accounting."""
    total, safe = None, 1.0
    for event in events:
        if isinstance(event, Gaussian):
            part = pld.from_gaussian_mechanism(
                event.multiplier,
                pessimistic_estimate=False,
                value_discretization_interval=interval,
                use_connect_dots=False,
            )
        elif isinstance(event, Selection):
            part = two_points(event.range / 2, event.range, interval).self_compose(event.count)
        else:
            part = two_points(event.epsilon, 2 * event.epsilon, interval)
            safe *= 1 - getattr(event, "delta", 0.0)
        total = part if total is None else total.compose(part)
    return 1 - safe + safe * total.get_delta_for_epsilon(epsilon)


def too_cheap():
    """Return the cases in which less is charged than mechanisms leak."""
    return [
        name
        for name, (events, epsilon) in CASES.items()
        if accounting.events_delta(events, epsilon=epsilon)
        < true_delta(events, epsilon) * (1 - 1e-9)
    ]


def test_no_list_of_events_leaks_more_than_it_is_charged():
    assert too_cheap() == []


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("accounting:_joint", "_DOWN /", "1.1 /"),
        (
            "accounting:_joint",
            "math.sqrt(math.fsum((1 / each) ** 2 for",
            "math.sqrt(max((1 / each) ** 2 for",
        ),
        ("accounting:_bounds", "_rounded_down(Fraction(epsilon) - everything)", "epsilon"),
        ("accounting:_bounds", "sum(map(Fraction, parts.pure))", "max(map(Fraction, parts.pure))"),
        ("accounting:_sorted", "exceptions=rounded_up(sum(deltas, Fraction(0)))", "exceptions=0.0"),
        ("accounting:_together", "for _ in range(each.count)", ""),
        ("adaptive:_losses", "for size in pure:", "for size in ():"),
        ("adaptive:_pure_pieces", "mass * math.exp(-loss)", "mass"),
        ("adaptive:_selection_pieces", "max(low, -size), min(high, size)", "max(low, -size), 0.0"),
        ("zcdp:_selection_cost", "count * width**2", "width**2"),
        ("zcdp:zcdp_cost", "event.epsilon**2 / 2", "event.epsilon**2 / 8"),
    ],
)
def test_an_account_that_forgets_something_fails_the_same_test(monkeypatch, where, old, new):
    plant(monkeypatch, f"privacy.{where}", old, new)
    assert too_cheap()


def test_gaussians_alone_are_exact():
    joint = 1 / math.sqrt(1 / 16 + 1 / 49)
    ours = events_delta(GAUSSIANS, epsilon=0.8)
    assert ours == pytest.approx(gaussian_delta(epsilon=0.8, scale=joint), rel=1e-12)
    assert events_delta(GAUSSIANS[:1], epsilon=0.8) == gaussian_delta(epsilon=0.8, scale=4.0)


@pytest.mark.parametrize("ranges", [(0.3,), (0.3, 0.05), (0.4, 0.4, 0.1)])
def test_a_few_selections_are_nearly_exact(ranges):
    events = [*GAUSSIANS, *(Selection("s", width) for width in ranges)]
    exact = account.exact_delta(1.0, math.sqrt(1 / 16 + 1 / 49), ranges)
    assert exact < events_delta(events, epsilon=1.0) < exact * 1.01


def test_many_rounds_cost_what_zcdp_says():
    events, epsilon = CASES["many rounds"]
    assert events_delta(events, epsilon=epsilon) == zcdp_delta(
        rho=events_rho(events), epsilon=epsilon
    )


@pytest.mark.parametrize(
    "others",
    [
        [Gaussian("g", 5.0)],
        [Selection("s", 0.1)],
        [Selection("s", 0.1, 40)],
        [*GAUSSIANS, Selection("s", 0.1)],
    ],
)
def test_beside_a_part_that_is_known_by_its_rho_there_is_only_zcdp(others):
    events = [*others, Concentrated("tables of another tool", 0.02)]
    assert events_delta(events, epsilon=1.0) == zcdp_delta(rho=events_rho(events), epsilon=1.0)


def test_thirty_two_rounds_cost_less_than_zcdp_says():
    events = [Gaussian("g", 5.0), Selection("s", 0.05, 32)]
    by_rho = zcdp_delta(rho=events_rho(events), epsilon=1.0)
    assert events_delta(events, epsilon=1.0) < 0.6 * by_rho


def test_a_range_of_fifty_costs_less_than_zcdp_says():
    events = [Selection("s", 50.0)]
    assert zcdp_delta(rho=events_rho(events), epsilon=45.0) == 1.0
    assert events_delta(events, epsilon=45.0) < 0.9


def test_choices_alone_cost_their_ranges_and_no_delta():
    assert events_delta([Selection("a", 0.25, 2), Selection("b", 0.5)], epsilon=1.0) == 0.0


def test_a_pure_part_whose_square_is_zero_costs_what_it_must():
    # The least delta at ε = 0 is tanh(1e-200 / 2).
    assert 5e-201 <= events_delta([Pure("p", 1e-200)], epsilon=0.0) < 5.001e-201


def test_where_no_bound_is_known_delta_is_one():
    # Too many for the exact bound, too small for zCDP, and nothing left of epsilon.
    assert events_delta([Pure("p", 1e-200)] * 33, epsilon=0.0) == 1.0


def test_a_large_pure_part_is_taken_off_epsilon():
    events, _ = CASES["a large pure one"]
    rest = [event for event in events if not isinstance(event, Pure)]
    assert events_delta(events, epsilon=4.0) <= events_delta(rest, epsilon=1.0)


def test_pure_parts_alone_cost_their_sum_and_no_delta():
    events = [Pure("a", 0.3), Pure("b", 0.5)]
    whole = math.fsum([0.3, 0.5])
    assert events_delta(events, epsilon=whole) == 0.0
    assert events_delta(events, epsilon=whole * (1 - 1e-9)) > 0.0


def test_a_selection_too_wide_for_the_exact_bound_is_accounted_for():
    events = [Gaussian("g", 6.0), Selection("s", 60.0)]
    apart = 60.0 + events_epsilon(events[:1], delta=1e-6)
    assert events_epsilon(events, delta=1e-6) <= apart * (1 + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_no_event_makes_others_cheaper(name):
    events, epsilon = CASES[name]
    whole = events_delta(events, epsilon=epsilon)
    for place in range(len(events)):
        rest = events[:place] + events[place + 1 :]
        assert not rest or events_delta(rest, epsilon=epsilon) <= whole * (1 + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_events_does_not_matter(name):
    events, epsilon = CASES[name]
    assert events_delta(events[::-1], epsilon=epsilon) == pytest.approx(
        events_delta(events, epsilon=epsilon), rel=1e-12
    )


some = st.one_of(
    st.builds(Gaussian, st.just("g"), st.floats(0.5, 50)),
    st.builds(Selection, st.just("s"), st.floats(1e-3, 2), st.sampled_from([1, 2, 100])),
    st.builds(Pure, st.just("p"), st.floats(1e-3, 2)),
    st.builds(Approximate, st.just("a"), st.floats(1e-3, 2), st.floats(1e-12, 1e-4)),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(some, min_size=1, max_size=4), st.floats(-8, -2.5))
def test_the_epsilon_pays_and_a_smaller_one_does_not(events, log_delta):
    delta = 10**log_delta
    exceptions = sum(event.delta for event in events if isinstance(event, Approximate))
    if exceptions > delta:
        with pytest.raises(ParameterError, match="delta must be no less"):
            events_epsilon(events, delta=delta)
        return
    epsilon = events_epsilon(events, delta=delta)
    assert events_delta(events, epsilon=epsilon) <= delta
    assert epsilon == 0 or events_delta(events, epsilon=epsilon * (1 - 1e-9)) > delta


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=8))
def test_a_joint_multiplier_is_rounded_down(multipliers):
    exact = 1 / sum(1 / Fraction(each) ** 2 for each in multipliers)  # its square
    joint = Fraction(accounting._joint(multipliers))
    assert exact * (1 - Fraction(1, 10**14)) < joint**2 <= exact


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8), st.floats(1e-3, 10))
def test_costs_together_are_rounded_up_and_hardly_so(multipliers, epsilon):
    events = [*(Gaussian("g", each) for each in multipliers), Pure("p", epsilon)]
    exact = sum(counted_cost(Counting.ZCDP, event) for event in events)
    assert exact <= Fraction(events_rho(events)) <= exact * (1 + Fraction(1, 2**44))


@given(st.lists(st.floats(1e-12, 1e-2), min_size=1, max_size=5))
def test_exceptions_are_added_up_and_rounded_up(deltas):
    events = [Gaussian("g", 6.0), *(Approximate("a", 0.1, delta) for delta in deltas)]
    without = events_delta([Gaussian("g", 6.0), *[Pure("a", 0.1)] * len(deltas)], epsilon=0.8)
    exact = Fraction(without) + sum(map(Fraction, deltas))
    assert exact <= Fraction(events_delta(events, epsilon=0.8)) <= exact * (1 + Fraction(1, 2**44))


def test_exceptions_that_add_up_to_more_than_one_make_a_delta_of_one():
    assert events_delta([Approximate("a", 0.1, 0.9)] * 2, epsilon=1.0) == 1.0


def test_what_is_left_of_epsilon_is_rounded_down_and_hardly_so():
    for part in range(1, 60):
        exact = Fraction(part, 61)  # every second one is nearer to the float above it
        left = accounting._rounded_down(exact)
        assert Fraction(left) <= exact < Fraction(math.nextafter(left, 1.0))


def test_shares_are_those_of_the_costs_and_add_up():
    shares = event_shares([Gaussian("a", 10.0), Gaussian("b", 5.0), Selection("c", 0.2, 3)])
    assert shares == pytest.approx([0.125, 0.5, 0.375])


@pytest.mark.parametrize("events", [[], [None], ["moments"], [{"kind": "gaussian"}]])
def test_what_is_no_list_of_events_is_refused(events):
    with pytest.raises(ParameterError, match="nothing but events"):
        events_delta(events, epsilon=1.0)


@pytest.mark.parametrize("epsilon", [-1.0, 2e6, math.nan, "1"])
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon must"):
        events_delta(GAUSSIANS, epsilon=epsilon)


def test_the_largest_epsilon_has_a_delta():
    assert events_delta(GAUSSIANS, epsilon=1e6) == 1e-300


def test_a_promise_among_events_is_refused():
    # It has an epsilon, and would be left out by the bounds that look for kinds of events.
    with pytest.raises(ParameterError, match="nothing but events"):
        events_delta([*GAUSSIANS, PureDP(1.0, "replace")], epsilon=1.0)


def test_what_delta_alone_pays_for_costs_no_epsilon():
    assert events_epsilon([Gaussian("g", 100.0)], delta=0.1) == 0.0
