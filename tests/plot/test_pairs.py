import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.plot.pairs import find_pairs, kept_correlations
from plot.pictures import axes, estimate_of, pairs_estimate_of, scaled_estimate_of, truth_of

LINKS = (0, 3, 0.6), (1, 2, -0.5)


def test_a_pair_is_measured_by_its_correlation_whatever_the_scales():
    scales = np.array([1.0, 2.0, 3.0, 1.5])
    truth = truth_of(4, *LINKS) * np.outer(scales, scales)
    pairs = find_pairs(estimate_of(truth, n_rows=100_000), fdr=1e-6)
    assert sorted(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [(0, 3), (1, 2)]
    expected = [0.6 if first == 0 else -0.5 for first in pairs.first]
    # Clipping takes some of it; in units of covariance they would be 0.9 and −3.
    assert pairs.correlation == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("center", ["private", "differences"])
def test_units_of_columns_do_not_change_their_correlations(center):
    pairs = find_pairs(scaled_estimate_of(truth_of(4, *LINKS), center=center), fdr=1e-6)
    assert sorted(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [(0, 3), (1, 2)]
    expected = [0.6 if first == 0 else -0.5 for first in pairs.first]
    assert pairs.correlation == pytest.approx(expected, abs=0.1)
    assert ((pairs.low < pairs.correlation) & (pairs.correlation < pairs.high)).all()
    assert (pairs.high - pairs.low < 0.2).all()


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_the_interval_is_around_the_correlation(make):
    pairs = find_pairs(make(truth_of(6, *LINKS)), fdr=1e-3, level=0.9)
    assert len(pairs) == 2
    assert (pairs.low < pairs.correlation).all()
    assert (pairs.correlation < pairs.high).all()


def test_pairs_of_a_release_of_pairs_are_its_edges():
    estimate = pairs_estimate_of(truth_of(9, *LINKS, (4, 8, 0.4)), max_pairs=10)
    pairs, edges = find_pairs(estimate, fdr=0.1), estimate.edges(0.1)
    assert pairs.correlation == pytest.approx(edges.value)
    assert [estimate.columns[place] for place in pairs.second] == list(edges.second)


def test_both_kinds_give_the_correlations_of_the_estimate():
    for estimate in (estimate_of(truth_of(6, *LINKS)), pairs_estimate_of(truth_of(6, *LINKS))):
        kept = kept_correlations(estimate).toarray() + np.eye(6)
        assert kept == pytest.approx(estimate.correlation)


@pytest.mark.parametrize("name", ["heatmap", "intervals", "network", "risk", "spectrum"])
def test_a_release_is_refused_with_the_way_on(name):
    release = estimate_of(truth_of(3)).release
    with pytest.raises(ParameterError, match=r"got a Release.*release\.estimate\(\)"):
        getattr(dpcov.plot, name)(release, axes())
