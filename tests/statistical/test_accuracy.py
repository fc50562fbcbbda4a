"""A small version of benchmarks/accuracy: the estimate is near the truth, and honest.

Seeds are fixed, and the margins are wide: about twice what the full study measures.
"""

import numpy as np
import pytest

from dpcov.norms import relative_error
from postprocess.simulation import band, release_of


def cai_liu(size):
    half = size // 2
    place = np.arange(half)
    truth = 4.0 * np.eye(size)
    truth[:half, :half] = np.maximum(1 - np.abs(place[:, None] - place) / 10, 0)
    return truth


def low_rank(size):
    factors = np.random.default_rng(0).standard_normal((size, 3)) / np.sqrt(6)
    return factors @ factors.T + 0.5 * np.eye(size)


def runs(truth, n_rows, number=3):
    releases = [
        release_of(truth, n_rows=n_rows, delta=1 / n_rows, seed=seed) for seed in range(number)
    ]
    return [(release, release.estimate()) for release in releases]


def mean_error(truth, matrices, w=2):
    return np.mean([relative_error(matrix, truth, w) for matrix in matrices])


@pytest.mark.parametrize(
    ("truth", "n_rows", "spectral", "column_sum"),
    [
        (cai_liu(100), 10_000, 0.22, 0.48),
        (cai_liu(100), 100_000, 0.025, 0.055),
        (band(100), 50_000, 0.12, 0.15),
    ],
)
def test_errors_are_as_small_as_documented(truth, n_rows, spectral, column_sum):
    estimates = [estimate.covariance for _, estimate in runs(truth, n_rows)]
    assert mean_error(truth, estimates) < spectral
    assert mean_error(truth, estimates, w=1) < column_sum


def test_a_truth_without_relations_gives_a_diagonal():
    estimates = [estimate for _, estimate in runs(np.eye(100), 20_000, number=8)]
    assert all(estimate.support.sum() == 100 for estimate in estimates)
    # Any pair that is listed is false, and one run in ten may list some.
    assert sum(len(estimate.edges(fdr=0.1)) > 0 for estimate in estimates) <= 2


def test_a_dense_truth_is_not_spoiled_when_sparsity_is_not_asked_for():
    truth = low_rank(60)
    releases = [release for release, _ in runs(truth, 20_000)]
    raw = mean_error(truth, [release.matrix for release in releases])
    dense = mean_error(truth, [release.estimate(sparse=False).covariance for release in releases])
    assert dense < 1.2 * raw


def coverage(truth, pairs, stretch=1.0):
    above = np.triu_indices(len(truth), k=1)
    covered = []
    for release, estimate in pairs:
        low, high = estimate.interval(0.95)
        reach = stretch * (high - low) / 2
        covered.append((np.abs(release.matrix - truth) <= reach)[above].mean())
    return np.mean(covered)


def test_intervals_cover_as_often_as_they_say():
    truth = band(100)
    pairs = runs(truth, 20_000)
    assert 0.93 < coverage(truth, pairs) < 0.97


@pytest.mark.parametrize("stretch", [0.7, 1.3])
def test_intervals_of_another_width_fail_the_same_test(stretch):
    truth = band(100)
    assert not 0.93 < coverage(truth, runs(truth, 20_000, number=1), stretch) < 0.97


def false_share(truth, n_rows, fdr=0.1):
    shares = []
    for _, estimate in runs(truth, n_rows, number=6):
        edges = [(int(edge.first[1:]), int(edge.second[1:])) for edge in estimate.edges(fdr)]
        assert edges
        shares.append(np.mean([truth[edge] == 0 for edge in edges]))
    return np.mean(shares)


def test_false_edges_are_as_few_as_asked_for():
    assert false_share(band(80), 20_000) < 0.15


def test_a_looser_list_fails_the_same_test():
    assert false_share(band(80), 20_000, fdr=0.5) > 0.15
