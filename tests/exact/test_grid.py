"""The finest grid on which sums and noise fit."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.exact.grid import MAX_SUM_BITS, Grid, finest_grid
from dpcov.exact.scales import MAX_SCALE


def plain(bits):
    return Grid(row_norm=1.0, bits=bits)


@given(st.integers(2, 2**40), st.fractions(Fraction(1, 10**3), 10**9))
def test_the_chosen_grid_has_room_and_the_next_finer_one_has_not(n_rows, factor):
    def variance(grid):
        return factor * grid.squared_norm**2

    grid, needed = finest_grid(plain, n_rows=n_rows, variance=variance)
    assert needed == variance(grid) <= MAX_SCALE**2
    assert n_rows * grid.largest_product <= 2**MAX_SUM_BITS
    if grid.bits < 20:
        finer = plain(grid.bits + 1)
        assert not finer.has_room(n_rows) or variance(finer) > MAX_SCALE**2


@pytest.mark.parametrize(("bits", "constant", "most"), [(20, 0, 2**22), (20, 2**20, 2**21)])
def test_sums_of_62_bits_have_room_and_no_longer_ones(bits, constant, most):
    grid = Grid(row_norm=1.0, bits=bits, constant=constant)
    assert grid.has_room(most)
    assert not grid.has_room(most + 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"row_norm": 0.0},
        {"row_norm": -1.0},
        {"row_norm": 0.99e-20},
        {"row_norm": 1.01e20},
        {"row_norm": math.nan},
        {"bits": 0},
        {"bits": 25},
        {"constant": -1},
        {"constant": 2**20 + 1},
    ],
    ids=str,
)
def test_a_grid_that_no_proof_is_about_is_refused(wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must"):
        Grid(**{"row_norm": 1.0, "bits": 20, "constant": 0} | wrong)


@pytest.mark.parametrize("row_norm", [1e-20, 1e20, 2])
def test_the_norm_of_a_grid_is_kept_as_a_float(row_norm):
    kept = Grid(row_norm=row_norm, bits=20, constant=2**20).row_norm
    assert isinstance(kept, float)
    assert kept == row_norm


def test_noise_that_fits_no_grid_is_refused():
    with pytest.raises(ParameterError, match="56 bits on any grid"):
        finest_grid(plain, n_rows=2, variance=lambda grid: Fraction(MAX_SCALE**2 + 1))
