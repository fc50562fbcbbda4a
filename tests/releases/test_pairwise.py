"""Pairwise-complete moments against those that pandas computes from the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.units import Units
from dpcov.releases import pairwise
from dpcov.releases.noise_scale import NoiseScale
from dpcov.releases.working import WorkingMoments
from dpcov.sensitive.tables.working import Reading, take_apart

N_ROWS = 400
SILENT = NoiseScale(1e-30, 1e-30, mean=1e-30)


def exact(rows, design, shares):
    """Return the working moments of rows, without noise."""
    reading = Reading.of(design, fills=True)
    reading = Reading(
        reading.lower, reading.upper, reading.center, reading.scale, design, shares, fills=True
    )
    working = reading.read(rows)
    mean = working.mean(axis=0)
    matrix = working.T @ working / len(rows) - np.outer(mean, mean)
    moments = WorkingMoments(
        design=design, matrix=(matrix + matrix.T) / 2, mean=mean, observed=shares
    )
    return moments, reading


def found(rows, design, shares, noise=SILENT):
    moments, reading = exact(rows, design, shares)
    return pairwise.pairwise_moments(moments, noise, n_rows=len(rows), units=reading.units), reading


def expected(rows, design):
    """Return what pandas says: covariances by pairs, means, and shares of rows."""
    values = pd.DataFrame(take_apart(rows, design))
    there = values.notna().to_numpy(dtype=float)
    together = there.T @ there
    # With gaps pandas divides by one less than the number of rows, whatever it is told.
    covariance = values.cov().to_numpy() * (together - 1) / np.maximum(together, 1)
    return covariance, values.mean().to_numpy(), together / len(rows)


@given(
    st.integers(0, 2**32),
    st.lists(st.floats(0.0, 0.8), min_size=4, max_size=4),
    st.lists(st.floats(0.05, 1.0), min_size=4, max_size=4),
)
def test_without_noise_they_are_those_of_pandas(seed, gaps, shares):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(N_ROWS, 4)) @ generator.normal(size=(4, 4)) + [0, 1, -2, 0.5]
    # Gaps that go with the values, and with each other.
    rows[(generator.random((N_ROWS, 4)) + 0.1 * np.sign(rows[:, :1])) < gaps] = np.nan
    design = Design(tuple(map(Field, "abcd")))
    moments, _ = found(rows, design, np.array(shares))
    covariance, mean, together = expected(rows, design)
    seen = moments.observed > 10 / N_ROWS
    assert moments.observed == pytest.approx(together, abs=1e-9)
    assert moments.matrix[seen] == pytest.approx(covariance[seen], abs=1e-9)
    assert moments.mean[np.diag(seen)] == pytest.approx(mean[np.diag(seen)], abs=1e-9)


@given(st.integers(0, 2**32))
def test_without_noise_so_are_those_of_categories(seed):
    generator = np.random.default_rng(seed)
    number = generator.normal(size=N_ROWS)
    sex = np.digitize(number + generator.normal(size=N_ROWS), [-0.5, 0.5]).astype(float)
    answer = (generator.random(N_ROWS) < 0.3 + 0.2 * (sex == 1)).astype(float)
    rows = np.column_stack([number, sex, answer])
    rows[generator.random(rows.shape) < [0.2, 0.1, 0.0]] = np.nan
    design = Design(
        (Field("a"), Field("s", ("f", "m", "x")), Field("t", ("no", "yes"), may_be_missing=False))
    )
    moments, reading = found(rows, design, np.array([0.8, 0.9]))
    covariance, mean, together = expected(rows, design)
    own = reading.units.to_own(moments.matrix)
    assert moments.observed == pytest.approx(together, abs=1e-9)
    assert own == pytest.approx(covariance, abs=1e-5)
    assert reading.center + reading.scale * moments.mean == pytest.approx(mean, abs=1e-5)


def test_pairs_that_are_never_seen_together_say_nothing():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(N_ROWS, 2))
    rows[:200, 0] = rows[200:, 1] = np.nan
    moments, _ = found(rows, Design(tuple(map(Field, "ab"))), np.array([0.5, 0.5]))
    assert moments.matrix[0, 1] == 0
    assert moments.noise_variance[0, 1] > 50 * np.prod(np.diag(moments.matrix))


@pytest.mark.parametrize("noise", [1e-30, 1e-3, 1.0])
def test_a_column_without_a_cell_says_nothing(noise):
    rows = np.random.default_rng(0).normal(size=(N_ROWS, 2))
    rows[:, 1] = np.nan
    moments, _ = found(
        rows,
        Design(tuple(map(Field, "ab"))),
        np.array([1.0, 0.05]),
        NoiseScale(noise, noise, mean=noise),
    )
    assert all(np.isfinite(array).all() for array in vars(moments).values())
    if noise < 1:
        assert moments.mean[1] == 0
        assert moments.mean_error[1] > 5
        assert (moments.observed > 0).all()


GAPS = Design(tuple(map(Field, "abc")))
NOISE = NoiseScale(0.004, 0.004 * 2**0.5, mean=0.004)
REPEATS = 400


def noisy_errors():
    """Return errors of many noisy covariances in units of their stated noise, and how large."""
    generator = np.random.default_rng(5)
    rows = generator.normal([0.8, -0.6, 0.0], size=(20_000, 3))
    rows[:, 1] = 0.95 * rows[:, 0] + 0.1 * rows[:, 1]
    rows[generator.random(rows.shape) < [0.4, 0.3, 0.2]] = np.nan
    moments, _ = exact(rows, GAPS, np.array([0.6, 0.7, 0.8]))
    truth, _, _ = expected(rows, GAPS)
    second = moments.matrix + np.outer(moments.mean, moments.mean)
    scores = []
    for _ in range(REPEATS):
        mean = moments.mean + NOISE.mean * generator.normal(size=6)
        upper = np.triu(generator.normal(size=(6, 6)) * NOISE.off_diagonal, 1)
        own = np.diag(generator.normal(size=6) * NOISE.diagonal)
        matrix = second + upper + upper.T + own - np.outer(mean, mean) + NOISE.mean**2 * np.eye(6)
        made = WorkingMoments(
            design=GAPS, matrix=(matrix + matrix.T) / 2, mean=mean, observed=moments.observed
        )
        each = pairwise.pairwise_moments(made, NOISE, n_rows=len(rows), units=Units.plain(3))
        scores.append((each.matrix - truth) / np.sqrt(each.noise_variance))
    return np.array(scores)


def test_the_stated_noise_is_that_of_the_covariances():
    spread = noisy_errors().std(axis=0)
    assert np.abs(spread - 1).max() < 0.2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("products + linear + second + rest + hidden", "products + linear + second + hidden"),
        ("products + linear + second + rest + hidden", "products + rest + hidden"),
    ],
    ids=["noise of the shares forgotten", "noise of the means forgotten"],
)
def test_forgotten_noise_is_found(monkeypatch, old, new):
    from wiring.planting import plant

    plant(monkeypatch, "releases.pairwise:_Apart.variance", old, new)
    assert np.abs(noisy_errors().std(axis=0) - 1).max() > 0.2


def test_a_wrong_sign_of_the_means_is_found(monkeypatch):
    from wiring.planting import plant

    plant(
        monkeypatch,
        "releases.pairwise:pairwise_moments",
        "apart.products / safe - mean * mean.T",
        "apart.products / safe + mean * mean.T",
    )
    assert np.abs(noisy_errors().mean(axis=0)).max() > 3


def test_columns_whose_gaps_stand_out_together_have_gaps():
    gaps = np.array([0.02, 0.021, 0.019, 0.02, 0.018, -0.001])  # 2 sd each
    assert pairwise._have_gaps(gaps, 0.01).tolist() == [True] * 5 + [False]


def test_columns_beside_one_with_gaps_are_complete():
    gaps = np.array([0.3, 0.01, -0.01, 0.005, 0.0])
    assert pairwise._have_gaps(gaps, 0.01).tolist() == [True, False, False, False, False]


def test_gaps_of_all_columns_do_not_make_covariances_too_small():
    rng = np.random.default_rng(0)
    rows = 0.7 * rng.normal(size=(2_000, 1)) + 0.714 * rng.normal(size=(2_000, 10))
    frame = pd.DataFrame(rows).add_prefix("q").mask(rng.random(rows.shape) < 0.1)
    ratios = []
    for seed in range(8):
        release = dpcov.release(frame, epsilon=1, delta=1e-6, seed=seed)
        limited = np.clip(frame, *release.limits)
        ratios.append(np.trace(release.units.to_own(release.matrix)) / np.trace(limited.cov()))
    assert 0.945 < np.mean(ratios) < 1.03  # 0.92 if some are read as complete
