import dbm.dumb

import pytest

from dpcov import local
from dpcov.errors import ReportError

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
