"""Weighted rows: bounded, paid for, and right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.errors import InputError, ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.weighing import weight_shares
from dpcov.sensitive.sums.field_counts import WEIGHT_STEPS, FieldKernel
from dpcov.sensitive.sums.gram import Gram
from dpcov.sensitive.tables.working import Reading, Weighing

ANY = st.floats(allow_nan=True, allow_infinity=True)
DESIGN = Design((Field("a"), Field("b", ("x", "y"))))


def _survey(n_rows: int = 20_000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=n_rows)
    rows = {f"x{place}": 0.6 * factor + rng.normal(size=n_rows) for place in range(5)}
    weight = rng.gamma(2.0, 0.5, n_rows) * np.exp(0.5 * factor)
    return pd.DataFrame({**rows, "w": np.minimum(weight, 8.0)})


def _weighted(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    cells, weight = table.drop(columns="w").to_numpy(), table["w"].to_numpy()
    mean = weight @ cells / weight.sum()
    apart = cells - mean
    return (apart * weight[:, None]).T @ apart / weight.sum(), mean


@pytest.mark.claim("P27")
@given(st.lists(ANY, min_size=1, max_size=5), st.floats(1e-3, 1e3))
def test_a_weight_is_a_share_of_its_bound_whatever_is_written_there(weights, bound):
    shares = weight_shares(np.array(weights), bound)

    assert ((shares >= 0) & (shares <= 1)).all()


@pytest.mark.claim("P27")
@given(ANY, st.floats(-10, 10), st.sampled_from([0.0, 1.0, np.nan]))
def test_a_weighted_row_is_no_longer_than_the_row_itself(weight, cell, level):
    plain = Reading.of(DESIGN, fills=True)
    weighed = Reading(
        plain.lower,
        plain.upper,
        plain.center,
        plain.scale,
        DESIGN,
        plain.observed,
        True,
        Weighing(2.0, 0.5),
    )
    row = weighed.read(np.array([[cell, level, weight]]))[0]
    most = plain.read(np.array([[cell, level]]))[0]

    assert np.isfinite(row).all()
    assert row @ row <= (most @ most + 0.25) * (1 + 1e-12)


@pytest.mark.claim("P27")
@given(ANY, ANY)
def test_one_weight_moves_both_sums_by_no_more_than_the_steps(one, other):
    def sums(weight: float) -> np.ndarray:
        kernel = FieldKernel(DESIGN, None, Missing.PAIRWISE, weight_bound=3.0)
        return kernel.sum_over([np.array([[0.0, 1.0, weight], [0.0, 0.0, 1.0]])]).weights

    assert (np.abs(sums(one) - sums(other)) <= WEIGHT_STEPS).all()


@pytest.mark.claim("P27")
def test_the_bound_on_both_sums_is_attained():
    kernel = FieldKernel(DESIGN, None, Missing.PAIRWISE, weight_bound=3.0)
    most, least = (
        kernel.sum_over([np.array([[0.0, 1.0, weight]])]).weights for weight in (1e9, np.nan)
    )

    assert (most - least).tolist() == [WEIGHT_STEPS, WEIGHT_STEPS]


@pytest.mark.claim("P27")
def test_what_is_clipped_holds_the_constant_of_weights_too():
    reading = Reading.of(DESIGN, fills=True)
    weighed = Reading(
        reading.lower,
        reading.upper,
        reading.center,
        reading.scale,
        DESIGN,
        reading.observed,
        True,
        Weighing(1.0, 3.0),
    )
    gram = Gram.from_rows(weighed.read(np.array([[50.0, 0.0, 1.0]])), grid=Grid(2.0, 20))

    assert int(np.trace(gram.sums)) <= 4**20


def test_weighted_moments_and_means_are_those_of_the_table():
    table = _survey()
    release = dpcov.release(table, epsilon=3.0, delta=1e-6, weight="w", weight_bound=8.0, seed=1)
    covariance, mean = _weighted(table)
    estimate = release.estimate()
    low, high = estimate.interval(0.9999, about="table")

    assert ((low <= covariance) & (covariance <= high)).all()
    assert release.pairwise is not None
    error = release.pairwise.mean_error * release.units.scale
    assert (np.abs(release.location - mean) < 5 * error + 0.02).all()
    # A control: without weights the means are others.
    assert np.abs(table.drop(columns="w").mean().to_numpy() - mean).min() > 0.1


def test_the_effective_number_of_rows_is_released():
    table = _survey()
    release = dpcov.release(table, epsilon=3.0, delta=1e-6, weight="w", weight_bound=8.0, seed=1)
    weight = table["w"].to_numpy()

    assert release.n_terms == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), rel=0.05)


@pytest.mark.parametrize("weight", [-1.0, np.nan, 0.0])
def test_what_is_no_weight_counts_nothing(weight):
    table = _survey(4000)
    far = table.copy()
    far.loc[:9, "w"] = weight
    far.loc[:9, "x0"] = 1e6
    gone = far.copy()
    gone.loc[:9, "x0"] = -1e6

    one, other = (
        dpcov.release(
            each,
            epsilon=1.0,
            delta=1e-6,
            weight="w",
            weight_bound=8.0,
            seed=2,
            columns={f"x{place}": {"center": 0, "scale": 1} for place in range(5)},
        )
        for each in (far, gone)
    )

    assert np.array_equal(one.matrix, other.matrix)


def test_weights_beyond_their_bound_are_the_bound_and_refuse_nothing():
    table = _survey(4000)
    far, capped = table.copy(), table.copy()
    far.loc[:9, "w"] = np.inf
    capped.loc[:9, "w"] = 8.0

    one, other = (
        dpcov.release(each, epsilon=1.0, delta=1e-6, weight="w", weight_bound=8.0, seed=2)
        for each in (far, capped)
    )

    assert one == other


def test_a_weighted_release_is_read_back(tmp_path: Path):
    release = dpcov.release(
        _survey(4000), epsilon=1.0, delta=1e-6, weight="w", weight_bound=8.0, seed=2
    )
    release.save(tmp_path / "release.npz")

    assert dpcov.Release.load(tmp_path / "release.npz") == release


def test_the_weight_is_not_released():
    release = dpcov.release(
        _survey(4000), epsilon=1.0, delta=1e-6, weight="w", weight_bound=8.0, seed=2
    )

    assert "w" not in release.columns


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({"weight": "w"}, "go together"),
        ({"weight_bound": 3.0}, "go together"),
        ({"weight": "w", "weight_bound": 0.0}, "weight_bound must lie"),
        ({"weight": "w", "weight_bound": float("nan")}, "weight_bound must"),
        ({"weight": "w", "weight_bound": 3.0, "row_norm": 2.0}, "leave row_norm out"),
        ({"weight": "u", "weight_bound": 3.0}, "does not have"),
        ({"weight": "w", "weight_bound": 3.0, "columns": {"w": (0, 8)}}, "not released"),
        ({"weight": "w", "weight_bound": 3.0, "privacy_unit": "w", "rows_per_unit": 2}, "both"),
    ],
)
def test_impossible_weights_are_refused_for_nothing(stated, reason):
    with pytest.raises((ParameterError, InputError), match=reason) as refused:
        dpcov.release(_survey(100), epsilon=1.0, delta=1e-6, **stated)

    assert "Nothing was spent." in str(refused.value)


@pytest.mark.claim("P27")
def test_only_the_size_of_weights_beside_their_bound_counts():
    table = _survey(1000)
    small = table.assign(w=table["w"] / 2**20)
    stated = {"epsilon": 1.0, "delta": 1e-6, "weight": "w", "seed": 2}

    one = dpcov.release(table, **stated, weight_bound=8.0)
    other = dpcov.release(small, **stated, weight_bound=8.0 / 2**20)

    assert np.array_equal(one.matrix, other.matrix)
