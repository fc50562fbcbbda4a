import dbm.dumb
import json
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov import local
from dpcov.errors import BudgetError, MissingValueError, ParameterError, ReportError

PLAN = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
OTHER = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=1.0)
STRICT = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, missing="refuse")


def gaussian(delta, epsilon=1.0):
    return local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=epsilon, mechanism="gaussian", delta=delta
    )


def test_a_retry_sends_the_same_report():
    device = local.Device()
    assert device.report([0.1, 0.2], PLAN) == device.report([0.1, 0.2], PLAN)


def test_another_row_gets_the_same_answer():
    device = local.Device()
    assert device.report([0.1, 0.2], PLAN) == device.report([0.9, 0.1], PLAN)


def test_another_plan_gets_its_own_report():
    device = local.Device()
    assert device.report([0.1, 0.2], PLAN) != device.report([0.1, 0.2], OTHER)


def test_a_report_outlives_the_process(tmp_path):
    with dbm.dumb.open(str(tmp_path / "kept"), "c") as kept:
        first = local.Device(kept).report([0.1, 0.2], PLAN)
    with dbm.dumb.open(str(tmp_path / "kept"), "c") as kept:
        assert local.Device(kept).report([0.1, 0.2], PLAN) == first


def test_a_damaged_report_is_not_replaced():
    kept = {PLAN.id: b"damaged"}
    with pytest.raises(ReportError, match="spend the budget again"):
        local.Device(kept).report([0.1, 0.2], PLAN)
    assert kept == {PLAN.id: b"damaged"}


def test_the_report_is_kept_before_it_is_returned():
    class Failing(dict):
        def __setitem__(self, key, value):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        local.Device(Failing()).report([0.1, 0.2], PLAN)


def test_its_repr_says_nothing():
    assert repr(local.Device()) == "Device()"


@pytest.mark.parametrize("value", ["text", 50, None, [1]])
def test_a_kept_value_of_another_type_is_damaged(value):
    with pytest.raises(ReportError, match="damaged"):
        local.Device({PLAN.id: value}).report([0.1, 0.2], PLAN)


def test_the_answer_is_what_the_store_holds():
    earlier = local.randomize([0.1, 0.2], PLAN)

    class Shared(dict):
        def __setitem__(self, key, value):  # another process was faster
            super().__setitem__(key, earlier if key == PLAN.id else value)

    assert local.Device(Shared()).report([0.1, 0.2], PLAN) == earlier


def test_a_plan_beyond_the_owner_s_limit_is_refused_and_nothing_is_kept():
    kept = {}
    device = local.Device(kept, most_epsilon=2.5)
    first = device.report([0.1, 0.2], PLAN)
    before = dict(kept)
    with pytest.raises(BudgetError, match=r"epsilon = 3 in all; its owner allows 2\.5"):
        device.report([0.1, 0.2], OTHER)
    assert kept == before
    assert device.report([0.1, 0.2], PLAN) == first


def test_plans_within_the_owner_s_limit_are_answered():
    device = local.Device(most_epsilon=3.0)
    assert device.report([0.1, 0.2], PLAN) != device.report([0.1, 0.2], OTHER)


def test_what_was_spent_outlives_the_device(tmp_path):
    with dbm.dumb.open(str(tmp_path / "kept"), "c") as kept:
        local.Device(kept).report([0.1, 0.2], PLAN)
    with (
        dbm.dumb.open(str(tmp_path / "kept"), "c") as kept,
        pytest.raises(BudgetError),
    ):
        local.Device(kept, most_epsilon=2.5).report([0.1, 0.2], OTHER)


def test_a_row_that_is_refused_spends_nothing():
    kept = {}
    with pytest.raises(MissingValueError):
        local.Device(kept, allow_refusal=True).report([None, 0.2], STRICT)
    assert kept == {}


def test_a_tiny_epsilon_does_not_let_a_large_delta_pass():
    kept = {}
    with pytest.raises(BudgetError, match=r"delta = 0\.999999 in all; its owner allows 1e-06"):
        local.Device(kept, most_epsilon=0.01).report([0.1, 0.2], gaussian(0.999999, epsilon=0.01))
    assert kept == {}


def test_the_deltas_of_plans_add_up():
    device = local.Device()
    device.report([0.1, 0.2], gaussian(6e-7))
    device.report([0.1, 0.2], PLAN)
    with pytest.raises(BudgetError, match=r"delta = 1\.1e-06 in all"):
        device.report([0.1, 0.2], gaussian(5e-7))
    device.report([0.1, 0.2], gaussian(4e-7))


def test_a_pure_plan_has_no_delta_to_count():
    device = local.Device(most_delta=0)
    device.report([0.1, 0.2], PLAN)
    with pytest.raises(BudgetError, match="delta"):
        device.report([0.1, 0.2], gaussian(1e-12))


def test_the_owner_can_allow_a_larger_delta():
    assert local.Device(most_delta=1e-5).report([0.1, 0.2], gaussian(1e-5))


def test_the_delta_that_was_spent_outlives_the_device(tmp_path):
    with dbm.dumb.open(str(tmp_path / "kept"), "c") as kept:
        local.Device(kept).report([0.1, 0.2], gaussian(6e-7))
    with dbm.dumb.open(str(tmp_path / "kept"), "c") as kept, pytest.raises(BudgetError):
        local.Device(kept).report([0.1, 0.2], gaussian(5e-7))


def test_the_record_holds_epsilon_and_delta_of_each_plan():
    kept = {}
    device = local.Device(kept)
    device.report([0.1, 0.2], PLAN)
    device.report([0.1, 0.2], gaussian(6e-7))
    assert json.loads(kept["spent"]) == {PLAN.id: [2.0, 0.0], gaussian(6e-7).id: [1.0, 6e-7]}


@pytest.mark.parametrize("limit", [-1e-9, 1.1, "1e-6", None, math.nan])
def test_an_impossible_limit_on_delta_is_refused(limit):
    with pytest.raises(ParameterError, match="most_delta"):
        local.Device(most_delta=limit)


class Unreadable(list):
    """A row that nobody may look at."""

    def __iter__(self):
        raise AssertionError("the row was looked at")

    __len__ = __getitem__ = __array__ = __iter__


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (STRICT, "silence would tell"),
        (gaussian(0.5), "delta = 0.5"),
        (local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=9.0), "epsilon = 9"),
    ],
)
def test_a_plan_is_refused_without_a_look_at_the_row(plan, message):
    with pytest.raises(BudgetError, match=message):
        local.Device(most_epsilon=5.0).report(Unreadable([0.1, 0.2]), plan)


@pytest.mark.parametrize("row", [[0.1, 0.2], [None, 0.2], [math.inf, math.nan]])
def test_a_plan_that_refuses_missing_cells_is_refused_whatever_the_row_is(row):
    kept = {}
    with pytest.raises(BudgetError) as refusal:
        local.Device(kept).report(row, STRICT)
    assert kept == {}
    assert str(refusal.value) == (
        "The plan refuses rows with missing cells, so that silence would tell of them; this "
        "device answers only plans with missing='center', unless its owner states "
        "allow_refusal=True. The row was not looked at, nothing was made and nothing was spent."
    )


def test_an_owner_can_allow_plans_that_refuse():
    assert local.Device(allow_refusal=True).report([0.1, 0.2], STRICT)


def test_what_was_answered_before_the_veto_is_sent_again():
    kept = {}
    first = local.Device(kept, allow_refusal=True).report([0.1, 0.2], STRICT)
    assert local.Device(kept).report([0.1, 0.2], STRICT) == first


@pytest.mark.parametrize("allow", [None, 1, "yes"])
def test_a_veto_is_lifted_by_true_alone(allow):
    with pytest.raises(ParameterError, match="allow_refusal"):
        local.Device(allow_refusal=allow)


cells = (
    st.floats(allow_nan=True, allow_infinity=True)
    | st.integers(-(10**400), 10**400)
    | st.booleans()
    | st.none()
)


@settings(max_examples=200)
@given(st.lists(cells, min_size=2, max_size=2), st.sampled_from([PLAN, gaussian(1e-7)]))
def test_whatever_the_cells_are_a_device_answers_and_keeps_the_same_record(row, plan):
    kept, usual = {}, {}
    report = local.Device(kept).report(row, plan)
    local.Device(usual).report([0.1, 0.2], plan)
    assert len(report) == plan.report_bytes
    assert list(kept) == list(usual)
    assert kept["spent"] == usual["spent"]


@pytest.mark.parametrize(
    "record",
    [
        *(b"", b"[]", b'{"x": -1}', b'{"x": "1"}', b"\xff", 5, None),
        *(b'{"x": 1.0}', b'{"x": [1.0]}', b'{"x": [1.0, -1e-9]}', b'{"x": [1.0, 1.0]}'),
        *(b'{"x": [1.0, 0.0, 0.0]}', b'{"x": [0.0, 0.0]}', b'{"x": {"a": 1, "b": 2}}'),
    ],
)
def test_a_damaged_record_of_what_was_spent_stops_new_answers(record):
    with pytest.raises(ReportError, match="record"):
        local.Device({"spent": record}).report([0.1, 0.2], PLAN)


@pytest.mark.parametrize("limit", [0, -1, "2", float("nan")])
def test_an_impossible_limit_is_refused(limit):
    with pytest.raises(ParameterError, match="most_epsilon"):
        local.Device(most_epsilon=limit)


def test_two_threads_make_one_report(monkeypatch):
    barrier, made = threading.Barrier(2), []

    def slow(x, plan):
        made.append(local.randomize(x, plan))
        time.sleep(0.2)
        return made[-1]

    monkeypatch.setattr("dpcov.local.device.randomize", slow)
    device = local.Device()

    def ask(_):
        barrier.wait()
        return device.report([0.1, 0.2], PLAN)

    with ThreadPoolExecutor(2) as pool:
        answers = set(pool.map(ask, range(2)))
    assert (len(answers), len(made)) == (1, 1)
