"""Noisy sums of squares."""

from fractions import Fraction

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.squares import (
    plan_squares,
    release_mean_squares,
    release_trace,
    scales_for,
)
from dpcov.privacy import Neighbors
from dpcov.sensitive.sums.square_sums import SquareKernel

FACTS = {"multiplier": 3.7, "neighbors": Neighbors.REPLACE, "n_rows": 1000, "row_norm": 1.0}


@pytest.mark.claim("P19")
@pytest.mark.parametrize("rows_per_unit", [1, 3])
@pytest.mark.parametrize(
    ("neighbors", "total", "squared"),
    [("replace", False, 2), ("add-remove", False, 1), ("replace", True, 1)],
)
@pytest.mark.parametrize("n_rows", [10, 2**40])
def test_the_scale_is_at_least_the_multiplier_times_the_sensitivity(
    rows_per_unit, neighbors, total, squared, n_rows
):
    facts = FACTS | {"neighbors": Neighbors(neighbors), "total": total, "n_rows": n_rows}
    plan = plan_squares(**facts, rows_per_unit=rows_per_unit)
    needed = Fraction(3.7) ** 2 * squared * rows_per_unit**2 * 16**plan.grid.bits
    assert needed <= plan.scale**2 <= needed * (1 + Fraction(1, 1000))
    assert n_rows * 4**plan.grid.bits <= 2**62


def zeros(plan, size):
    kernel = SquareKernel(size, plan.grid, "refuse")
    return kernel.sum_over([np.zeros((FACTS["n_rows"], size))])


@pytest.mark.claim("P19")
def test_every_mean_square_has_noise_of_its_own():
    plan = plan_squares(**FACTS)
    noisy, noise = release_mean_squares(zeros(plan, 4000), plan, RandomStream.from_seed(1))
    assert noisy.std() == pytest.approx(noise, rel=0.05)
    assert noise == pytest.approx(3.7 * 2**0.5 / 1000, rel=1e-3)
    assert len(set(noisy)) > 3900


@pytest.mark.claim("P19")
def test_a_trace_has_noise():
    plan = plan_squares(**FACTS, total=True)
    kernel = SquareKernel(2, plan.grid, "refuse")
    sums = kernel.sum_over([np.full((1000, 2), 0.5**0.5)])
    stream = RandomStream.from_seed(2)
    found = np.array([release_trace(sums, plan, stream) for _ in range(3000)])
    assert found.mean() == pytest.approx(1.0, abs=0.001)
    assert found.std() == pytest.approx(3.7 / 1000, rel=0.1)


def test_a_trace_is_positive_whatever_the_noise():
    plan = plan_squares(**FACTS, total=True)
    stream = RandomStream.from_seed(3)
    assert min(release_trace(zeros(plan, 2), plan, stream) for _ in range(200)) > 0


def test_sums_of_another_plan_are_refused():
    plan = plan_squares(**FACTS)
    other = plan_squares(**FACTS | {"row_norm": 2.0})
    with pytest.raises(ParameterError, match="not made for this plan"):
        release_mean_squares(zeros(other, 2), plan, RandomStream.from_seed(1))


def test_a_promise_that_fits_no_grid_is_refused():
    with pytest.raises(ParameterError, match="does not fit"):
        plan_squares(**FACTS | {"multiplier": 1e15})


def test_scales_are_roots_and_never_below_the_noise():
    squares = np.array([16.0, 0.0, -5.0])
    assert scales_for(squares, 0.5, "correlation").tolist() == [4.0, 1.0, 1.0]
    assert scales_for(squares, 0.5, "covariance").tolist() == [2.0, 1.0, 1.0]
