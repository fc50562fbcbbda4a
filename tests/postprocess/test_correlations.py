"""Intervals of correlations: they cover, and stay within what a correlation can be."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov.errors import NothingDetectableWarning
from dpcov.postprocess.correlations import CorrelationErrors
from dpcov.postprocess.pairs_table import TOO_NOISY

# Weak, strong and nearly perfect relations, and a column of little variance.
ROOT = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.95, 0.31, 0.0, 0.0, 0.0],
        [-0.6, 0.0, 0.8, 0.0, 0.0],
        [0.0, 0.0, 0.3, 0.95, 0.0],
        [0.05, 0.0, 0.0, 0.05, 0.25],
    ]
)
TRUTH = ROOT @ ROOT.T
DEVIATION = np.sqrt(np.diag(TRUTH))
CORRELATION = TRUTH / np.outer(DEVIATION, DEVIATION)
ABOVE = np.triu_indices(5, k=1)
RUNS = 120


def estimates(n_rows, epsilon, table=None):
    for seed in range(RUNS):
        generator = np.random.default_rng(seed)
        rows = generator.standard_normal((n_rows, 5)) @ ROOT.T if table is None else table
        # Nobody is clipped: what clipping takes is not in question here.
        release = dpcov.release(rows, epsilon=epsilon, delta=1e-6, row_norm=8.0, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingDetectableWarning)
            yield release.estimate(rule="hard", threshold=2.0, psd="none")


def coverage(low, high, truth):
    return ((low <= truth) & (truth <= high))[ABOVE]


@pytest.mark.parametrize(("n_rows", "epsilon"), [(30_000, 2.0), (3_000, 1.0), (1_000, 20.0)])
def test_intervals_cover_the_correlations_of_the_population(n_rows, epsilon):
    covered, without = [], []
    for estimate in estimates(n_rows, epsilon):
        covered.append(coverage(*estimate.correlation_interval(0.95), CORRELATION))
        # The control: the covariance's interval divided by noisy deviations.
        low, high = (
            end / np.outer(estimate.released_deviations, estimate.released_deviations)
            for end in estimate.interval(0.95)
        )
        without.append(coverage(low, high, CORRELATION))
    assert 0.93 <= np.mean(covered) <= 0.985
    assert np.mean(covered, axis=0).min() > 0.88
    if epsilon == 20.0:  # sampling alone: such intervals are far too wide where it is strong
        assert np.mean(without, axis=0).max() > 0.995


def test_intervals_about_the_table_cover_its_correlations():
    table = np.random.default_rng(5).exponential(size=(4_000, 5)) @ (ROOT / 2).T
    truth = np.corrcoef(table.T)
    covered = [
        coverage(*estimate.correlation_interval(0.95, about="table"), truth)
        for estimate in estimates(4_000, 6.0, table)
    ]
    assert 0.93 <= np.mean(covered) <= 0.985


@given(
    st.floats(-1, 1),
    st.floats(0, 0.1),
    st.floats(0, 10),
    st.floats(0, 10),
    st.floats(0.1, 4),
)
def test_an_interval_holds_the_released_correlation_and_stays_within_one(r, s, noise, scale, z):
    errors = CorrelationErrors(np.array([s]), np.array([noise]), np.array([scale]))
    low, high = errors.interval(np.array([r]), z)
    assert -1 <= low[0] <= r <= high[0] <= 1


@given(st.floats(-0.9, 0.9), st.floats(1e-6, 0.005), st.floats(0, 0.05), st.floats(0, 0.1))
def test_the_ends_are_where_the_release_begins_to_speak_against_them(r, s, noise, scale):
    errors = CorrelationErrors(np.array([s]), np.array([noise]), np.array([scale]))
    for end in errors.interval(np.array([r]), 1.5):
        if abs(end[0]) < 1:
            assert abs(r - end[0]) == pytest.approx(
                1.5 * np.sqrt(errors.variance(end)[0]), rel=0.02
            )


def test_beside_a_column_within_its_noise_no_correlation_is_excluded():
    rows = np.random.default_rng(0).standard_normal((3_000, 4)) * [1, 1, 1, 0.01]
    estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=6, seed=2).estimate()
    pairs, (low, high) = estimate.pairs(), estimate.correlation_interval()
    of_last = pairs.second == 3
    assert of_last.sum() == 3
    assert (pairs.low[of_last] == -1).all()
    assert (pairs.high[of_last] == 1).all()
    assert (high - low)[3, :3].tolist() == [2.0, 2.0, 2.0]
    assert (pairs.high - pairs.low)[~of_last].max() < 0.5


def test_a_column_within_its_noise_has_no_correlation_to_tell():
    rows = np.random.default_rng(0).standard_normal((3_000, 4)) * [1, 1, 1, 0.01]
    rows[:, 1] = rows[:, 0]
    estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=6, seed=2).estimate()
    pairs = estimate.pairs()
    assert (pairs.told == (pairs.second != 3)).all()
    assert TOO_NOISY in repr(estimate["x0", "x3"])
    assert repr(pairs) == f"Pairs(6 of 4 columns, 3 {TOO_NOISY})"
