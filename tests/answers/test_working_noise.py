"""The way back to the noise that was drawn is the derivative of pairwise-complete moments."""

from dataclasses import replace

import numpy as np
import pytest

import dpcov.releases.pairwise as pairwise_moments
from answers.tables import survey
from dpcov.answers.error_sources import ErrorSources


@pytest.fixture
def release(monkeypatch):
    # Counts of rows are shrunk by their noise, which is not linear: without it the rest is exact.
    keep = lambda both, seen, noise: np.where(np.eye(len(seen)), 0.0, both)  # noqa: E731
    monkeypatch.setattr(pairwise_moments, "_shrunk", keep)
    found = survey()
    return found.with_working(found.working)


def moved(release, products, averages):
    """Return matrix and mean of the release, had the noise been larger by so much."""
    working = release.working
    mean = working.mean + averages
    raw = working.matrix + np.outer(working.mean, working.mean) + products
    matrix = raw - np.outer(mean, mean)
    return release.with_working(replace(working, matrix=(matrix + matrix.T) / 2, mean=mean))


def test_the_way_back_is_the_derivative(release):
    rng = np.random.default_rng(0)
    size, n_working = release.n_columns, release.design.n_working
    moments = rng.normal(size=(3, size, size))
    moments = (moments + moments.transpose(0, 2, 1)) / 2
    means = rng.normal(size=(3, size))
    noise = rng.normal(size=(n_working, n_working))
    noise, single = (noise + noise.T) / 2, rng.normal(size=n_working)
    sources = ErrorSources.of(release, np.arange(size), sampled=False)
    products, averages = sources.way_back.pull(moments, means)
    expected = np.einsum("aij,ij->a", products, noise) + averages @ single

    def value(step):
        there = moved(release, step * noise, step * single)
        return np.einsum("aij,ij->a", moments, there.matrix) + means @ there.mean

    assert np.allclose((value(1e-6) - value(-1e-6)) / 2e-6, expected, rtol=1e-5)


def test_products_of_indicators_and_means_have_weights_of_their_own(release):
    sources = ErrorSources.of(release, np.arange(release.n_columns), sampled=False)
    size = release.n_columns
    moments = np.zeros((1, size, size))
    moments[0, 0, 1] = moments[0, 1, 0] = 0.5
    products, averages = sources.way_back.pull(moments, np.zeros((1, size)))
    assert products[0, size, 1] != 0
    assert products[0, size, size + 1] != 0
    assert averages[0, 0] != 0
