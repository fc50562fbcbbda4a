"""How much of the bound on row norms is in use, and when that is said."""

import dataclasses
import warnings

import numpy as np
import pytest

import dpcov
from dpcov.errors import SaturationWarning
from publication import releases

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS = np.random.default_rng(0).normal(size=(2800, 25))


def warned(rows, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dpcov.release(rows, **BUDGET, **options)
    return [str(each.message) for each in caught if each.category is SaturationWarning]


@pytest.mark.parametrize("row_norm", [0.5, 2.0])
def test_a_norm_that_clips_every_row_of_a_small_table_is_noticed(row_norm):
    assert row_norm < np.sqrt((ROWS**2).sum(axis=1)).min()
    (said,) = warned(ROWS, row_norm=row_norm)
    assert "State a larger row_norm from knowledge, or none" in said


def test_a_norm_that_clips_few_rows_is_not():
    assert warned(ROWS, row_norm=7.0) == []
    assert warned(ROWS, row_norm=12.0) == []


def test_a_norm_that_was_learned_or_follows_from_bounds_is_not_warned_of():
    ends = np.where(ROWS > 0, 1.0, -1.0)
    assert warned(ends) == []
    assert warned(ends, columns={f"x{i}": (-1, 1) for i in range(25)}) == []


def test_where_nothing_can_be_told_nothing_is_said():
    few = dpcov.release(np.ones((60, 25)), **BUDGET, row_norm=1.0, allow={"small"})
    assert few.bound_in_use.standard_error > 0.25
    assert warned(np.ones((60, 25)), row_norm=1.0, allow={"small"}) == []


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_the_share_is_unbiased_and_has_the_stated_error(shift):
    """About the center, not about the mean; at a mean of great noise, too."""
    rows = np.clip(ROWS[:400, :4], -2, 2) + shift
    norm = 12.0
    truth = (rows**2).sum(axis=1).mean() / norm**2
    found = [
        dpcov.release(rows, **BUDGET, row_norm=norm, seed=seed).bound_in_use for seed in range(300)
    ]
    error = found[0].standard_error
    values = np.array([used.value for used in found])
    assert values.std() == pytest.approx(error, rel=0.2)
    assert values.mean() == pytest.approx(truth, abs=5 * error / 300**0.5)


@pytest.mark.parametrize("make", [releases.collected, releases.collected_gaussian])
def test_reports_of_devices_have_it_too(make):
    used = make().bound_in_use
    assert abs(used.value - 0.29) < 6 * used.standard_error


def test_it_is_about_the_rows_as_they_were_clipped():
    release = releases.learned()
    assert release.factor > 1
    clipped = dataclasses.replace(release.working, matrix=release.working.matrix / release.factor)
    plain = release.with_working(
        clipped,
        noise_scale=dataclasses.replace(
            release.noise_scale, diagonal=release.noise_scale.diagonal / release.factor
        ),
        factor=1.0,
    )
    found, expected = release.bound_in_use, plain.bound_in_use
    assert found.value == pytest.approx(expected.value)
    assert found.standard_error == pytest.approx(expected.standard_error)
