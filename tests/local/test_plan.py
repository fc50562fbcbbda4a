import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov import local
from dpcov.errors import CollectionPlanError, ParameterError
from dpcov.local.integers import IntegerNoise
from dpcov.privacy import ApproxDP, Cap, PureDP

PLAN = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
GAUSSIAN = local.CollectionPlan(
    columns=["a", "b"], row_norm=1.0, epsilon=2.0, delta=1e-6, mechanism="gaussian"
)
WIDE = [f"x{i}" for i in range(50)]
reals = st.floats(-1e100, 1e100)


def changed(plan, **facts):
    return json.dumps(json.loads(plan.to_json()) | facts)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4, unique=True
    ),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 20),
    st.lists(reals, min_size=4, max_size=4),
)
def test_a_plan_survives_json(columns, row_norm, epsilon, center):
    plan = local.CollectionPlan(
        columns=columns, row_norm=row_norm, epsilon=epsilon, center=center[: len(columns)]
    )
    again = local.CollectionPlan.from_json(plan.to_json())
    assert again == plan
    assert again.id == plan.id
    assert hash(again) == hash(plan)


def test_the_id_is_that_of_the_content_and_of_nothing_else():
    same = local.CollectionPlan(
        columns=("a", "b"), row_norm=1, epsilon=2, center=[-0.0, 0], scale=[1, 1]
    )
    assert same.id == PLAN.id
    others = [
        replace(PLAN, constants=None, columns=("b", "a")),
        replace(PLAN, constants=None, row_norm=1.0 + 2**-52),
        replace(PLAN, constants=None, epsilon=2.0 + 2**-51),
        replace(PLAN, constants=None, center=(0.0, 1.0)),
        replace(PLAN, constants=None, scale=(1.0, 2.0)),
        replace(PLAN, constants=None, missing="refuse"),
        GAUSSIAN,
        replace(GAUSSIAN, constants=None, delta=1e-7),
    ]
    assert len({plan.id for plan in [PLAN, *others]}) == 1 + len(others)


def test_it_states_its_promise():
    assert PLAN.promise == PureDP(2.0, "local")
    assert GAUSSIAN.promise == ApproxDP(2.0, 1e-6, "local")
    assert "any two rows" in PLAN.promise.in_words
    assert "2-differential privacy in the local model" in repr(PLAN)


def test_facts_may_come_as_arrays():
    plan = local.CollectionPlan(
        columns=np.array(["a", "b"]),
        row_norm=1.0,
        epsilon=2.0,
        center=np.zeros(2),
        scale=np.ones(2),
    )
    assert plan == PLAN
    assert plan.id == PLAN.id


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        PLAN.epsilon = 3.0


def test_a_cap_report_has_sixteen_bytes_of_payload_whatever_the_number_of_columns():
    wide = local.CollectionPlan(columns=[f"x{i}" for i in range(1000)], row_norm=1.0, epsilon=2.0)
    assert (PLAN.payload_bytes, wide.payload_bytes) == (16, 16)
    assert (PLAN.report_bytes, wide.report_bytes) == (50, 50)
    assert GAUSSIAN.payload_bytes == 3 * 4


@pytest.mark.parametrize(
    "change",
    [
        {"columns": []},
        {"columns": "ab"},
        {"columns": ["a", "a"]},
        {"columns": ["a", 1]},
        {"columns": ["\ud800", "b"]},
        {"columns": None},
        {"row_norm": 0.0},
        {"row_norm": math.nan},
        {"row_norm": "1"},
        {"epsilon": 0.0},
        {"epsilon": 21.0},
        {"epsilon": True},
        {"delta": 1e-6},
        {"mechanism": "laplace"},
        {"mechanism": "gaussian"},
        {"missing": "drop"},
        {"center": [0.0]},
        {"center": "00"},
        {"center": [0.0, math.inf]},
        {"scale": [1.0, 0.0]},
        {"scale": [1.0, -1.0]},
        {"constants": IntegerNoise(12, 10**8, 10**8)},
    ],
)
def test_an_impossible_plan_is_refused(change):
    facts = {"columns": ["a", "b"], "row_norm": 1.0, "epsilon": 2.0}
    with pytest.raises(ParameterError):
        local.CollectionPlan(**(facts | change))


@pytest.mark.claim("P14")
def test_constants_that_do_not_pay_for_the_promise_are_refused():
    better = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.1).cap
    with pytest.raises(ParameterError, match="do not pay"):
        local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, constants=better)
    with pytest.raises(CollectionPlanError, match="do not pay"):
        local.CollectionPlan.from_json(
            changed(PLAN, constants={"threshold": better.threshold, "coin": better.coin})
        )


def test_constants_that_pay_for_more_are_accepted():
    worse = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=1.9).cap
    plan = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, constants=worse)
    assert plan.cap == Cap(worse.threshold, worse.coin)


@pytest.mark.claim("P15")
def test_noise_that_does_not_pay_for_the_promise_is_refused():
    noise = GAUSSIAN.noise
    facts = {"bits": 12, "off_diagonal": noise.off_diagonal - 10**4, "diagonal": noise.diagonal}
    with pytest.raises(CollectionPlanError, match="do not pay"):
        local.CollectionPlan.from_json(changed(GAUSSIAN, constants=facts))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        '{"format": "dpcov collection plan"}',
        '{"format": "dpcov collection plan", "format": "dpcov collection plan"}',
        changed(PLAN, epsilon=float("nan")),
        changed(PLAN, version="2"),
        changed(PLAN, version=1),
        changed(PLAN, more=1),
        changed(PLAN, columns=["a", "b"]),
        changed(PLAN, columns=[{"name": "a", "center": 0.0, "scale": 1.0, "unit": "m"}]),
        changed(
            PLAN,
            columns=[
                {"name": name, "center": center, "scale": scale, "unit": "m"}
                for name, center, scale in zip(PLAN.columns, PLAN.center, PLAN.scale, strict=True)
            ],
        ),
        changed(PLAN, columns=5),
        changed(PLAN, constants=None),
        changed(PLAN, constants={"threshold": 1.5}),
        changed(PLAN, constants={"threshold": 1.5, "coin": 1, "extra": 2}),
        changed(PLAN, epsilon="2"),
        changed(PLAN, epsilon=3.0),
        changed(PLAN, id="0" * 64),
        changed(PLAN, missing=None),
        None,
        b"{}",
    ],
)
def test_a_text_that_is_not_a_plan_is_refused(text):
    with pytest.raises(CollectionPlanError):
        local.CollectionPlan.from_json(text)


def test_another_version_is_refused():
    with pytest.raises(CollectionPlanError, match="version of dpcov that wrote it"):
        local.CollectionPlan.from_json(changed(PLAN, version=3))


@given(st.text(max_size=30))
def test_no_text_crashes_the_reader(text):
    with pytest.raises(CollectionPlanError):
        local.CollectionPlan.from_json(text)


def test_the_standard_error_falls_with_the_root_of_the_number_of_people():
    assert PLAN.standard_error(400) == pytest.approx(PLAN.standard_error(100) / 2)


def test_the_people_needed_are_those_at_which_the_correlation_is_detectable():
    plan = local.CollectionPlan(columns=WIDE, row_norm=2.0, epsilon=2.0)
    variance = 0.05
    people = plan.people_needed(0.3, variance=variance)
    from scipy.special import ndtri

    cutoff = -ndtri(0.05 / (50 * 49))
    error = plan.standard_error(people, variance=variance)
    assert cutoff * error / variance == pytest.approx(0.3, rel=1e-3)


def test_more_privacy_needs_more_people():
    needed = [
        local.CollectionPlan(columns=WIDE, row_norm=1.0, epsilon=epsilon).people_needed(0.3)
        for epsilon in (0.5, 1.0, 2.0, 4.0)
    ]
    assert needed == sorted(needed, reverse=True)


def test_cap_needs_fewer_people_than_gaussian_reports():
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        cap = local.CollectionPlan(columns=WIDE, row_norm=1.0, epsilon=epsilon)
        gaussian = replace(cap, mechanism="gaussian", delta=1e-5, constants=None)
        assert cap.people_needed(0.3) < gaussian.people_needed(0.3) / 3


@pytest.mark.parametrize("correlation", [0, -0.1, 1.1, "0.3"])
def test_an_impossible_correlation_is_refused(correlation):
    with pytest.raises(ParameterError, match="correlation"):
        PLAN.people_needed(correlation)


def test_a_gaussian_plan_that_would_exhaust_a_device_is_refused():
    names = [f"x{i}" for i in range(20_000)]
    with pytest.raises(ParameterError, match="Use mechanism='cap', without delta"):
        local.CollectionPlan(
            columns=names, row_norm=1.0, epsilon=1.0, delta=1e-6, mechanism="gaussian"
        )
    columns = [{"name": name, "center": 0.0, "scale": 1.0} for name in names]
    with pytest.raises(CollectionPlanError, match="fewer columns"):
        local.CollectionPlan.from_json(changed(GAUSSIAN, columns=columns))


def test_numpy_integers_are_plain_integers_in_a_plan():
    noise = GAUSSIAN.noise
    same = IntegerNoise(*(np.int64(v) for v in (noise.bits, noise.off_diagonal, noise.diagonal)))
    assert {type(same.bits), type(same.off_diagonal), type(same.diagonal)} == {int}
    assert replace(GAUSSIAN, constants=same).to_json() == GAUSSIAN.to_json()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0, 20.0])
def test_the_best_constants_need_no_second_order_term(epsilon):
    cap = local.CollectionPlan(columns=["a"], row_norm=1.0, epsilon=epsilon).cap
    assert cap.signal == 1 / cap.gain


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_noise_scale_covers_the_variance_of_constants_with_a_large_threshold(share):
    cap = Cap(3.0, math.ceil(2 * math.erfc(3 / math.sqrt(2)) * 2**32))
    plan = local.CollectionPlan(columns=["a", "b"], row_norm=2.0, epsilon=1.0, constants=cap)
    noise, kappa, t = plan.noise_scale(1), cap.gain, cap.threshold
    assert t**2 - 3 - kappa > 0
    second = kappa * (t**2 - 3 - kappa)
    for s_i, s_j in ((share, 1 - share), (share / 2, share / 2)):
        exact = 16 / kappa**2 * (1 + kappa * (s_i + s_j) + second * s_i * s_j)
        stated = noise.off_diagonal**2 + noise.signal * 4 * (s_i + s_j)
        assert stated >= exact * (1 - 1e-12)
    exact = 16 / kappa**2 * (2 + 4 * kappa * share + second * share**2)
    assert noise.diagonal**2 + 4 * noise.signal * 4 * share >= exact * (1 - 1e-12)


@pytest.mark.claim("P14")
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_constants_of_a_slightly_larger_epsilon_are_refused(epsilon):
    better = local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=epsilon * (1 + 1e-6)
    ).cap
    with pytest.raises(ParameterError, match="do not pay"):
        local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=epsilon, constants=better)


@pytest.mark.claim("P14")
def test_more_columns_than_the_proof_covers_are_refused():
    names = [f"x{i}" for i in range(65_537)]
    with pytest.raises(ParameterError, match="the number of columns"):
        local.CollectionPlan(columns=names, row_norm=1.0, epsilon=1.0)
    assert local.CollectionPlan(columns=names[1:], row_norm=1.0, epsilon=1.0).n_columns == 65_536


def test_an_id_with_another_last_digit_is_refused():
    other = PLAN.id[:-1] + ("0" if PLAN.id[-1] != "0" else "1")
    with pytest.raises(CollectionPlanError, match="id is not that of its contents"):
        local.CollectionPlan.from_json(changed(PLAN, id=other))
