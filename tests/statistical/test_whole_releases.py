"""Whole releases of tables with columns of every kind, of which nothing or bounds are stated.

Seeds are fixed. What is allowed follows from the noise, which is computed here by hand.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.postprocess.clipped import Clipped
from dpcov.privacy import gaussian_scale
from statistical.kinds import BOUNDS, simulate

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
EPSILON, DELTA = 1.0, 1e-6
SEEDS = range(8)
SIZE = len(BOUNDS)
STATED = {"nothing": None, "bounds": BOUNDS}
CONSTANT = list(BOUNDS).index("constant")


@cache
def table(n_rows, seed):
    cells = simulate(n_rows, seed)
    return pd.DataFrame({name: np.asarray(column, dtype=float) for name, column in cells.items()})


def release_of(n_rows, stated, seed, epsilon=EPSILON, allow=()):
    facts = {"epsilon": epsilon, "delta": DELTA, "columns": STATED[stated], "allow": allow}
    return dpcov.release(table(n_rows, seed), **facts, seed=100 + seed)


@cache
def releases(n_rows, stated):
    return [release_of(n_rows, stated, seed) for seed in SEEDS]


def limited(release, seed):
    """Return the table with its cells limited as the release says, in working units."""
    cells = np.clip(table(release.n_rows, seed).to_numpy(), *release.limits)
    return (cells - release.units.center) / release.units.scale


SETTINGS = [(n_rows, stated) for n_rows in (20_000, 1200) for stated in STATED]


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("n_rows", [1000, 200])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_few_rows_that_are_allowed_have_estimates(n_rows, stated, epsilon):
    for seed in range(3):
        release = release_of(n_rows, stated, seed, epsilon, allow={"small"})
        correlation = release.estimate().correlation
        assert np.isfinite(correlation).all()
        assert np.abs(correlation).max() <= 1
        low, high = release.estimate().interval(0.95, about="table")
        assert np.isfinite(low).all()
        assert (low <= high).all()


def noise_by_hand(release):
    """The sd of an entry: σ √2 (1 + 1/16) R² / √2 over the rows, σ for what is left of ε."""
    sigma = gaussian_scale(epsilon=EPSILON, delta=DELTA) / release.shares["moments"] ** 0.5
    return sigma * (1 + 1 / 16) * release.provenance.row_norm**2 / release.n_rows


def scores(made, correlations=lambda release: None):
    """Return errors of correlations of the limited table, in noise sd; those that vary alone.

    Released covariances are divided by the true deviations: their errors are the noise alone, and
    what clipping does.
    """
    found = []
    for seed, release in zip(SEEDS, made, strict=True):
        rows = limited(release, seed)
        deviation = rows.std(axis=0)
        # A column of which hardly anything is within its limits has no correlations to speak of.
        varies = np.flatnonzero(deviation > 0.1)
        first, second = (varies[place] for place in np.triu_indices(len(varies), k=1))
        unit = deviation[first] * deviation[second]
        truth = np.corrcoef(rows[:, varies].T)[np.triu_indices(len(varies), k=1)]
        own = correlations(release)
        values = release.matrix[first, second] / unit if own is None else own[first, second]
        found.append((values - truth) / (noise_by_hand(release) / unit))
    return np.concatenate(found)


@pytest.mark.parametrize(("n_rows", "stated"), SETTINGS)
def test_correlations_are_as_far_off_as_their_noise(n_rows, stated):
    off = scores(releases(n_rows, stated))
    assert off.size > 20 * len(SEEDS)
    # Clipping adds to the noise, by half of it at most; and nothing else does.
    assert 0.8 < np.sqrt((off**2).mean()) < 1.6
    assert abs(np.median(off)) < 0.5


@pytest.mark.parametrize("stated", STATED)
def test_estimated_correlations_are_no_worse(stated):
    made = releases(20_000, stated)
    off = scores(made, lambda release: release.estimate(sparse=False).correlation)
    assert np.sqrt((off**2).mean()) < 1.6


def test_twice_the_noise_fails_the_same_test(monkeypatch):
    where = "dpcov.mechanisms.learning.budget.gaussian_scale"
    monkeypatch.setattr(where, lambda **facts: 2 * gaussian_scale(**facts))
    made = [release_of(20_000, "bounds", seed) for seed in SEEDS]
    assert np.sqrt((scores(made) ** 2).mean()) > 1.6


@pytest.mark.parametrize("stated", STATED)
def test_what_twenty_thousand_rows_show_is_right(stated):
    """All columns but the constant one are learned, and correlations are off by 0.01 to 0.02."""
    for seed, release in zip(SEEDS, releases(20_000, stated), strict=True):
        rows = limited(release, seed)
        others = np.delete(np.arange(SIZE), CONSTANT)
        deviation = rows[:, others].std(axis=0)
        assert ((deviation > 0.4) & (deviation < 2.5)).all()
        truth = np.corrcoef(rows[:, others].T)
        found = release.estimate(sparse=False).correlation[np.ix_(others, others)]
        # R² is about 2.5 p, and the noise of an entry 5.9 R² / n: 0.008. It is twice as much for
        # columns whose scale is found to be twice their deviation; and clipping adds half of it.
        assert np.sqrt(((found - truth) ** 2).mean()) < 3 * 5.9 * 2.5 * SIZE / 20_000


@pytest.mark.parametrize(("n_rows", "stated"), SETTINGS)
def test_cells_beyond_the_limits_are_as_many_as_is_said(n_rows, stated):
    off = []
    for seed, release in zip(SEEDS, releases(n_rows, stated), strict=True):
        cells = table(n_rows, seed).to_numpy()
        lower, upper = release.limits
        beyond = ((cells < lower) | (cells > upper)).mean(axis=0)
        off.append((release.learned.beyond - beyond) / release.learned.beyond_error)
    assert np.abs(off).max() < 4
    assert 0.7 < np.std(off) < 1.3


def coverage(made):
    """Return how often intervals at 95 % hold the covariances of the limited table."""
    hits = []
    for seed, release in zip(SEEDS, made, strict=True):
        scale = release.units.scale
        truth = np.cov(limited(release, seed).T, bias=True) * np.outer(scale, scale)
        low, high = release.estimate(threshold=0.0).interval(0.95, about="table")
        hits.append(((low <= truth) & (truth <= high))[np.triu_indices(SIZE)].mean())
    return np.mean(hits)


@pytest.mark.parametrize(("n_rows", "stated"), SETTINGS)
def test_intervals_about_the_table_cover_the_limited_one(n_rows, stated):
    assert 0.90 < coverage(releases(n_rows, stated)) < 0.99


@pytest.mark.parametrize(("n_rows", "stated"), SETTINGS)
def test_half_the_noise_without_an_allowance_for_clipping_fails_the_same_test(
    monkeypatch, n_rows, stated
):
    monkeypatch.setattr(Clipped, "of", lambda release: Clipped())
    halved = []
    for release in releases(n_rows, stated):
        noise = release.noise_scale
        half = replace(
            noise,
            off_diagonal=noise.off_diagonal / 2,
            diagonal=noise.diagonal / 2,
            mean=noise.mean / 2,
        )
        halved.append(replace(release, noise_scale=half))
    assert not 0.90 < coverage(halved) < 0.99
