import numpy as np

from dpcov.postprocess.ratios import ratio_interval

RUNS = 20_000


def coverage(assumed):
    rng = np.random.default_rng(0)
    top, bottom = 3.0 + rng.normal(size=RUNS) * 0.5, 2.0 + rng.normal(size=RUNS) * 0.4
    noise = np.full(RUNS, assumed * 0.25), np.full(RUNS, assumed * 0.16)
    low, high = ratio_interval(top, bottom, *noise, 1.96)
    return np.mean((low <= 1.5) & (high >= 1.5))


def test_intervals_of_ratios_cover_also_where_denominators_are_noisy():
    assert abs(coverage(1.0) - 0.95) < 0.006


def test_intervals_of_ratios_do_not_cover_if_noise_is_larger():
    assert coverage(0.5) < 0.9


def test_an_interval_without_an_end_is_long():
    low, high = ratio_interval(*np.array([[1.0], [0.1], [0.01], [1.0]]), 1.96)
    assert high - low > 10
