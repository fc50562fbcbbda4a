import dbm.dumb
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpcov import local
from dpcov.errors import BudgetError, MissingValueError, ParameterError, ReportError

PLAN = local.Plan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
OTHER = local.Plan(columns=["a", "b"], row_norm=1.0, epsilon=1.0)


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
    strict = local.Plan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, missing="refuse")
    kept = {}
    with pytest.raises(MissingValueError):
        local.Device(kept).report([None, 0.2], strict)
    assert kept == {}


@pytest.mark.parametrize("record", [b"", b"[]", b'{"x": -1}', b'{"x": "1"}', b"\xff", 5, None])
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
