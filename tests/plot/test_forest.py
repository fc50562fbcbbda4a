import numpy as np
import pytest

from dpcov.plot import intervals
from plot.pictures import HOSTILE, axes, estimate_of, pairs_estimate_of, truth_of, words

LINKS = (0, 1, 0.3), (2, 3, -0.6), (4, 5, 0.45)


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_the_strongest_pair_stands_on_top(make):
    ax = intervals(make(truth_of(6, *LINKS)), axes(), fdr=1e-3)
    assert labels(ax) == ["x2 – x3", "x4 – x5", "x0 – x1"]
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_intervals_are_those_of_the_correlations():
    estimate = estimate_of(4.0 * truth_of(6, *LINKS))
    ax = intervals(estimate, axes(), fdr=1e-3, confidence=0.8, most=1)
    (drawn,) = (line.get_xdata() for line in ax.get_lines() if list(line.get_ydata()) == [0, 0])
    low, high = estimate.correlation_interval(0.8)
    assert drawn == pytest.approx([low[2, 3], high[2, 3]])
    assert "80 % interval" in ax.get_xlabel()


def test_of_too_many_pairs_the_title_says_how_many_there_are():
    ax = intervals(estimate_of(truth_of(6, *LINKS)), axes(), fdr=1e-3, most=2)
    assert len(labels(ax)) == 2
    assert ax.get_title() == "the 2 strongest of 3 related pairs"


def test_the_end_of_what_a_correlation_can_be_is_marked_when_noise_leads_beyond():
    estimate = estimate_of(truth_of(4, (0, 1, 0.97)), n_rows=300, epsilon=4.0)
    ax = intervals(estimate, axes(), fdr=0.5)
    dotted = [line.get_xdata()[0] for line in ax.get_lines() if line.get_linestyle() == ":"]
    assert dotted == [-1, 1]


def test_without_any_edge_it_says_so():
    ax = intervals(estimate_of(truth_of(4)), axes(), fdr=1e-6)
    assert "No pair of columns is related" in words(ax)


def test_hostile_names_are_drawn_as_text():
    ax = intervals(estimate_of(truth_of(6, *LINKS), columns=HOSTILE), axes(), fdr=1e-3)
    ax.figure.canvas.draw()
    assert "$5 and $6 – (blank)" in labels(ax)
    assert not any("\n" in label for label in labels(ax))


def test_an_interval_that_reaches_the_end_has_an_arrow():
    estimate = estimate_of(truth_of(4, (0, 1, 0.97)), n_rows=300, epsilon=4.0)
    ax = intervals(estimate, axes(), fdr=0.5)
    assert ">" in {line.get_marker() for line in ax.get_lines()}


def test_what_is_too_noisy_to_tell_is_counted_and_not_drawn():
    scale = np.array([1.0, 1.0, 1.0, 0.13])
    truth = truth_of(4, (0, 1, 0.6), (2, 3, 0.999)) * np.outer(scale, scale)
    estimate = estimate_of(truth, n_rows=4000, epsilon=1.0)
    pairs = estimate.edges(0.3).pairs
    assert not pairs.told.all()
    ax = intervals(estimate, axes(), fdr=0.3)
    assert len(labels(ax)) == pairs.told.sum()
    assert "too noisy to tell how strong" in ax.get_title()
