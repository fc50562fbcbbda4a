"""Claims P1 and P5: sensitivity on the integers, and the noise that pays for it."""

import math
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from designs import numbers
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import ParameterError
from dpcov.exact import triangle
from dpcov.exact.grid import Grid
from dpcov.exact.randomness import RandomStream
from dpcov.exact.rounded_gaussian import draw_rounded_gaussian
from dpcov.mechanisms import second_moment
from dpcov.mechanisms.second_moment import calibrate_moments, release_gram
from dpcov.privacy import ApproxDP, Neighbors, gaussian_delta
from dpcov.releases import NoiseScale
from dpcov.releases.weights import Weights
from dpcov.sensitive.sums.gram import Gram

GRID = Grid(row_norm=1.0, bits=20)
rows = hnp.arrays(np.float64, 4, elements=st.floats(-1e3, 1e3))
promises = st.builds(
    ApproxDP,
    epsilon=st.floats(1e-3, 100),
    delta=st.floats(1e-300, 0.5),
    neighbors=st.sampled_from(Neighbors),
)


def gram(*table):
    return Gram.from_rows(np.array(table, dtype=float), grid=GRID).sums


def squared_distance(a, b):
    difference = (a - b).astype(object)
    return int((difference * difference).sum())


def squared_sensitivity(neighbors):
    """Of rows of norm 1, written down again: the code under test has its own."""
    return {Neighbors.REPLACE: 2, Neighbors.ADD_REMOVE: 1, Neighbors.LOCAL: 2}[neighbors]


@pytest.mark.claim("P1")
@given(rows, rows, rows)
def test_replacing_a_row_moves_the_gram_no_further_than_claimed(x, y, other):
    assert squared_distance(gram(x, other), gram(y, other)) <= 2 * 16**GRID.bits


@pytest.mark.claim("P1")
@given(rows, rows)
def test_removing_a_row_moves_the_gram_no_further_than_claimed(x, other):
    assert squared_distance(gram(x, other), gram(other)) <= 16**GRID.bits


@pytest.mark.claim("P1")
def test_orthogonal_rows_attain_the_bound_for_replacing():
    x, y = [1.0, 0, 0, 0], [0, 1.0, 0, 0]
    assert squared_distance(gram(x), gram(y)) == 2 * 16**GRID.bits


@pytest.mark.claim("P1")
def test_a_row_at_the_bound_attains_the_bound_for_removing():
    assert squared_distance(gram([0, 0, 1.0, 0]), gram([0, 0, 0, 0.0])) == 16**GRID.bits


@pytest.mark.claim("P1")
def test_without_clipping_the_bound_would_not_hold(monkeypatch):
    def no_clipping(block, grid, missing, out):
        out[:] = np.trunc(block / grid.step)

    monkeypatch.setattr("dpcov.sensitive.sums.gram.quantize_rows", no_clipping)
    assert squared_distance(gram([1.5, 0, 0, 0]), gram([0, 1.5, 0, 0])) > 2 * 16**GRID.bits


@pytest.mark.claim("P5")
@given(promises, st.integers(2, 10**12))
def test_the_noise_pays_for_the_sensitivity_in_every_direction(promise, n_rows):
    calibration = calibrate_moments(promise=promise, n_rows=n_rows, row_norm=1.0)
    # Coordinates of the Frobenius geometry: diagonal entries, and √2 times the others.
    for squared_sd in (
        Fraction(calibration.diagonal) ** 2,
        2 * Fraction(calibration.off_diagonal) ** 2,
    ):
        ratio = squared_sensitivity(promise.neighbors) * 16**calibration.grid.bits / squared_sd
        spent = gaussian_delta(epsilon=promise.epsilon, scale=1 / math.sqrt(ratio))
        assert spent <= promise.delta * (1 + 1e-6)


@given(promises, st.integers(2, 10**12))
def test_the_noise_is_hardly_more_than_needed(promise, n_rows):
    calibration = calibrate_moments(promise=promise, n_rows=n_rows, row_norm=1.0)
    needed = Fraction(second_moment.gaussian_scale(epsilon=promise.epsilon, delta=promise.delta))
    squared = needed**2 * squared_sensitivity(promise.neighbors) * 16**calibration.grid.bits
    assert calibration.diagonal**2 <= squared * (1 + Fraction(1, 2**10))
    assert 2 * calibration.off_diagonal**2 <= squared * (1 + Fraction(1, 2**10))


@given(promises, st.integers(2, 10**15))
def test_sums_and_noise_fit_64_bits(promise, n_rows):
    calibration = calibrate_moments(promise=promise, n_rows=n_rows, row_norm=1.0)
    # 30 standard deviations: beyond that lies less than 1e-190.
    assert n_rows * 4**calibration.grid.bits + 30 * calibration.diagonal < 2**63


@pytest.mark.parametrize(
    ("n_rows", "bits"), [(1000, 20), (2**22, 20), (2**22 + 1, 19), (10**9, 16), (10**12, 11)]
)
def test_the_grid_is_coarser_for_very_many_rows(n_rows, bits):
    promise = ApproxDP(1.0, 1e-6, "replace")
    assert calibrate_moments(promise=promise, n_rows=n_rows, row_norm=1.0).grid.bits == bits


def test_a_promise_that_needs_absurd_noise_is_refused():
    with pytest.raises(ParameterError, match="raise epsilon or delta"):
        calibrate_moments(promise=ApproxDP(1e-15, 1e-300, "replace"), n_rows=10, row_norm=1.0)


@pytest.mark.claim("P17")
@pytest.mark.claim("P28")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("traces", [False, True])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_the_noise_is_that_of_what_one_person_moves(relation, mean, traces, rows):
    calibration = calibrate_moments(
        promise=ApproxDP(1.0, 1e-5, relation),
        n_rows=100,
        row_norm=1.0,
        multiplier=5.0,
        with_mean=mean,
        rows_per_unit=rows,
        leaves_traces=traces,
    )
    squared = 4**calibration.grid.bits
    # A constant of a quarter of the norm; what leaves traces is replaced in either relation.
    constant = squared // 16 if mean else 0
    moved = squared**2 + 2 * squared * constant
    if relation == "replace" or traces:
        moved = 2 * (squared + constant) ** 2
    needed = 25 * rows**2 * moved
    for variance in (calibration.diagonal**2, 2 * calibration.off_diagonal**2):
        assert needed <= variance <= needed * (1 + Fraction(1, 10**6))
    assert calibration.grid.constant**2 == constant
    assert calibration.rows_per_unit == rows


@pytest.mark.claim("P20")
def test_a_calibration_is_for_one_row_of_a_person_unless_more_are_stated():
    made = calibrate_moments(promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=9, row_norm=1.0)
    stated = {each.name: getattr(made, each.name) for each in fields(made)}
    assert stated.pop("rows_per_unit") == 1
    assert second_moment.MomentsCalibration(**stated) == made


def test_known_noise_per_row():
    calibration = calibrate_moments(promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=1, row_norm=2.0)
    assert calibration.noise_scale.off_diagonal == pytest.approx(3.7306 * 4, rel=1e-4)
    assert calibration.noise_scale.diagonal == pytest.approx(3.7306 * 4 * math.sqrt(2), rel=1e-4)


def test_add_remove_needs_less_noise_by_root_two():
    scales = [
        calibrate_moments(
            promise=ApproxDP(1.0, 1e-5, neighbors), n_rows=100, row_norm=1.0
        ).noise_scale.off_diagonal
        for neighbors in ("replace", "add-remove")
    ]
    assert scales[0] / scales[1] == pytest.approx(math.sqrt(2))


def test_the_same_stream_gives_the_same_release_and_the_noise_is_symmetric():
    promise = ApproxDP(1.0, 1e-5, "replace")
    calibration = calibrate_moments(promise=promise, n_rows=6, row_norm=1.0)
    sums = Gram.from_rows(np.eye(6)[:, :5], grid=calibration.grid)
    first, second = (
        release_gram(sums, calibration, design=numbers(5), stream=RandomStream.from_seed(3))
        for _ in range(2)
    )
    assert first == second
    assert (first.matrix == first.matrix.T).all()
    assert len(np.unique(first.matrix[np.triu_indices(5)])) == 15


@pytest.mark.parametrize("bands", [1, 7, 1000])
def test_every_entry_gets_its_own_noise_whatever_the_bands(monkeypatch, bands):
    monkeypatch.setattr(second_moment, "_DRAWS_AT_A_TIME", bands)
    promise = ApproxDP(1.0, 1e-5, "replace")
    calibration = calibrate_moments(promise=promise, n_rows=2, row_norm=1.0)
    zero = Gram.from_rows(np.zeros((2, 40)), grid=calibration.grid)
    stream = RandomStream.from_seed(1)
    matrix = release_gram(zero, calibration, design=numbers(40), stream=stream).matrix
    assert len(np.unique(matrix[np.triu_indices(40)])) == 820


def plain_release(full, calibration, stream, band):
    """The noisy average of a whole matrix, written down again: first the diagonal's noise."""
    noisy, size = full.copy(), len(full)
    noisy[np.diag_indices(size)] += draw_rounded_gaussian(calibration.diagonal, size, stream)
    for top in range(0, size - 1, band):
        places = [(i, j) for i in range(top, min(top + band, size - 1)) for j in range(i + 1, size)]
        noise = draw_rounded_gaussian(calibration.off_diagonal, len(places), stream)
        for (i, j), drawn in zip(places, noise, strict=True):
            noisy[i, j] += drawn
            noisy[j, i] = noisy[i, j]
    return noisy.astype(np.float64) * calibration.step


@pytest.mark.parametrize("band", [1, 7, 100])
@pytest.mark.parametrize("entries", [1, 150, 10_000])
def test_the_same_seed_gives_the_same_bytes_whatever_the_panels(monkeypatch, entries, band):
    size = 40
    monkeypatch.setattr(triangle, "_PANEL_ENTRIES", entries)
    monkeypatch.setattr(second_moment, "_DRAWS_AT_A_TIME", band * size)
    calibration = calibrate_moments(promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=50, row_norm=1.0)
    table = np.random.default_rng(0).normal(size=(50, size))
    sums = Gram.from_rows(table, grid=calibration.grid)
    assert (len(list(sums.triangle.panels())) == 1) == (entries == 10_000)
    stream = RandomStream.from_seed(1)
    matrix = release_gram(sums, calibration, design=numbers(size), stream=stream).matrix
    expected = plain_release(sums.sums, calibration, RandomStream.from_seed(1), band)
    assert matrix.tobytes() == expected.tobytes()


def test_the_gram_must_fit_the_plan():
    calibration = calibrate_moments(promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=3, row_norm=1.0)
    stream = RandomStream.from_seed(0)
    other_rows = Gram.from_rows(np.eye(2), grid=calibration.grid)
    other_grid = Gram.from_rows(np.eye(3), grid=Grid(row_norm=2.0, bits=20))
    other_design = Gram.from_rows(np.eye(3), grid=calibration.grid)
    for wrong, size in ((other_rows, 2), (other_grid, 3), (other_design, 2)):
        with pytest.raises(ParameterError, match="not made for this calibration"):
            release_gram(wrong, calibration, design=numbers(size), stream=stream)


def test_without_noise_moments_and_mean_are_those_of_the_rows(monkeypatch):
    monkeypatch.setattr(second_moment, "add_noise", lambda sums, scale, stream: sums)
    table = np.random.default_rng(0).normal(0.1, 0.2, size=(400, 3)) / 2
    calibration = calibrate_moments(
        promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=400, row_norm=1.0, with_mean=True
    )
    sums = Gram.from_rows(table, grid=calibration.grid)
    stream = RandomStream.from_seed(1)
    made = release_gram(sums, calibration, design=numbers(3), stream=stream)
    assert made.mean == pytest.approx(table.mean(axis=0), abs=1e-6)
    # The square of a noisy mean is too large by its noise.
    noise = calibration.off_diagonal * calibration.grid.step / calibration.grid.constant / 400
    assert made.noise_scale.mean == pytest.approx(noise, rel=1e-12)
    expected = np.cov(table.T, bias=True) + noise**2 * np.eye(3)
    assert made.matrix == pytest.approx(expected, abs=1e-6)
    scale = calibration.grid.step**2 / 400
    assert made.noise_scale.diagonal == pytest.approx(calibration.diagonal * scale, rel=1e-12)
    assert made.noise_scale.off_diagonal == pytest.approx(
        calibration.off_diagonal * scale, rel=1e-12
    )


@pytest.mark.claim("P27")
def test_without_noise_weighted_moments_and_mean_are_those_of_the_rows():
    weights = Weights(bound=4.0, mean=0.25, mean_square=0.1, error=0.01, constant=0.5)
    generator = np.random.default_rng(0)
    share, table = generator.random(400), generator.normal(size=(400, 2))
    share *= 0.25 / share.mean()
    whole = np.sqrt(share)[:, None] * np.column_stack([table, np.full(400, 0.5)])
    noise = NoiseScale(0.01, 0.02, mean=0.03)
    moments, mean = second_moment._take_out_weights(whole.T @ whole / 400, noise, weights)
    expected = share @ table / share.sum()
    apart = table - expected
    assert mean == pytest.approx(expected)
    assert moments == pytest.approx(
        (apart * share[:, None]).T @ apart / share.sum() + 0.03**2 * np.eye(2)
    )


def test_without_a_mean_there_is_no_noise_of_one():
    promise = ApproxDP(1.0, 1e-5, "replace")
    with_mean, without = (
        calibrate_moments(promise=promise, n_rows=9, row_norm=1.0, with_mean=mean).noise_scale.mean
        for mean in (True, False)
    )
    assert with_mean > 0 == without


@pytest.mark.parametrize("shares", [None, [0.75, 0.5]])
def test_indicators_of_gaps_are_about_the_shares_that_were_learned_or_about_one(shares):
    design = Design.of([Field("a"), Field("b", may_be_missing=False), Field("c")], gaps=True)
    calibration = calibrate_moments(
        promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=9, row_norm=1.0, with_mean=True
    )
    made = release_gram(
        Gram.from_rows(np.zeros((9, design.n_working)), grid=calibration.grid),
        calibration,
        design=design,
        stream=RandomStream.from_seed(0),
        observed=None if shares is None else np.array(shares),
    )
    assert made.working.observed.tolist() == (shares or [1.0, 1.0])
