import numpy as np
import pytest
from scipy import stats

from dpcov.columns import Units
from dpcov.postprocess.inference import find_edges, smallest_detectable_correlation
from dpcov.postprocess.noise_model import NoiseModel
from postprocess.simulation import band, release_of

SIZE = 25


@pytest.fixture(scope="module")
def release():
    return release_of(band(SIZE, 0.2), n_rows=3000, epsilon=2)


@pytest.fixture(scope="module")
def noise(release):
    return NoiseModel.of(release)


def plain_benjamini_hochberg(release, noise):
    """q-values of all pairs, one by one: the smallest rate at which a pair is on the list."""
    pairs = [(i, j) for i in range(SIZE) for j in range(i + 1, SIZE)]
    p_values = []
    for i, j in pairs:
        variance = noise.block(slice(i, i + 1))[0, j]
        p_values.append(2 * stats.norm.sf(abs(release.matrix[i, j]) / np.sqrt(variance)))
    p_values = np.array(p_values)
    m = len(pairs)
    q_values = [
        min(m * p / (p_values <= p).sum() for p in p_values[p_values >= own]) for own in p_values
    ]
    return dict(zip(pairs, q_values, strict=True))


@pytest.mark.parametrize("fdr", [0.01, 0.1, 0.5, 0.9])
def test_edges_are_the_list_of_benjamini_and_hochberg(release, noise, fdr):
    expected = plain_benjamini_hochberg(release, noise)
    covariance = np.zeros((SIZE, SIZE))
    edges = find_edges(release.matrix, covariance, noise, fdr, Units.plain(SIZE))
    found = dict(
        zip(
            zip(edges.first.tolist(), edges.second.tolist(), strict=True),
            edges.q_value,
            strict=True,
        )
    )
    assert found == pytest.approx({pair: q for pair, q in expected.items() if q <= fdr})
    assert found


def test_values_and_standard_errors_are_those_of_the_release(release):
    estimate = release.estimate()
    for edge in estimate.edges(0.2):
        place = int(edge.first[1:]), int(edge.second[1:])
        assert edge.value == release.matrix[place]
        assert edge.standard_error == pytest.approx(estimate.standard_error[place])


def test_the_surest_pairs_come_first_even_where_p_values_vanish():
    truth = np.eye(4)
    truth[0, 1] = truth[1, 0] = 0.3
    truth[2, 3] = truth[3, 2] = 0.6
    release = release_of(truth, n_rows=10**6)
    edges = release.estimate().edges(1e-6)
    assert (edges.q_value == 0).all()
    assert [(edge.first, edge.second) for edge in edges] == [("x2", "x3"), ("x0", "x1")]


def test_the_detectable_correlation_is_its_formula(noise):
    cutoff = stats.norm.isf(0.05 / 2 / (SIZE * (SIZE - 1) / 2))
    middle = np.median(noise.variances)
    mean_noise = 2 * np.median(noise.mean_noise)
    sd = np.sqrt(middle**2 / noise.n_rows + noise.off_diagonal**2 + mean_noise)
    assert smallest_detectable_correlation(noise) == pytest.approx(cutoff * sd / middle)


GROWING = NoiseModel(np.array([1.0, 2.0, 0.5]), 50, 0.1, 0.2, signal_noise=0.01)


def test_the_standard_error_of_an_edge_counts_noise_that_grows():
    matrix, covariance = np.diag([1.0, 2.0, 0.5]), np.diag([1.0, 2.0, 0.5])
    matrix[0, 1] = matrix[1, 0] = 9.0
    covariance[0, 1] = covariance[1, 0] = 0.7
    edges = find_edges(matrix, covariance, GROWING, 0.05, Units.plain(3))
    assert (edges.first.tolist(), edges.second.tolist()) == ([0], [1])
    expected = np.sqrt((1.0 * 2.0 + 0.49) / 50 + 0.01 + 0.01 * (1.0 + 2.0))
    assert edges.standard_error == pytest.approx([expected])


@pytest.mark.parametrize("variance", [None, 2.0])
def test_the_smallest_detectable_correlation_counts_noise_that_grows(variance):
    v = 1.0 if variance is None else variance  # the median
    sd = np.sqrt(v**2 / 50 + 0.01 + 2 * 0.01 * v) / v
    cutoff = stats.norm.isf(0.05 / (2 * 3))
    found = smallest_detectable_correlation(GROWING, variance)
    assert found == pytest.approx(cutoff * sd)
