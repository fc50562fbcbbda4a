"""What both kinds of estimates answer."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.postprocess import CovarianceEstimate, Estimate, PairsEstimate
from plot.pictures import estimate_of, pairs_estimate_of, scaled_estimate_of, truth_of
from postprocess.categorical import release_of as release_of_table
from postprocess.categorical import survey
from postprocess.simulation import release_of

LINKS = (0, 3, 0.6), (1, 2, -0.5)


def test_a_pair_is_measured_by_its_correlation_whatever_the_scales():
    scales = np.array([1.0, 2.0, 3.0, 1.5])
    truth = truth_of(4, *LINKS) * np.outer(scales, scales)
    pairs = estimate_of(truth, n_rows=100_000).edges(1e-6).pairs
    assert sorted(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [(0, 3), (1, 2)]
    expected = [0.6 if first == 0 else -0.5 for first in pairs.first]
    # Clipping takes some of it; in units of covariance they would be 0.9 and −3.
    assert pairs.released == pytest.approx(expected, abs=0.1)


def test_units_of_columns_do_not_change_their_correlations():
    pairs = scaled_estimate_of(truth_of(4, *LINKS)).edges(1e-6).pairs
    assert sorted(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [(0, 3), (1, 2)]
    expected = [0.6 if first == 0 else -0.5 for first in pairs.first]
    assert pairs.released == pytest.approx(expected, abs=0.1)
    assert ((pairs.low < pairs.released) & (pairs.released < pairs.high)).all()
    assert (pairs.high - pairs.low < 0.2).all()


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_the_interval_is_around_the_correlation(make):
    pairs = make(truth_of(6, *LINKS)).edges(1e-3, confidence=0.9).pairs
    assert len(pairs) == 2
    assert (pairs.low < pairs.released).all()
    assert (pairs.released < pairs.high).all()


def test_pairs_of_a_release_of_pairs_are_its_edges():
    estimate = pairs_estimate_of(truth_of(9, *LINKS, (4, 8, 0.4)), max_pairs=10)
    pairs, edges = estimate.edges(0.1).pairs, estimate.edges(0.1)
    assert pairs.released == pytest.approx(edges.value)
    assert [estimate.columns[place] for place in pairs.second] == list(edges.second)


def test_both_kinds_give_the_correlations_of_the_estimate():
    for estimate in (estimate_of(truth_of(6, *LINKS)), pairs_estimate_of(truth_of(6, *LINKS))):
        kept = estimate.kept_correlations.toarray() + np.eye(6)
        assert kept == pytest.approx(estimate.correlation)


KINDS = [estimate_of, scaled_estimate_of, pairs_estimate_of]


@pytest.mark.parametrize("kind", [Estimate, PairsEstimate])
def test_an_estimate_is_made_with_names_alone(kind):
    assert issubclass(kind, CovarianceEstimate)
    assert all(field.kw_only for field in fields(kind))


@pytest.mark.parametrize("make", KINDS)
def test_the_same_question_has_one_answer(make):
    estimate = make(truth_of(6, *LINKS))
    assert estimate.edges(0.1) is estimate.edges(0.1)
    assert estimate.pairs() is estimate.pairs(0.95)
    assert estimate.kept_correlations is estimate.kept_correlations
    assert estimate.eigenvalues is estimate.eigenvalues


@pytest.mark.parametrize("make", KINDS)
def test_another_rate_has_another_answer(make):
    estimate = make(truth_of(6, *LINKS))
    assert len(estimate.edges(0.999)) > len(estimate.edges(1e-6))
    wide, narrow = (estimate.edges(1e-6, confidence=confidence).pairs for confidence in (0.99, 0.5))
    assert (wide.low < narrow.low).all()


@pytest.mark.parametrize("make", KINDS)
def test_an_answer_that_is_kept_cannot_be_changed(make):
    estimate = make(truth_of(6, *LINKS))
    edges, pairs = estimate.edges(0.1), estimate.edges(0.1).pairs
    for numbers in (edges.value, edges.q_value, pairs.low, pairs.first, estimate.eigenvalues):
        assert not numbers.flags.writeable


@pytest.mark.parametrize("make", KINDS)
def test_an_estimate_of_another_release_has_its_own_answers(make):
    estimate = make(truth_of(6, *LINKS))
    before = estimate.edges(0.1)
    assert replace(estimate).edges(0.1) is not before
    stored = pickle.loads(pickle.dumps(estimate))
    assert np.array_equal(stored.edges(0.1).value, before.value)
    assert not stored.covariance.flags.writeable


@pytest.mark.parametrize("make", [estimate_of, scaled_estimate_of])
def test_the_interval_of_an_edge_is_that_of_the_matrix(make):
    estimate = make(truth_of(6, *LINKS))
    pairs = estimate.edges(0.1, confidence=0.9).pairs
    low, high = (end[pairs.first, pairs.second] for end in estimate.correlation_interval(0.9))
    assert pairs.low == pytest.approx(low, rel=1e-12)
    assert pairs.high == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize("make", KINDS)
def test_the_edges_are_the_pairs_with_a_q_value_below_the_rate(make):
    estimate = make(truth_of(6, *LINKS))
    pairs, edges = estimate.pairs(), estimate.edges(0.2)
    listed = pairs.q_value <= 0.2
    places = {*zip(edges.pairs.first.tolist(), edges.pairs.second.tolist(), strict=True)}
    assert places == {
        *zip(pairs.first[listed].tolist(), pairs.second[listed].tolist(), strict=True)
    }
    assert np.sort(edges.q_value) == pytest.approx(np.sort(pairs.q_value[listed]))


@pytest.mark.parametrize("make", KINDS)
def test_pairs_have_the_correlations_of_the_estimate(make):
    estimate = make(truth_of(6, *LINKS))
    pairs = estimate.pairs()
    assert pairs.correlation == pytest.approx(estimate.correlation[pairs.first, pairs.second])
    frame = pairs.to_frame()
    assert list(frame.columns) == [
        *("first", "second", "correlation", "released", "standard_error"),
        *("low", "high", "q_value", "told", "with_level", "limited", "gaps"),
    ]
    assert frame["second"].tolist() == [estimate.columns[place] for place in pairs.second]


@pytest.mark.parametrize("make", KINDS)
def test_two_names_give_what_is_known_of_the_pair(make):
    estimate = make(truth_of(6, *LINKS))
    edge = estimate.edges(1e-3)[0]
    pair = estimate[edge.first, edge.second]
    assert (pair.correlation, pair.released, pair.q_value) == pytest.approx(
        (edge.correlation, edge.released, edge.q_value)
    )
    assert pair.interval == pytest.approx((edge.low, edge.high))
    assert pair == replace(estimate[edge.second, edge.first], first=edge.first, second=edge.second)
    for word in (edge.first, "interval", "q-value"):
        assert word in repr(pair)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("x0", "two different column names"),
        (("x0", "x0"), "two different column names"),
        (("x0", "y"), "There is no column 'y'"),
    ],
)
def test_what_is_not_a_pair_is_refused(names, message):
    with pytest.raises(ParameterError, match=message):
        estimate_of(truth_of(3))[names]


def test_a_pair_that_was_not_released_is_not_known():
    estimate = pairs_estimate_of(truth_of(6, *LINKS), max_pairs=2)
    released = {*map(tuple, estimate.release.pairs.tolist())}
    first, second = next(
        (i, j) for i in range(6) for j in range(i + 1, 6) if (i, j) not in released
    )
    with pytest.raises(ParameterError, match="not among the pairs that were released"):
        estimate[estimate.columns[first], estimate.columns[second]]


def test_an_estimate_is_not_a_sequence():
    with pytest.raises(TypeError):
        iter(estimate_of(truth_of(3)))


@pytest.mark.parametrize("make", KINDS)
def test_the_pairs_that_are_kept_are_those_of_the_support(make):
    estimate = make(truth_of(6, *LINKS))
    assert estimate.pairs_kept == np.triu(estimate.support, k=1).sum()


@pytest.mark.parametrize("make", KINDS)
def test_entries_are_those_of_the_covariance(make):
    estimate = make(truth_of(6, *LINKS))
    first, second, values = estimate.entries()
    rebuilt = np.zeros((6, 6))
    rebuilt[first, second] = rebuilt[second, first] = values
    assert np.array_equal(rebuilt, estimate.covariance)
    assert np.array_equal(estimate.entries_at(first, second), values)
    assert estimate.deviations**2 == pytest.approx(np.diag(estimate.covariance))


@pytest.mark.parametrize("make", KINDS)
def test_what_was_asked_makes_the_estimate_again(make):
    estimate = make(truth_of(6, *LINKS))
    again = estimate.release.estimate(psd=estimate.psd, **estimate.asked)
    assert np.array_equal(again.covariance, estimate.covariance)


def test_a_rule_of_the_callers_own_cannot_be_asked_for_again():
    release = estimate_of(truth_of(3)).release
    assert release.estimate(rule=lambda size, threshold: size, threshold=1.0).asked is None


@pytest.mark.parametrize("psd", ["sparse", "clip", "none"])
@pytest.mark.parametrize("rule", ["auto", "hard", "low-rank"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
def test_no_correlation_is_beyond_one_however_much_noise_there_is(psd, rule, seed):
    truth = np.full((6, 6), 0.98) + 0.02 * np.eye(6)
    deviation = np.array([1.0, 1.0, 1.0, 0.1, 0.05, 0.02])
    release = release_of(truth * np.outer(deviation, deviation), n_rows=150, epsilon=4, seed=seed)
    for threshold in ("thinned", 0.0):
        estimate = release.estimate(rule=rule, threshold=threshold, psd=psd, sparse=False)
        pairs = estimate.edges(fdr=0.9).pairs
        everything = (estimate.correlation, estimate.kept_correlations.data)
        for numbers in (*everything, pairs.correlation, pairs.released, pairs.low, pairs.high):
            assert (np.abs(numbers) <= 1).all()
        assert (pairs.low <= pairs.released).all()
        assert (pairs.released <= pairs.high).all()


def test_correlations_are_cut_and_covariances_are_not():
    truth = np.full((3, 3), 0.99) + 0.01 * np.eye(3)
    beyond = 0
    for seed in range(5):
        release = release_of(truth, n_rows=100, epsilon=4, seed=seed)
        estimate = release.estimate(rule="hard", threshold=0.0, psd="none")
        deviation = np.sqrt(np.diag(estimate.covariance))
        raw = estimate.covariance / np.outer(deviation, deviation)
        beyond += (np.abs(raw) > 1).sum()
        above = np.triu_indices(3, k=1)
        assert estimate.covariance[above] == pytest.approx(release.matrix[above], rel=1e-12)
    assert beyond


@pytest.fixture(scope="module")
def mixed_edges():
    return release_of_table(survey(20_000), epsilon=4.0).estimate().edges()


def test_pairs_of_numbers_and_pairs_with_levels_are_two_lists(mixed_edges):
    numbers, levels = mixed_edges.numbers, mixed_edges.levels
    assert len(levels) > 5
    assert len(numbers) + len(levels) == len(mixed_edges)
    assert not any("=" in name for name in numbers.first + numbers.second)
    assert all(
        "=" in first + second for first, second in zip(levels.first, levels.second, strict=True)
    )


def test_a_frame_of_edges_says_which_list_a_pair_is_on(mixed_edges):
    frame = mixed_edges.to_frame()
    named = frame["first"].str.contains("=") | frame["second"].str.contains("=")
    assert (frame["with_level"] == named).all()
    assert mixed_edges.pairs.to_frame()["with_level"].tolist() == named.tolist()


def test_the_first_line_counts_both_lists(mixed_edges):
    numbers, levels = len(mixed_edges.numbers), len(mixed_edges.levels)
    line = repr(mixed_edges).splitlines()[0]
    assert f"({numbers} of numbers, {levels} with a level)" in line


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_without_categories_all_edges_are_of_numbers(make):
    edges = make(truth_of(6, *LINKS)).edges(1e-3)
    assert len(edges.numbers) == len(edges) == 2
    assert not len(edges.levels)
    assert "with a level" not in repr(edges)
