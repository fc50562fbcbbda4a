"""What a device accepts, and what it never says."""

import traceback

import numpy as np
import pytest

from dpcov import local
from dpcov.errors import DpcovError, InputError, MissingValueError
from dpcov.mechanisms.randomness import RandomStream

PLAN = local.Plan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
STRICT = local.Plan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, missing="refuse")
SECRET = 31415926.5


def test_the_same_seed_gives_the_same_report():
    first, second = (local.randomize([0.1, 0.2], PLAN, seed=3) for _ in range(2))
    assert first == second


def test_names_and_order_give_the_same_report():
    by_name = local.randomize({"b": 0.2, "a": 0.1}, PLAN, seed=3)
    assert by_name == local.randomize(np.array([0.1, 0.2]), PLAN, seed=3)


def test_shift_and_scale_are_applied():
    moved = local.Plan(
        columns=["a", "b"],
        row_norm=1.0,
        epsilon=4.0,
        delta=1e-5,
        mechanism="gaussian",
        shift=[10.0, -1.0],
        scale=[2.0, 5.0],
    )
    rows = np.tile([11.0, -3.5], (3000, 1))  # (0.5, −0.5) after shift and scale
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
        [SECRET, None],
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
def test_a_missing_cell_is_read_as_the_shift_or_refused(bad):
    assert local.randomize([bad, 0.2], PLAN, seed=1) == local.randomize([0.0, 0.2], PLAN, seed=1)
    with pytest.raises(MissingValueError):
        local.randomize([bad, 0.2], STRICT)


def test_huge_and_tiny_cells_make_no_noise():
    for row in ([1e308, -1e308], [5e-324, 1e-300], [True, False]):
        assert len(local.randomize(row, PLAN)) == 50


@pytest.mark.parametrize("rows", [np.zeros(2), np.zeros((3, 3)), np.zeros((2, 2), dtype=object)])
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
