"""The budget of learning."""

import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designs import numbers
from dpcov.columns import Column
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import ParameterError
from dpcov.mechanisms.learning.budget import (
    MOMENTS,
    _weights,
    default_shares,
    split_budget,
    steps_needed,
)
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.stated import Stated
from dpcov.privacy import ApproxDP, events_delta, gaussian_scale
from dpcov.releases.learned import tails_are_blurred

PROMISE = ApproxDP(1.0, 1e-6, "replace")


def facts(**some):
    plain = Stated.nothing(2)
    names = ("lower", "upper", "center", "scale")
    stated = {name: some.get(name, getattr(plain, name)) for name in names}
    return Stated(**stated, design=some.get("design", plain.design))


@pytest.mark.claim("P23")
@given(
    st.floats(0.05, 10),
    st.floats(1e-12, 1e-3),
    st.fixed_dictionaries(
        {}, optional={step: st.floats(1e-5, 0.1) for step in default_shares(0.04, 0.01)}
    ),
)
def test_all_steps_together_pay_for_the_promise_and_hardly_less(epsilon, delta, shares):
    promise = ApproxDP(epsilon, delta, "replace")
    budget = split_budget(promise, Stated.nothing(3), shares=shares)
    whole = Fraction(gaussian_scale(epsilon=epsilon, delta=delta))
    spent = sum(1 / Fraction(multiplier) ** 2 for multiplier in budget.multipliers.values())
    assert (1 - Fraction(1, 10**12)) / whole**2 <= spent <= 1 / whole**2
    events = [*budget.events, budget.event(MOMENTS)]
    assert events_delta(events, epsilon=epsilon) <= delta * (1 + 1e-9)


LENGTHS = ["radius", "clipping", MOMENTS]


def test_only_steps_that_are_needed_cost_anything():
    all_steps = ["range", "center", "limit", "mean", "scale", "beyond", *LENGTHS]
    assert steps_needed(facts()) == all_steps
    # Bounds that a person states are wide: ranges within them are learned, too.
    assert steps_needed(facts(lower=np.zeros(2), upper=np.ones(2))) == all_steps
    known = facts(center=np.zeros(2), scale=np.ones(2))
    assert steps_needed(known) == ["beyond", *LENGTHS]
    assert steps_needed(facts(center=np.zeros(2))) == [
        "range", "limit", "scale", "beyond", *LENGTHS,
    ]  # fmt: skip
    assert steps_needed(facts(scale=np.ones(2))) == [
        "range", "center", "limit", "mean", "beyond", *LENGTHS,
    ]  # fmt: skip
    most = split_budget(PROMISE, facts()).multipliers[MOMENTS]
    some = split_budget(PROMISE, known).multipliers[MOMENTS]
    assert some < most


def test_narrow_bounds_are_those_of_answers():
    lower, upper = np.array([0, 1, 0, 0, 0.5, -np.inf]), np.array([1, 11, 12, 1.5, 1, np.inf])
    unknown = np.full(6, np.nan)
    stated = Stated(lower=lower, upper=upper, center=unknown, scale=unknown, design=numbers(6))
    assert stated.is_narrow.tolist() == [True, True, False, False, False, False]
    assert stated.with_limit_sought.all()
    assert stated.trusting_narrow().with_limit_sought.tolist() == [False, False, *[True] * 4]


def test_no_limit_is_sought_where_all_bounds_are_trusted():
    answers = facts(lower=np.zeros(2), upper=np.ones(2)).trusting_narrow()
    assert steps_needed(answers) == ["center", "mean", "scale", "beyond", *LENGTHS]


def test_tails_are_blurred_by_few_rows_many_columns_and_strong_promises():
    plain = {"n_rows": 10_000, "n_columns": 12}
    assert not tails_are_blurred(PROMISE, **plain)
    for other in ({"n_rows": 1_000}, {"n_columns": 200}, {"rows_per_unit": 5}):
        assert tails_are_blurred(PROMISE, **plain | other)
    assert tails_are_blurred(ApproxDP(0.1, 1e-6, "replace"), **plain)


def test_a_stated_share_changes_that_step_and_the_moments():
    plain = split_budget(PROMISE, facts()).multipliers
    own = split_budget(PROMISE, facts(), shares={"center": 0.24}).multipliers
    assert own["center"] == pytest.approx(plain["center"] / 2)
    assert own[MOMENTS] > plain[MOMENTS]
    assert {step for step in own if own[step] == plain[step]} == set(own) - {"center", MOMENTS}


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"trace": 0.1}, "mapping whose keys are among weights, observed"),
        ({"moments": 0.5}, "mapping whose keys are among weights, observed"),
        ([0.1], "mapping whose keys are among weights, observed"),
        ({"center": 0.0}, "share of center"),
        ({"clipping": 0.0}, "share of clipping"),
        ({"center": True}, "share of center"),
        ({"center": 0.5, "limit": 0.4}, "must leave 0.1"),
    ],
)
def test_impossible_shares_are_refused(shares, message):
    with pytest.raises(ParameterError, match=message):
        split_budget(PROMISE, facts(), shares=shares)


@pytest.mark.claim("P23")
def test_shares_of_all_steps_are_never_more_than_the_whole():
    steps = ["range", "center", "limit", "radius", MOMENTS]
    defaults = default_shares(0.04, 0.01)
    tried = np.random.default_rng(0).uniform(1e-3, 0.2, size=(500, 4)).tolist()
    for own in tried:
        shares = dict(zip(steps, own, strict=False))
        found = _weights(steps, defaults, shares)
        assert 1 - Fraction(1, 2**49) < sum(map(Fraction, found.values())) <= 1
        assert shares.items() <= found.items()


@pytest.mark.parametrize("others", [0.9, math.nextafter(0.9, 1)])
def test_shares_that_leave_as_much_as_they_must_are_taken(others):
    steps, defaults = ["radius", MOMENTS], default_shares(0.04, 0.01)
    assert _weights(steps, defaults, {"radius": others})[MOMENTS] == pytest.approx(0.1)
    with pytest.raises(ParameterError, match=r"leave 0\.1 of the budget.*must leave 0\.1\."):
        _weights(steps, defaults, {"radius": others + 1e-9})


def test_noise_without_room_is_refused_before_a_row_is_read():
    tiny = ApproxDP(1e-6, 1e-300, "replace")
    with pytest.raises(ParameterError, match="beyond 64-bit"):
        split_budget(tiny, Stated.nothing(1000), rows_per_unit=10**6)


@pytest.mark.claim("P27")
def test_noise_of_weights_without_room_is_refused_before_a_row_is_read():
    """A weight stands for a larger number than a cell does."""
    strong, plain = ApproxDP(1e-5, 1e-6, "replace"), Stated.nothing(1)
    split_budget(strong, plain, rows_per_unit=10**6)
    with pytest.raises(ParameterError, match="beyond 64-bit"):
        split_budget(strong, replace(plain, weight_bound=1.0), rows_per_unit=10**6)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"lower": np.ones(2), "upper": np.ones(2)}, "lower must be below"),
        ({"lower": np.full(2, np.nan)}, "lower must be below"),
        ({"center": np.array([np.inf, 0.0])}, "finite"),
        ({"scale": np.array([0.0, 1.0])}, "positive"),
        ({"scale": np.array([-1.0, 1.0])}, "positive"),
        ({"scale": np.array([1.0])}, "one number"),
        ({"lower": np.zeros(2), "center": np.array([-1.0, 1.0])}, "within the bounds"),
        ({"upper": np.array([1e200, 1.0])}, "at most"),
        ({"upper": np.array([1e-250, 1.0])}, "zero or at least"),
        ({"lower": np.array([-1e-250, 1.0])}, "zero or at least"),
        ({"center": np.array([5e-324, 1.0])}, "zero or at least"),
        ({"scale": np.array([1e-101, 1.0])}, "at least"),
    ],
)
def test_impossible_facts_are_refused(bad, message):
    with pytest.raises(ParameterError, match=message):
        facts(**bad)


def test_all_that_a_column_may_state_is_taken():
    wide = Column("a", lower=-1e100, upper=1e100, center=1e-100, scale=1e-100)
    low, high = (Column("b", lower=0, upper=1e-100, center=end) for end in (0, 1e-100))
    stated = Stated.of([wide, low, high], numbers(3))
    assert stated.upper.tolist() == [1e100, 1e-100, 1e-100]
    assert stated.center.tolist() == [1e-100, 0.0, 1e-100]


@pytest.mark.parametrize(
    ("lower", "upper", "origin"),
    [(0.5, 3.0, 0.5), (-3.0, -0.5, -0.5), (-0.9, -0.5, -0.5), (-3.0, 0.5, 0.0), (-0.5, 3.0, 0.0)],
)
def test_the_ruler_is_about_the_bound_nearest_to_zero_however_near_it_is(lower, upper, origin):
    stated = facts(lower=np.full(2, lower), upper=np.full(2, upper))
    assert stated.ruler().origin.tolist() == [origin, origin]


def test_the_ruler_is_about_what_is_stated():
    lower, upper = np.array([1000.0, -np.inf, -5.0, -np.inf]), np.array([3000.0, -8.0, 9.0, np.inf])
    center, scale = np.full(4, np.nan), np.full(4, np.nan)
    center[3], scale[3] = 70.0, 1e-9
    design = numbers(4)
    ruler = Stated(lower=lower, upper=upper, center=center, scale=scale, design=design).ruler()
    assert ruler.origin.tolist() == [1000.0, -8.0, 0.0, 70.0]
    assert ruler.top.tolist() == [11, 40, 4, math.frexp(1e-9)[1] + 20]


@pytest.mark.claim("P20")
def test_a_budget_is_for_one_row_of_a_person_unless_more_are_stated():
    budget = split_budget(PROMISE, facts())
    assert budget.rows_per_unit == 1
    one = Payment(multiplier=2.0)
    assert one == Payment(multiplier=2.0, rows_per_unit=1)
    for rows in (1, 3):
        paid = split_budget(PROMISE, facts(), rows_per_unit=rows).payment("radius")
        assert paid == Payment(multiplier=budget.multipliers["radius"], rows_per_unit=rows)


@pytest.mark.claim("P23")
def test_one_column_takes_all_steps_and_none_but_a_category_takes_few():
    plain = ["range", "center", "limit", "mean", "scale", "beyond", *LENGTHS]
    assert steps_needed(Stated.nothing(1)) == plain
    category = Field("a", ("y", "z"), may_be_missing=False)
    assert steps_needed(Stated.of([None], Design((category,)))) == ["levels", *LENGTHS]
    gaps = Design((Field("a", ("y", "z")),))
    assert steps_needed(Stated.of([None], gaps, 2.0)) == ["weights", "observed", "levels", *LENGTHS]


@pytest.mark.parametrize("name", ["lower", "upper", "center", "scale"])
def test_what_is_stated_cannot_be_changed_later(name):
    mine = np.full(2, 0.5)
    stated = facts(**{name: mine})
    mine[0] = 7.0
    assert getattr(stated, name)[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        getattr(stated, name)[0] = 7.0
    with pytest.raises(FrozenInstanceError):
        setattr(stated, name, mine)


@pytest.mark.claim("P23")
def test_a_budget_that_was_split_cannot_be_changed():
    budget = split_budget(PROMISE, facts())
    with pytest.raises(FrozenInstanceError):
        budget.multipliers = dict.fromkeys(budget.multipliers, 1e-9)
