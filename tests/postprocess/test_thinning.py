import numpy as np
import pytest
from scipy import stats

from dpcov.postprocess import thinning
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.thinning import bin_entries, signal_edges, thin

SIZE = 300


def simulate(means, seed=0, variances=None):
    """A symmetric matrix with the given means and the noise that its model says."""
    variances = np.ones(SIZE) if variances is None else variances
    noise = NoiseModel(variances, n_rows=1000, off_diagonal=0.05, diagonal=0.07)
    normal = np.triu(np.random.default_rng(seed).standard_normal((SIZE, SIZE)), k=1)
    matrix = means + (normal + normal.T) * np.sqrt(noise.block(slice(None)))
    return matrix, noise


def hard_risk(means, threshold, seed):
    """The estimated and the true risk of a hard threshold on the first copy."""
    matrix, noise = simulate(means, seed)
    entries = thin(matrix, noise)
    value = entries.first.value
    return entries.risk(np.where(np.abs(value) > threshold, value, 0.0))


def test_the_same_matrix_gives_the_same_answer():
    matrix, noise = simulate(np.zeros((SIZE, SIZE)))
    first, second = thin(matrix, noise), thin(matrix.copy(), noise)
    assert (first.cross == second.cross).all()
    assert (first.first.value == second.first.value).all()


def test_every_entry_is_counted_once():
    matrix, noise = simulate(np.zeros((SIZE, SIZE)))
    entries = thin(matrix, noise)
    pairs = SIZE * (SIZE - 1) / 2
    assert bin_entries(matrix, noise).count.sum() == pairs
    assert entries.first.count.sum() == pairs
    above = np.triu_indices(SIZE, k=1)
    assert entries.weight.sum() == pytest.approx(1.25 * noise.block(slice(None))[above].sum())


def test_the_two_copies_are_independent():
    # Under no signal the copies are uncorrelated in every bin: Σ v z₂ has mean zero.
    matrix, noise = simulate(np.zeros((SIZE, SIZE)))
    entries = thin(matrix, noise)
    correlation = np.sum(entries.cross * entries.first.value) / entries.weight.sum()
    assert abs(correlation) < 5 * 2 / np.sqrt(SIZE * (SIZE - 1) / 2)


def test_copies_from_a_wrong_variance_are_not_independent():
    matrix, noise = simulate(np.zeros((SIZE, SIZE)))
    wrong = NoiseModel(noise.variances, 1000, off_diagonal=0.1, diagonal=0.07)
    entries = thin(matrix, wrong)
    correlation = np.sum(entries.cross * entries.first.value) / entries.weight.sum()
    assert abs(correlation) > 5 * 2 / np.sqrt(SIZE * (SIZE - 1) / 2)


@pytest.mark.parametrize("threshold", [0.0, 2.0, 4.0])
def test_the_risk_is_estimated_without_bias(threshold):
    means = np.zeros((SIZE, SIZE))
    means[:20, :20] = 0.3 * (1 - np.eye(20))
    means[0, 1:] = means[1:, 0] = 0.15
    deviation = np.sqrt(0.0035 * 1.25)
    m = means[np.triu_indices(SIZE, k=1)] / deviation
    # True risk of a hard threshold: E t² − 2 m E t, by numerical integration.
    z = np.linspace(-12, 12, 4001)
    fitted = np.where(np.abs(z) > threshold, z, 0.0)
    unique, counts = np.unique(m, return_counts=True)
    density = stats.norm.pdf(z[None, :] - unique[:, None])
    per_mean = ((fitted**2 - 2 * unique[:, None] * fitted) * density).sum(axis=1) * (z[1] - z[0])
    truth = deviation**2 * (counts * per_mean).sum()
    estimates = np.array([hard_risk(means, threshold, seed) for seed in range(8)])
    assert abs(estimates[:, 0].mean() - truth) < 5 * estimates[:, 1].mean() / np.sqrt(8)


def test_the_stated_error_of_the_risk_is_about_right():
    risks = np.array([hard_risk(np.zeros((SIZE, SIZE)), 2.0, seed) for seed in range(40)])
    ratio = risks[:, 0].std() / risks[:, 1].mean()
    assert 0.6 < ratio < 1.5


def test_bins_are_monotone_and_symmetric():
    values = np.concatenate([-np.geomspace(1e13, 1e-9, 5000), np.geomspace(1e-9, 1e13, 5000)])
    index = thinning.bin_index(values)
    assert (index[5000:] >= thinning._HALF).all()
    assert (np.diff(index[5000:]) >= 0).all()
    assert (index[:5000][::-1] + thinning._HALF == index[5000:]).all()
    assert index.max() < 2 * thinning._HALF


def test_columns_of_unlike_variance_are_grouped_apart():
    variances = np.repeat([1.0, 4.0], SIZE // 2)
    noise = NoiseModel(variances, n_rows=10**4, off_diagonal=0.12, diagonal=0.17)
    matrix, _ = simulate(np.zeros((SIZE, SIZE)))
    assert len(signal_edges(noise)) > 2
    used = bin_entries(matrix, noise).count.sum(axis=1) > 0
    assert used.sum() == 3


def test_the_stated_error_holds_for_unlike_variances():
    variances = np.ones(60)
    variances[:3] = 900.0
    noise = NoiseModel(variances, n_rows=1000, off_diagonal=1e-6, diagonal=1e-6)
    risks = []
    for seed in range(60):
        normal = np.triu(np.random.default_rng(seed).standard_normal((60, 60)), k=1)
        matrix = (normal + normal.T) * np.sqrt(noise.block(slice(None)))
        entries = thin(matrix, noise)
        value = entries.first.value
        risks.append(entries.risk(np.where(np.abs(value) > 1.5, value, 0.0)))
    risks = np.array(risks)
    assert 0.5 < risks[:, 0].std() / risks[:, 1].mean() < 1.5
