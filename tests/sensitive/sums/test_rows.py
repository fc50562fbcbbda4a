"""Claim P2: rows become integers of bounded norm, each by itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.errors import MissingValueError, ParameterError
from dpcov.exact.grid import Grid
from dpcov.sensitive.sums import rows as rows_module
from dpcov.sensitive.sums.rows import _enforce_norm, quantize_rows, squared_norms
from wiring.planting import plant

GRID = Grid(row_norm=1.0, bits=20)

any_float = st.floats(allow_nan=True, allow_infinity=True)
tables = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=any_float
)
grids = st.builds(Grid, row_norm=st.floats(1e-20, 1e20), bits=st.integers(1, 24))


def quantize(rows, grid=GRID, missing="center"):
    out = np.empty(rows.shape)
    quantize_rows(rows, grid, missing, out)
    return out


def integer_norms(whole):
    return [sum(int(cell) ** 2 for cell in row) for row in whole]


@pytest.mark.claim("P2")
@given(tables, grids)
def test_every_row_is_whole_and_short(rows, grid):
    whole = quantize(rows, grid)
    assert (whole == np.trunc(whole)).all()
    assert max(integer_norms(whole)) <= 4**grid.bits


@pytest.mark.claim("P2")
@given(
    hnp.arrays(np.float64, 7, elements=st.floats(-1, 1)),
    st.floats(0.999999999, 1e12),
    st.integers(1, 24),
)
def test_rows_at_and_beyond_the_bound_are_short(direction, length, bits):
    norm = np.linalg.norm(direction)
    if norm == 0:
        return
    whole = quantize((direction * (length / norm))[None, :], Grid(row_norm=1.0, bits=bits))
    assert integer_norms(whole)[0] <= 4**bits


@pytest.mark.claim("P2")
@given(tables, st.integers(0, 7), st.booleans())
def test_a_row_is_treated_alike_wherever_it_stands(rows, shift, fortran):
    whole = quantize(rows)
    moved = np.roll(rows, shift, axis=0)
    padded = np.concatenate([np.ones((3, rows.shape[1])), moved])[1:]
    padded = np.asfortranarray(padded) if fortran else padded
    assert (np.roll(whole, shift, axis=0) == quantize(padded)[2:]).all()


@pytest.mark.claim("P2")
def test_wide_rows_near_the_exactness_limit_do_not_depend_on_their_place():
    # Squared norms around 2^53 in grid units: the branch itself must not depend on order.
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(64, 4099))
    rows *= (2.0**6.5 / np.linalg.norm(rows, axis=1))[:, None]
    whole = quantize(rows)
    for start in range(1, 9):
        assert (quantize(rows[start:]) == whole[start:]).all()
        assert (quantize(rows[start : start + 1]) == whole[start : start + 1]).all()


def test_short_rows_are_rounded_and_nothing_else():
    rows = np.random.default_rng(1).uniform(-0.3, 0.3, size=(50, 5))
    assert (quantize(rows) == np.rint(rows * 2**20)).all()


def test_a_coarse_grid_does_not_make_variances_too_small():
    rows = np.random.default_rng(4).normal(size=(200_000, 2))
    grid = Grid(row_norm=16.0, bits=8)
    lost = np.square(rows).mean() - np.square(quantize(rows, grid)).mean() * grid.step**2
    assert abs(lost) < 0.01 * grid.step  # truncated cells lose 0.8 steps


@pytest.mark.claim("P2")
@pytest.mark.parametrize("bits", [1, 4, 12, 20])
def test_rows_that_rounding_would_make_too_long_are_short(bits):
    directions = np.random.default_rng(bits).normal(size=(2_000, 3))
    rows = directions / np.linalg.norm(directions, axis=1)[:, None]
    rounded = np.rint(rows * 2**bits)
    assert max(integer_norms(rounded)) > 4**bits
    assert max(integer_norms(quantize(rows, Grid(row_norm=1.0, bits=bits)))) <= 4**bits


def test_long_rows_keep_their_direction():
    rows = np.random.default_rng(2).normal(size=(50, 5)) * np.geomspace(2, 1e9, 50)[:, None]
    expected = rows / np.linalg.norm(rows, axis=1)[:, None]
    assert np.abs(quantize(rows) / 2**20 - expected).max() < 4 * 2.0**-20


@pytest.mark.parametrize("size", [1e160, 1e308, np.finfo(float).max])
def test_a_huge_row_is_clipped_like_any_other(size):
    row = np.array([[0.6, -0.8, 0.0]]) * size
    assert np.abs(quantize(row) / 2**20 - [0.6, -0.8, 0.0]).max() < 4 * 2.0**-20


def test_a_denormal_row_is_zero():
    assert not quantize(np.full((1, 3), 5e-324)).any()


@pytest.mark.parametrize("row_norm", [1e-20, 1e20])
def test_extreme_bounds_are_exact(row_norm):
    whole = quantize(np.array([[0.5, 0.25]]) * row_norm, Grid(row_norm=row_norm, bits=20))
    assert np.abs(whole - [[2**19, 2**18]]).max() <= 1


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.longdouble]
)
def test_every_real_type_means_the_same_numbers(dtype):
    rows = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype)
    assert (quantize(rows) == quantize(rows.astype(float))).all()


def test_small_integers_do_not_overflow():
    whole = quantize(np.array([[127, -128]], dtype=np.int8), Grid(row_norm=256.0, bits=20))
    assert (whole == [[127 * 2**12, -128 * 2**12]]).all()


@pytest.mark.parametrize("hole", [math.nan, math.inf, -math.inf])
def test_center_reads_a_missing_cell_as_zero(hole):
    rows = np.array([[0.5, hole], [0.25, 0.25]])
    assert (quantize(rows, missing="center") == quantize(np.array([[0.5, 0], [0.25, 0.25]]))).all()


def test_center_clips_what_remains_of_a_row():
    rows = np.array([[3e200, math.nan, 4e200]])
    assert np.abs(quantize(rows) / 2**20 - [[0.6, 0, 0.8]]).max() < 4 * 2.0**-20


@pytest.mark.parametrize("hole", [math.nan, math.inf])
def test_refuse_names_no_value_and_no_place(hole):
    rows = np.array([[0.125, 0.5], [hole, 0.875]])
    with pytest.raises(MissingValueError) as caught:
        quantize(rows, missing="refuse")
    assert not any(character.isdigit() for character in str(caught.value).replace("as 0", ""))


def test_the_norm_is_enforced_even_if_arithmetic_fails():
    grid = Grid(row_norm=1.0, bits=4)
    overlong = np.array([[16.0, 3.0], [16.0, 0.0], [-20.0, 20.0]])
    enforced = _enforce_norm(overlong.copy(), grid)
    assert max(integer_norms(enforced)) <= 4**4
    assert (enforced[1] == [16.0, 0.0]).all()


@pytest.mark.parametrize(
    "row_norm", [0, -1, math.nan, math.inf, "1", None, [1.0], 1e-21, 1e21, 10**400]
)
def test_an_impossible_bound_is_refused(row_norm):
    with pytest.raises(ParameterError, match=r"row_norm must.*public bound"):
        Grid(row_norm=row_norm, bits=20)


@pytest.mark.parametrize("bits", [0, 25, 20.0, True])
def test_impossible_bits_are_refused(bits):
    with pytest.raises(ParameterError, match="bits must"):
        Grid(row_norm=1.0, bits=bits)


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1e300, 1e-300]]),
        np.array([[np.longdouble("1e4000"), 1]]),
        np.array([[5e-324, 1e308]]),
    ],
)
def test_no_floating_point_warning_tells_about_a_row(rows):
    with np.errstate(all="raise"):
        whole = quantize(rows)
    assert np.isfinite(whole).all()


def test_a_wide_and_huge_row_does_not_overflow_its_sum():
    whole = quantize(np.full((1, 36_000), 1.99 * 2.0**900), Grid(row_norm=1.0, bits=24))
    assert 0 < integer_norms(whole)[0] <= 4**24


@pytest.mark.claim("P2")
@given(
    hnp.arrays(float, (5, 3), elements=st.floats(-1e100, 1e100)),
    st.permutations(range(5)),
)
def test_a_norm_is_that_of_its_row_in_every_place_and_layout(rows, order):
    moved = squared_norms(np.asfortranarray(rows[order]), "refuse")
    assert np.array_equal(moved, squared_norms(rows, "refuse")[order])
    exact = (rows.astype(np.longdouble) ** 2).sum(axis=1)
    assert np.allclose(squared_norms(rows, "refuse").astype(np.longdouble), exact, rtol=1e-5)


EXCESSES = [2.0**-19, 1e-5, 1e-4, 1e-3, 5e-3, 1e-2]


def barely_too_long(excess, size, bits):
    """Return quantized rows that were too long by `excess`, alone and beside a far longer one."""
    directions = np.random.default_rng(size).normal(size=(20, size))
    directions[:size] = np.eye(size)[:20]
    rows = directions * ((1 + excess) / np.linalg.norm(directions, axis=1))[:, None]
    grid = Grid(row_norm=1.0, bits=bits)
    beside = quantize(np.concatenate([rows, np.full((1, size), 50.0)]), grid)[:-1]
    return np.concatenate([quantize(rows, grid), beside])


@pytest.mark.claim("P2")
@pytest.mark.parametrize("bits", [12, 20, 24])
@pytest.mark.parametrize("size", [1, 4, 20])
@pytest.mark.parametrize("excess", EXCESSES)
def test_rows_that_are_barely_too_long_are_shortened_to_the_bound(excess, size, bits):
    norms = integer_norms(barely_too_long(excess, size, bits))
    assert max(norms) <= 4**bits
    assert min(norms) >= (2**bits - 2 * size**0.5) ** 2


@pytest.mark.claim("P2")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("squared.max(initial=0.0) <= grid", "squared.max(initial=0.0) <= 1.011 * grid"),
        ("squared > grid", "squared > 1.011 * grid"),
    ],
)
def test_a_bound_that_is_off_by_a_percent_fails_the_same_test(monkeypatch, old, new):
    plant(monkeypatch, "sensitive.sums.rows:quantize_rows", old, new)
    monkeypatch.setitem(globals(), "quantize_rows", rows_module.quantize_rows)
    assert max(integer_norms(barely_too_long(5e-3, 4, 20))) > 4**20


@pytest.mark.claim("P2")
def test_norms_that_floats_may_round_are_summed_in_integers(monkeypatch):
    """Sums of squares are the same in any order below 2^53, and not from there on."""
    summed, real = [], rows_module._exact_squared_norms

    def watched(whole, bits):
        summed.append(len(whole))
        return real(whole, bits)

    monkeypatch.setattr(rows_module, "_exact_squared_norms", watched)
    below = np.array([[64.0, 64.0 - GRID.step]])
    assert quantize(below).shape == (1, 2)
    assert summed == []
    for row in ([64.0, 64.0], [64.0, 64.0 + GRID.step]):
        quantize(np.array([row, [0.5, 0.5], *below]))
    assert summed == [1, 1]


@pytest.mark.claim("P2")
def test_squares_that_do_not_fit_64_bits_are_summed_in_longer_integers():
    whole = np.array([[2.0**31 - 1, -(2.0**31) + 1], [3.0, -4.0]])
    squares = rows_module._exact_squared_norms(whole, 31)
    assert squares.tolist() == [float(2 * (2**31 - 1) ** 2), 25.0]


@pytest.mark.parametrize("size", [1e-150, 1e-9, 0.3, 3.0, 1e150])
def test_norms_of_short_and_long_rows_have_as_many_digits(size):
    row = np.array([[3 * size, np.nan, -4 * size]])
    assert squared_norms(row, "center") == pytest.approx([25 * size**2], rel=1e-5, abs=0)


def test_a_long_row_within_a_small_bound_keeps_its_direction():
    grid = Grid(row_norm=1e-15, bits=20)
    whole = quantize(np.array([[3e-12, -4e-12]]), grid)
    assert whole / 2**20 == pytest.approx(np.array([[0.6, -0.8]]), abs=1e-5)
