import math

import numpy as np
import pytest

from dpcov.postprocess.choice import EMPIRICAL_BAYES, Choice, choose
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.rules import RULES
from dpcov.postprocess.shrinkage import shrink_entries
from dpcov.postprocess.thinning import signal_edges
from postprocess.simulation import band, release_of


@pytest.fixture(scope="module")
def release():
    return release_of(band(40), n_rows=20_000)


@pytest.mark.parametrize("rule", [*RULES, EMPIRICAL_BAYES])
def test_shrinking_is_exactly_symmetric_and_kills_below_the_threshold(release, rule):
    noise = NoiseModel.of(release)
    shrunk = shrink_entries(
        release.matrix, noise, choose(release.matrix, noise, rule=rule, threshold=3)
    )
    z = np.abs(release.matrix) / np.sqrt(noise.block(slice(None)))
    off = ~np.eye(40, dtype=bool)
    assert (shrunk == shrunk.T).all()
    assert not shrunk[off & (z <= 3)].any()
    assert shrunk[off & (z > 3)].any()
    assert (np.diag(shrunk) == noise.variances).all()


def test_the_paper_s_threshold_is_in_the_units_of_the_matrix(release):
    noise = NoiseModel.of(release)
    choice = Choice("hard", 1.0, RULES["hard"], paper_threshold=0.2)
    shrunk = shrink_entries(release.matrix, noise, choice)
    off = ~np.eye(40, dtype=bool)
    assert ((shrunk != 0) == (np.abs(release.matrix) > 0.2))[off].all()


def test_an_infinite_threshold_leaves_the_diagonal(release):
    noise = NoiseModel.of(release)
    shrunk = shrink_entries(release.matrix, noise, Choice("hard", math.inf, RULES["hard"]))
    assert (shrunk == np.diag(noise.variances)).all()


@pytest.mark.parametrize("rule", [*RULES, EMPIRICAL_BAYES])
def test_what_is_above_the_threshold_is_kept_whatever_the_variances(rule):
    truth = band(40) * np.sqrt(np.outer(np.repeat([1, 9], 20), np.repeat([1, 9], 20)))
    release = release_of(truth, n_rows=20_000)
    noise = NoiseModel.of(release)
    shrunk = shrink_entries(
        release.matrix, noise, choose(release.matrix, noise, rule=rule, threshold=3)
    )
    z = np.abs(release.matrix) / np.sqrt(noise.block(slice(None)))
    off = ~np.eye(40, dtype=bool)
    assert (shrunk[off & (z > 3.01)] != 0).all()
    assert (np.sign(shrunk) == np.sign(release.matrix))[off & (z > 5)].all()


def test_the_posterior_mean_is_the_plain_one():
    release = release_of(band(40), n_rows=5000)
    noise = NoiseModel.of(release)
    choice = choose(release.matrix, noise, rule=EMPIRICAL_BAYES, threshold=2)
    shrunk = shrink_entries(release.matrix, noise, choice)
    prior, sd = choice.shrink, np.sqrt(noise.block(slice(None)))
    group = np.searchsorted(signal_edges(noise), noise.signal(slice(None)) / sd)
    for i, j in [(0, 1), (5, 6), (3, 30), (20, 21)]:
        z = release.matrix[i, j] / sd[i, j]
        means = prior.correlation * prior.signal[group[i, j]]
        weights = prior.probability[group[i, j]] * np.exp(-0.5 * (z - means) ** 2)
        expected = sd[i, j] * (weights @ means) / weights.sum() if abs(z) < 10 else z * sd[i, j]
        assert shrunk[i, j] == pytest.approx(expected if abs(z) > 2 else 0.0, abs=0.01 * sd[i, j])
