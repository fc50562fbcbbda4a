"""Which rows entries share: errors of sampling where cells are missing."""

import numpy as np
import pytest

from dpcov.answers.shared_rows import SharedRows

SIZE = 3
COVARIANCE = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.2], [0.3, 0.2, 1.0]])
ROOT = np.linalg.cholesky(COVARIANCE)
SHARES = np.array([1.0, 0.6, 0.8])
FIELDS = np.arange(SIZE)


def variance(rows, moments, means):
    found = rows.features(moments[None], means[None], ROOT)
    return sum(float((part**2).sum()) for part in found)


def simulated(rng, moments, *, n_rows, runs, together=False):
    """Return the variance of Σ C_ij S_ij over tables, of pairwise-complete moments."""
    found = []
    for _ in range(runs):
        rows = rng.normal(size=(n_rows, SIZE)) @ ROOT.T
        there = rng.random((n_rows, 1 if together else SIZE)) < (0.6 if together else SHARES)
        there = np.broadcast_to(there, rows.shape)
        products = np.einsum("ni,nj,ni,nj->ij", rows, rows, there, there)
        found.append((moments * products / (there.T.astype(float) @ there)).sum())
    return np.var(found)


WEIGHTS = [
    np.diag([0.0, 1.0, 0.0]),
    np.array([[0.45, -0.5, 0.0], [-0.5, 0.45, 0.0], [0.0, 0.0, 0.0]]),
    np.array([[0.2, -0.3, 0.5], [-0.3, 0.7, 0.1], [0.5, 0.1, 0.4]]),
]


@pytest.mark.parametrize("moments", WEIGHTS)
def test_variances_are_those_of_simulated_tables(moments):
    observed = np.outer(SHARES, SHARES)
    np.fill_diagonal(observed, SHARES)
    rows = SharedRows.of(200, observed, FIELDS)
    drawn = simulated(np.random.default_rng(0), moments, n_rows=200, runs=2000)
    # A variance of 2,000 runs has a relative error of 3 %.
    assert variance(rows, moments, np.zeros(SIZE)) == pytest.approx(drawn, rel=0.15)


def test_entries_that_are_taken_to_share_all_rows_would_be_too_sure():
    moments = WEIGHTS[1]
    complete = SharedRows.of(200 * 0.6, None, FIELDS)
    drawn = simulated(np.random.default_rng(0), moments, n_rows=200, runs=2000)
    assert variance(complete, moments, np.zeros(SIZE)) < 0.5 * drawn


def test_gaps_in_the_same_rows_leave_a_smaller_table():
    moments = WEIGHTS[2]
    rows = SharedRows.of(200, np.full((SIZE, SIZE), 0.6), FIELDS)
    smaller = SharedRows.of(120, None, FIELDS)
    means = np.ones(SIZE)
    assert variance(rows, moments, means) == pytest.approx(variance(smaller, moments, means))


def test_an_unrelated_pair_has_one_over_its_number_of_rows():
    observed = np.outer(SHARES, SHARES)
    np.fill_diagonal(observed, SHARES)
    pairs = SharedRows.of(200, observed, FIELDS).of_pairs
    assert pairs[1, 2] == pytest.approx(1 / (200 * 0.48))
