import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.postprocess.diagonal import kept_shares, shrink_diagonal, within_limits


@given(
    hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(-100, 100)),
    st.floats(1e-6, 10),
    st.integers(2, 10**6),
)
def test_variances_are_positive_and_no_further_apart_than_before(noisy, noise, n_rows):
    shrunk = shrink_diagonal(noisy, noise=noise**2, sampling=1 / n_rows)
    assert (shrunk >= 0.1 * noise * (1 - 1e-12)).all()
    assert np.ptp(shrunk) <= np.ptp(noisy) + 0.1 * noise + 1e-9


def test_variances_without_noise_are_left_alone():
    noisy = np.array([1.0, 2.0, 5.0])
    shrunk = shrink_diagonal(noisy, noise=1e-18, sampling=1e-12)
    assert shrunk == pytest.approx(noisy)


def test_shrinkage_lowers_the_error():
    generator = np.random.default_rng(0)
    truth = generator.uniform(0.8, 1.2, size=200)
    noisy = truth + 0.3 * generator.standard_normal(200)
    shrunk = shrink_diagonal(noisy, noise=0.09, sampling=1e-6)
    assert np.sum((shrunk - truth) ** 2) < 0.3 * np.sum((noisy - truth) ** 2)


def test_a_huge_variance_does_not_drag_the_small_ones_along():
    noisy = np.array([1e6, *[1.0] * 9])
    shrunk = shrink_diagonal(noisy, noise=1e-6, sampling=1e-3)
    assert shrunk[1:] == pytest.approx(1.0, abs=0.01)


def test_fewer_than_four_columns_are_not_shrunk():
    noisy = np.array([1.0, 2.0, 3.0])
    assert (shrink_diagonal(noisy, noise=0.25, sampling=0.01) == noisy).all()


def test_what_is_kept_of_a_distance_is_what_shrinking_leaves_of_it():
    noisy = np.array([1.0, 1.4, 0.7, 2.0, 1.1, 0.9])
    facts = {"noise": 0.01, "sampling": 1e-3}
    expected = noisy.mean() + kept_shares(noisy, **facts) * (noisy - noisy.mean())
    assert shrink_diagonal(noisy, **facts) == pytest.approx(expected)
    assert (kept_shares(noisy, **facts) < 1).all()


def test_no_deviation_is_above_half_of_a_range():
    limits = np.array([1.0, 0.0]), np.array([2.0, 10.0])
    assert within_limits(np.array([0.565, 3.0]), limits).tolist() == [0.5, 3.0]
    assert within_limits(np.array([0.565, 3.0]), None).tolist() == [0.565, 3.0]
