"""Claim P4, the law: draws have the exact distribution of a rounded Gaussian.

Streams are seeded, so that a verdict never changes; every test rejects at p < 1e-6 and
comes with a control that it must reject.
"""

import numpy as np
import pytest
from scipy import stats

from dpcov.exact.randomness import RandomStream
from dpcov.exact.rounded_gaussian import draw_rounded_gaussian

DRAWS = 400_000
SCALES = [1, 2, 3, 10, 1000]


def chi_square_p_value(draws, scale):
    """Test draws against the exact probabilities of round(scale · N(0, 1))."""
    width = max(1, scale // 20)
    edges = np.arange(-6 * scale - 0.5, 6 * scale + width, width)
    probabilities = np.diff(np.concatenate([[0.0], stats.norm.cdf(edges / scale), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, draws), minlength=len(probabilities))
    expected = probabilities * len(draws)
    common = expected >= 10
    counts = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


def dpcov_draws(scale, seed=11):
    return draw_rounded_gaussian(scale, DRAWS, RandomStream.from_seed(seed))


def control_draws(scale, error):
    normal = np.random.default_rng(12).standard_normal(DRAWS)
    return np.rint(scale * (1 + error) * normal).astype(np.int64)


@pytest.mark.claim("P4")
@pytest.mark.parametrize("scale", SCALES)
def test_draws_have_the_exact_law(scale):
    assert chi_square_p_value(dpcov_draws(scale), scale) > 1e-6


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("error", [-0.03, 0.03, -0.3, 0.3])
def test_a_scale_that_is_off_fails_the_same_test(scale, error):
    assert chi_square_p_value(control_draws(scale, 0.0), scale) > 1e-6
    assert chi_square_p_value(control_draws(scale, error), scale) < 1e-6


@pytest.mark.claim("P4")
@pytest.mark.parametrize("scale", [3, 1000])
def test_the_integer_path_alone_has_the_exact_law(scale):
    draws = draw_rounded_gaussian(scale, 15_000, RandomStream.from_seed(3), margin=2.0)
    assert chi_square_p_value(draws, scale) > 1e-6


@pytest.mark.claim("P4")
def test_the_first_four_moments_at_the_scale_of_a_release():
    z = dpcov_draws(2**42) / 2.0**42
    # Sampling variances of the raw moments of a standard normal: 1, 2, 15, 96.
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - mean) < 5 * np.sqrt(variance / DRAWS)


@pytest.mark.claim("P4")
def test_the_law_at_the_scale_of_a_release():
    z = dpcov_draws(2**42) / 2.0**42
    assert stats.kstest(z, "norm").pvalue > 1e-6
    assert stats.kstest(z * 1.03, "norm").pvalue < 1e-6


@pytest.mark.claim("P4")
def test_low_bits_are_uniform_at_the_scale_of_a_release():
    counts = np.bincount(dpcov_draws(2**42) & 255, minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.claim("P4")
def test_successive_draws_are_independent():
    z = np.clip(dpcov_draws(2**42) // 2**41, -4, 3) + 4
    table = np.histogram2d(z[:-1], z[1:], bins=8)[0]
    assert stats.chi2_contingency(table).pvalue > 1e-6


def test_a_serial_dependence_fails_the_same_test():
    z = np.clip(np.repeat(dpcov_draws(2**42) // 2**41, 2), -4, 3) + 4
    table = np.histogram2d(z[:-1], z[1:], bins=8)[0]
    assert stats.chi2_contingency(table).pvalue < 1e-6


@pytest.mark.claim("P4")
def test_the_sign_does_not_depend_on_the_size():
    z = dpcov_draws(1000)
    sizes = np.digitize(np.abs(z), [250, 500, 750, 1000, 1500, 2000])
    table = np.histogram2d(sizes, z > 0, bins=[7, 2])[0]
    assert stats.chi2_contingency(table).pvalue > 1e-6
