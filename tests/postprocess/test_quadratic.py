import numpy as np
import pytest
from scipy import stats

from dpcov.postprocess.quadratic import NoisyLength, NoisyLengths

VARIANCES = np.array([4.0, 1.0, 1.0, 0.5, 0.25, 0.1])
RUNS = 2000


def seen_lengths(truth, *, assumed=VARIANCES, seed=0):
    """Return what noisy copies of a vector say, were the variances of the noise as assumed."""
    noise = np.random.default_rng(seed).normal(size=(RUNS, len(VARIANCES))) * np.sqrt(VARIANCES)
    return NoisyLengths([NoisyLength.of(truth + row, assumed) for row in noise])


def coverage(truth, **assumed):
    low, high = seen_lengths(truth, **assumed).interval(0.95, most=np.full(RUNS, 1e6))
    length = truth @ truth
    return np.mean((low <= length) & (length <= high))


def test_the_length_of_noise_alone_is_taken_out():
    lengths = seen_lengths(np.array([3.0, 0, 0, 1, 0, 0]))
    error = np.std(lengths.found) / np.sqrt(RUNS)
    assert np.mean(lengths.found - lengths.excess) == pytest.approx(10.0, abs=4 * error)


def test_noise_alone_has_a_small_p_value_as_seldom_as_it_should():
    p_values = np.concatenate([seen_lengths(np.zeros(6), seed=i).p_values() for i in range(5)])
    assert stats.binomtest(int((p_values < 0.05).sum()), 5 * RUNS, 0.05).pvalue > 0.001


def test_noise_that_is_larger_than_assumed_has_one_more_often():
    p_values = seen_lengths(np.zeros(6), assumed=VARIANCES / 1.5).p_values()
    assert (p_values < 0.05).mean() > 0.08


@pytest.mark.parametrize("size", [1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("direction", [0, 3])
def test_intervals_cover(size, direction):
    truth = np.full(6, 0.2)
    truth[direction] = size
    assert coverage(truth) > 0.93


@pytest.mark.parametrize("size", [20.0, 100.0])
@pytest.mark.parametrize("direction", [0, 3])
def test_intervals_are_not_too_long_where_the_length_stands_out(size, direction):
    truth = np.zeros(6)
    truth[direction] = size
    assert coverage(truth) < 0.97


def test_intervals_do_not_cover_where_noise_is_larger_than_assumed():
    assert coverage(np.array([0, 3.0, 0, 0, 0, 0]), assumed=VARIANCES / 3) < 0.88


def test_intervals_stay_within_what_is_possible():
    low, high = seen_lengths(np.full(6, 1.0)).interval(0.95, most=np.ones(RUNS))
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (low <= high).all()


def test_no_interval_is_shorter_for_bad_luck():
    lucky, unlucky = np.sqrt(VARIANCES), np.zeros(6)
    lengths = NoisyLengths([NoisyLength.of(each, VARIANCES) for each in (lucky, unlucky)])
    high = lengths.interval(0.95, most=np.full(2, 1e4))[1]
    assert high[1] == pytest.approx(high[0], rel=0.2)


def test_there_may_be_no_lengths():
    lengths = NoisyLengths([])
    assert len(lengths.p_values()) == len(lengths.interval(0.9, most=np.empty(0))[0]) == 0
