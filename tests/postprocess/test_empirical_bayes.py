import numpy as np
import pytest

from dpcov.postprocess.empirical_bayes import _FAR, EmpiricalBayes, _grid, fit_prior
from dpcov.postprocess.thinning import BinnedEntries


def binned(z, signal):
    edges = np.linspace(-30, 30, 60 * 16 + 1)
    count, _ = np.histogram(z, edges)
    value = (edges[:-1] + edges[1:]) / 2
    return BinnedEntries(np.array([signal]), value[None, :], count[None, :].astype(float))


def test_no_signal_is_shrunk_to_nothing():
    z = np.random.default_rng(0).standard_normal(100_000)
    prior = fit_prior(binned(z, 10.0))
    assert np.abs(prior.posterior_mean(np.array([-2.0, 0.0, 2.0]), 0)).max() < 0.15


def test_the_posterior_mean_beats_the_entries_themselves():
    generator = np.random.default_rng(0)
    means = np.where(generator.random(50_000) < 0.1, 4.0, 0.0)
    z = means + generator.standard_normal(50_000)
    fitted = fit_prior(binned(z, 10.0)).posterior_mean(z, 0)
    oracle = 4.0 / (1 + 9 * np.exp(8 - 4 * z))
    assert np.mean((fitted - means) ** 2) < 1.05 * np.mean((oracle - means) ** 2)


def test_the_sign_of_the_signal_is_learned():
    generator = np.random.default_rng(0)
    means = np.where(generator.random(50_000) < 0.2, 3.0, 0.0)
    prior = fit_prior(binned(means + generator.standard_normal(50_000), 10.0))
    up, down = prior.posterior_mean(np.array([2.5, -2.5]), 0)
    assert up > 5 * abs(down)


def test_large_entries_are_left_alone():
    prior = EmpiricalBayes(np.array([0.0]), np.array([[1.0]]), np.array([1.0]))
    assert (prior.posterior_mean(np.array([_FAR, 50.0]), 0) == [_FAR, 50.0]).all()


def test_groups_learn_their_own_prior():
    generator = np.random.default_rng(0)
    quiet = binned(generator.standard_normal(20_000), 5.0)
    loud = binned(3.0 + generator.standard_normal(20_000), 5.0)
    both = BinnedEntries(
        np.array([5.0, 5.0]),
        np.concatenate([quiet.value, loud.value]),
        np.concatenate([quiet.count, loud.count]),
    )
    prior = fit_prior(both)
    z = np.array([1.5])
    assert prior.posterior_mean(z, 0)[0] < 0.3
    assert prior.posterior_mean(z, 1)[0] > 2.5


def test_an_empty_group_has_the_common_prior():
    z = binned(np.random.default_rng(0).standard_normal(1000), 5.0)
    empty = BinnedEntries(
        np.array([5.0, 0.0]),
        np.concatenate([z.value, z.value]),
        np.concatenate([z.count, 0 * z.count]),
    )
    prior = fit_prior(empty)
    assert prior.probability[0].sum() == pytest.approx(1.0)
    assert prior.probability[1].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("signal", [0.01, 1.0, 30.0, 1e4])
def test_the_grid_is_fine_near_zero_and_ends_at_one(signal):
    grid = _grid(signal)
    assert grid[0] == pytest.approx(-1.0)
    assert grid[-1] == pytest.approx(1.0)
    assert (np.diff(grid) > 0).all()
    step = grid[len(grid) // 2 + 1]
    assert step * signal <= 0.51
