"""What a device accepts, and what it never says."""

import traceback

import numpy as np
import pandas as pd
import pytest

from dpcov import local
from dpcov.errors import DpcovError, InputError, MissingValueError, ParameterError
from dpcov.exact.randomness import RandomStream

PLAN = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
STRICT = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, missing="refuse")
SECRET = 31415926.5


def test_the_same_seed_gives_the_same_report():
    first, second = (local.randomize([0.1, 0.2], PLAN, seed=3) for _ in range(2))
    assert first == second


def test_names_and_order_give_the_same_report():
    by_name = local.randomize({"b": 0.2, "a": 0.1}, PLAN, seed=3)
    assert by_name == local.randomize(np.array([0.1, 0.2]), PLAN, seed=3)


def test_center_and_scale_are_applied():
    moved = local.CollectionPlan(
        columns=["a", "b"],
        row_norm=1.0,
        epsilon=4.0,
        delta=1e-5,
        mechanism="gaussian",
        center=[10.0, -1.0],
        scale=[2.0, 5.0],
    )
    rows = np.tile([11.0, -3.5], (3000, 1))  # (0.5, −0.5) after center and scale
    collector = local.Collector(moved, simulated=True)
    collector.add_many(local.simulate_reports(rows, moved, seed=1))
    release = collector.release()
    target = np.array([[0.25, -0.25], [-0.25, 0.25]])
    assert np.abs(release.matrix - target).max() < 5 * release.noise_scale.diagonal


@pytest.mark.parametrize(
    "row",
    [
        [SECRET],
        [SECRET, 1, 2],
        [[SECRET, 1.0]],
        [SECRET, "x"],
        [SECRET, object()],
        np.array([SECRET, "x"], dtype=object),
        {"a": SECRET},
        {"a": SECRET, "b": 1, "c": 2},
        "31415926.5",
        None,
        [SECRET, 1j],
        [[SECRET], [1.0, 2.0]],
    ],
)
@pytest.mark.claim("P8")
def test_a_row_that_does_not_fit_is_refused_without_its_data(row):
    with pytest.raises(InputError) as caught:
        local.randomize(row, PLAN)
    assert "31415926" not in "".join(traceback.format_exception(caught.value)[-1:])
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_missing_cell_is_read_as_the_center_or_refused(bad):
    assert local.randomize([bad, 0.2], PLAN, seed=1) == local.randomize([0.0, 0.2], PLAN, seed=1)
    with pytest.raises(MissingValueError):
        local.randomize([bad, 0.2], STRICT)


def test_huge_and_tiny_cells_make_no_noise():
    for row in ([1e308, -1e308], [5e-324, 1e-300], [True, False]):
        assert len(local.randomize(row, PLAN)) == 50


@pytest.mark.parametrize(
    "rows", [np.zeros(2), np.zeros((3, 3)), np.zeros((2, 2), dtype=object), [[1, 2]], None]
)
def test_a_simulation_wants_a_table_that_fits(rows):
    with pytest.raises(InputError):
        local.simulate_reports(rows, PLAN, seed=1)


def test_every_refusal_is_an_error_of_the_library():
    with pytest.raises(DpcovError):
        local.randomize([1.0], PLAN)


def test_without_a_seed_the_randomness_is_the_operating_system_s(monkeypatch):
    keyed = []
    from_os = RandomStream.from_os
    monkeypatch.setattr(
        "dpcov.local.randomizer.RandomStream.from_os", lambda: keyed.append(1) or from_os()
    )
    monkeypatch.setattr("dpcov.local.randomizer.RandomStream.from_seed", None)
    first, second = (local.randomize([0.1, 0.2], PLAN) for _ in range(2))
    assert len(keyed) == 2
    assert first != second
    assert first[1] < 0x80  # not marked as simulated


@pytest.mark.parametrize(
    "row",
    [
        [None, 0.2],
        (np.ma.masked, 0.2),
        np.array([None, 0.2], dtype=object),
        np.ma.array([SECRET, 0.2], mask=[True, False]),
        np.ma.array([SECRET, 0.2], mask=[True, False], dtype=object),
        {"a": None, "b": 0.2},
        pd.Series({"b": 0.2, "a": None}),
        pd.Series([pd.NA, 0.2], index=["a", "b"], dtype="Float64"),
    ],
)
def test_none_and_masked_cells_are_missing(row):
    assert local.randomize(row, PLAN, seed=1) == local.randomize([0.0, 0.2], PLAN, seed=1)
    with pytest.raises(MissingValueError) as caught:
        local.randomize(row, STRICT)
    assert "31415926" not in str(caught.value)


def test_masked_cells_of_a_simulation_are_missing():
    rows = np.ma.array([[SECRET, 0.2]], mask=[[True, False]])
    expected = local.simulate_reports(np.array([[0.0, 0.2]]), PLAN, seed=1)
    assert np.array_equal(local.simulate_reports(rows, PLAN, seed=1), expected)


def test_a_series_is_matched_by_name():
    row = pd.Series([0.2, 0.1], index=["b", "a"])
    assert local.randomize(row, PLAN, seed=3) == local.randomize([0.1, 0.2], PLAN, seed=3)


@pytest.mark.parametrize("labels", [[0, 1], ["a", "a"], ["a", "c"], [31415926, "a"]])
def test_a_series_with_other_labels_than_the_plan_s_is_refused(labels):
    with pytest.raises(InputError, match="by name") as caught:
        local.randomize(pd.Series([SECRET, 0.1], index=labels), PLAN)
    assert "31415926" not in str(caught.value)


@pytest.mark.parametrize("huge", [2**64, -(2**70), 10**30])
def test_integers_beyond_64_bits_are_numbers(huge):
    row, same = [huge, 1], [float(huge), 1.0]
    assert local.randomize(row, PLAN, seed=1) == local.randomize(same, PLAN, seed=1)


@pytest.mark.parametrize("row", [[10**400, 1], [-(10**400), 1.0]])
def test_integers_beyond_all_floats_are_infinite(row):
    assert local.randomize(row, PLAN, seed=1) == local.randomize([np.inf, 1.0], PLAN, seed=1)


@pytest.mark.parametrize("plan", [None, "plan", PLAN.to_json()])
def test_a_device_needs_a_plan(plan):
    for make in (
        lambda: local.randomize([0.1, 0.2], plan),
        lambda: local.simulate_reports(np.zeros((1, 2)), plan, seed=1),
        lambda: local.Device().report([0.1, 0.2], plan),
    ):
        with pytest.raises(ParameterError, match="plan must be a CollectionPlan"):
            make()
