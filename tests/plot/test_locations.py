import numpy as np

import dpcov
from dpcov.plot import means
from plot.pictures import axes, pairs_estimate_of, truth_of, words

ROWS = np.random.default_rng(0).normal(size=(5_000, 3)) + np.array([0.0, 10.0, -100.0])


def test_means_stand_between_their_limits_with_their_numbers():
    estimate = dpcov.release(ROWS, epsilon=2, delta=1e-6, seed=1).estimate()
    ax = means(estimate, axes())
    assert ax.get_yticklabels()[1].get_text().startswith(f"x1   {estimate.location[1]:.4g} ± ")
    assert ax.get_xticklabels()[0].get_text() == "lower limit"


def test_of_too_many_columns_the_title_says_how_many_there_are():
    estimate = dpcov.release(ROWS, epsilon=2, delta=1e-6, seed=1).estimate()
    assert means(estimate, axes(), most=2).get_title() == "the first 2 of 3 columns"


def test_a_release_without_means_says_so():
    assert words(means(pairs_estimate_of(truth_of(4)), axes())) == "No mean was released.   "
