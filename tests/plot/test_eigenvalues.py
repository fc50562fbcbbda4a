import numpy as np
import pytest

from dpcov.plot import spectrum
from plot.pictures import axes, estimate_of, pairs_estimate_of, scaled_estimate_of, truth_of

LINKS = (0, 4, 0.6), (1, 3, -0.5)


def curves(ax):
    return {line.get_label(): line.get_ydata() for line in ax.get_lines()}


def test_the_curves_are_the_eigenvalues_the_largest_first():
    estimate = estimate_of(truth_of(6, *LINKS))
    drawn = curves(spectrum(estimate, axes()))
    for label, matrix in (("estimate", estimate.covariance), ("release", estimate.release.matrix)):
        assert drawn[label] == pytest.approx(np.linalg.eigvalsh(matrix)[::-1])


def test_a_release_of_pairs_shows_the_eigenvalues_of_its_correlations():
    estimate = pairs_estimate_of(truth_of(6, *LINKS))
    drawn = curves(spectrum(estimate, axes()))
    assert list(drawn) == ["estimate"]
    assert drawn["estimate"] == pytest.approx(np.linalg.eigvalsh(estimate.correlation)[::-1])


def test_the_noise_floor_is_where_the_noise_of_a_release_ends():
    estimate = estimate_of(truth_of(200), n_rows=500, epsilon=1.0, allow={"small"})
    scale = estimate.release.noise_scale
    noise = np.random.default_rng(0).normal(size=(200, 200)) * scale.off_diagonal
    noise = np.triu(noise, k=1) + np.triu(noise, k=1).T
    noise += np.diag(np.random.default_rng(1).normal(size=200) * scale.diagonal)
    # Of 200 columns the largest is a few percent below its limit; noisy means add one.
    assert np.linalg.eigvalsh(noise)[-1] == pytest.approx(estimate.noise_floor, rel=0.07)


def test_the_band_is_as_high_as_the_noise_floor():
    estimate = estimate_of(truth_of(6, *LINKS))
    (band,) = spectrum(estimate, axes()).patches
    assert band.get_y() == pytest.approx(-estimate.noise_floor)
    assert band.get_height() == pytest.approx(2 * estimate.noise_floor)


def test_both_spectra_are_in_the_units_of_the_noise():
    estimate = scaled_estimate_of(truth_of(6, *LINKS))
    ax = spectrum(estimate, axes())
    drawn = curves(ax)
    working = estimate.release.units.to_working(estimate.covariance)
    assert drawn["estimate"] == pytest.approx(np.linalg.eigvalsh(working)[::-1])
    assert drawn["release"] == pytest.approx(np.linalg.eigvalsh(estimate.release.matrix)[::-1])
    assert "scaled as in the release" in ax.get_ylabel()


def test_a_released_mean_raises_the_noise_floor():
    estimate = scaled_estimate_of(truth_of(6))
    alone = 2 * estimate.release.noise_scale.off_diagonal * 6**0.5
    assert alone < estimate.noise_floor < 2 * alone


def test_eigenvalues_that_stand_out_have_intervals():
    estimate = estimate_of(truth_of(6, (0, 1, 0.6)))
    low, high = estimate.eigenvalue_interval(0.99)
    assert low[0] < estimate.released_eigenvalues[0] < high[0]
    names = [text.get_text() for text in spectrum(estimate, axes()).get_legend().get_texts()]
    assert "95 % interval" in names
