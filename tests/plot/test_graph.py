from dataclasses import replace

import numpy as np
import pytest

from dpcov.plot import graph, network
from dpcov.plot.look import NEGATIVE, POSITIVE
from plot.pictures import HOSTILE, axes, estimate_of, pairs_estimate_of, truth_of, words

LINKS = (0, 4, 0.6), (1, 3, -0.3)


def lines_of(ax):
    return {line.get_color(): line for line in ax.get_lines()}


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_only_columns_of_a_related_pair_are_drawn(make):
    ax = network(make(truth_of(6, *LINKS)), axes(), fdr=1e-3)
    assert sorted(text.get_text() for text in ax.texts) == ["x0", "x1", "x3", "x4"]
    assert len(ax.get_lines()) == 2


def test_the_sign_is_shown_by_color_and_by_line():
    lines = lines_of(network(estimate_of(truth_of(6, *LINKS)), axes(), fdr=1e-3))
    assert lines[POSITIVE].get_linestyle() == "-"
    assert lines[NEGATIVE].get_linestyle() == "--"


def test_the_stronger_is_the_wider():
    lines = lines_of(network(estimate_of(truth_of(6, *LINKS)), axes(), fdr=1e-3))
    assert lines[POSITIVE].get_linewidth() > 1.5 * lines[NEGATIVE].get_linewidth()


def test_the_legend_names_the_signs_that_are_there():
    both = network(estimate_of(truth_of(6, *LINKS)), axes(), fdr=1e-3).get_legend()
    assert [text.get_text() for text in both.get_texts()] == ["positive", "negative"]
    one = network(estimate_of(truth_of(6, LINKS[0])), axes(), fdr=1e-3).get_legend()
    assert [text.get_text() for text in one.get_texts()] == ["positive"]


def test_of_too_many_pairs_the_surest_are_drawn_and_the_title_says_so():
    estimate = estimate_of(truth_of(6, (0, 1, 0.3), (2, 3, 0.6), (4, 5, 0.4)))
    ax = network(estimate, axes(), fdr=1e-3, most=1)
    assert sorted(text.get_text() for text in ax.texts) == ["x2", "x3"]
    why = "more than 1 line could not be read"
    assert ax.get_title() == f"the 1 surest of 3 related pairs:\n{why}"


def test_of_too_many_columns_no_more_are_drawn_than_fit(monkeypatch):
    monkeypatch.setattr(graph, "_MOST_NODES", 5)
    estimate = estimate_of(truth_of(6, (0, 1, 0.3), (2, 3, 0.6), (4, 5, 0.4)))
    ax = network(estimate, axes(), fdr=1e-3)
    assert len(ax.texts) == 4
    why = "more than 5 names could not be read"
    assert ax.get_title() == f"the 2 surest of 3 related pairs:\n{why}"


def test_all_pairs_that_fit_are_drawn():
    estimate = estimate_of(truth_of(6, (0, 1, 0.3), (2, 3, 0.6), (4, 5, 0.4)))
    ax = network(estimate, axes(), fdr=1e-3, most=3)
    assert ax.get_title() == "3 related pairs"
    assert len(ax.get_lines()) == 3


def noisy_estimate():
    """Two related pairs; a column of one of them hardly varies beside the noise."""
    scale = np.array([1.0, 1.0, 1.0, 0.13])
    truth = truth_of(4, (0, 1, 0.6), (2, 3, 0.999)) * np.outer(scale, scale)
    return estimate_of(truth, n_rows=4000, epsilon=1.0)


def test_what_is_too_noisy_to_tell_is_counted_and_not_drawn():
    estimate = noisy_estimate()
    pairs = estimate.edges(0.3).pairs
    told, untold = int(pairs.told.sum()), int((~pairs.told).sum())
    assert told
    assert untold
    ax = network(estimate, axes(), fdr=0.3)
    assert len(ax.get_lines()) == told
    assert ax.get_title().endswith(f"{untold} more: too noisy to tell how strong")
    drawn = pairs.chosen(pairs.told)
    names = {estimate.columns[place] for place in (*drawn.first, *drawn.second)}
    assert {text.get_text() for text in ax.texts} == names


def test_where_no_pair_is_told_it_says_how_many_there_are():
    estimate = noisy_estimate()
    pairs = estimate.edges(0.3).pairs
    alone = replace(estimate.edges(0.3), pairs=pairs.chosen(~pairs.told))
    estimate._found["edges", 0.3, 0.95] = alone
    ax = network(estimate, axes(), fdr=0.3)
    assert "related; how strong\nis too noisy to tell." in words(ax)


def test_without_any_edge_it_says_so():
    ax = network(estimate_of(truth_of(4)), axes(), fdr=1e-6)
    assert "No pair of columns is related" in words(ax)


def test_hostile_names_are_drawn_as_text():
    truth = truth_of(6, (0, 1, 0.5), (2, 3, 0.5), (4, 5, 0.5))
    ax = network(estimate_of(truth, columns=HOSTILE), axes(), fdr=1e-3)
    ax.figure.canvas.draw()
    assert "$5 and $6" in [text.get_text() for text in ax.texts]
    assert all("\n" not in text.get_text() for text in ax.texts)


def test_partial_correlations_are_drawn_as_a_network_of_their_own():
    """A chain: its ends are related, but not given what stands between them."""
    chain = truth_of(4, (0, 1, 0.6), (1, 2, 0.6), (0, 2, 0.36))
    estimate = estimate_of(chain)
    assert len(network(estimate, axes(), fdr=1e-3).get_lines()) == 3
    ax = network(estimate.release.partial_correlations(), axes(), fdr=1e-3)
    assert len(ax.get_lines()) == 2
    assert ax.get_title() == "2 related pairs, given all others"


def test_without_a_pair_given_all_others_the_picture_says_so():
    found = estimate_of(truth_of(4)).release.partial_correlations()
    (text,) = network(found, axes(), fdr=1e-6).texts
    assert text.get_text().startswith("No pair of columns is related")
