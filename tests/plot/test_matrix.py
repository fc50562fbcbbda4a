import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.plot import heatmap, matrix
from plot.pictures import HOSTILE, axes, estimate_of, pairs_estimate_of, truth_of, words

LINKS = (0, 4, 0.6), (1, 3, -0.5)


def picture(ax):
    return np.asarray(ax.images[0].get_array().filled(np.nan))


@pytest.mark.parametrize("make", [estimate_of, pairs_estimate_of])
def test_in_the_given_order_the_picture_is_the_correlation_matrix(make):
    estimate = make(truth_of(5, *LINKS))
    shown = picture(heatmap(estimate, axes(), order="given"))
    assert np.isnan(np.diag(shown)).all()
    off = ~np.eye(5, dtype=bool)
    assert shown[off] == pytest.approx(estimate.correlation[off])


def test_names_follow_their_columns_into_the_order_of_blocks():
    estimate = estimate_of(truth_of(5, *LINKS))
    ax = heatmap(estimate, axes())
    names = [label.get_text() for label in ax.get_yticklabels()]
    places = [estimate.columns.index(name) for name in names]
    assert places[-1] == 2
    expected = estimate.correlation[np.ix_(places, places)]
    off = ~np.eye(5, dtype=bool)
    assert picture(ax)[off] == pytest.approx(expected[off])


def test_a_dot_for_many_pairs_shows_the_strongest(monkeypatch):
    monkeypatch.setattr(matrix, "_MOST_DOTS", 3)
    estimate = estimate_of(truth_of(6, (0, 4, 0.6), (1, 5, -0.4)))
    shown = picture(heatmap(estimate, axes(), order="given"))
    assert shown.shape == (3, 3)
    assert shown[0, 2] == shown[2, 0] == estimate.correlation[0, 4]


def test_of_too_many_columns_only_those_of_kept_pairs_are_drawn(monkeypatch):
    monkeypatch.setattr(matrix, "_MOST_DOTS", 5)
    estimate = estimate_of(truth_of(6, (0, 4, 0.6), (1, 3, -0.5)), threshold=6.0)
    ax = heatmap(estimate, axes())
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert sorted(names) == ["x0", "x1", "x3", "x4"]
    assert ax.get_xlabel() == "4 of 6 columns; of the others no pair is kept"
    places = [estimate.columns.index(name) for name in names]
    off = ~np.eye(4, dtype=bool)
    assert picture(ax)[off] == pytest.approx(estimate.correlation[np.ix_(places, places)][off])


def test_a_relation_within_one_dot_is_not_hidden_by_the_diagonal(monkeypatch):
    monkeypatch.setattr(matrix, "_MOST_DOTS", 2)
    shown = picture(heatmap(estimate_of(truth_of(4, (0, 1, 0.6))), axes(), order="given"))
    assert shown[0, 0] == pytest.approx(0.6, abs=0.1)
    assert np.isnan(shown[1, 1])


def test_the_colors_are_centered_at_zero_and_end_at_the_strongest_rounded_up():
    image = heatmap(estimate_of(truth_of(5, *LINKS)), axes()).images[0]
    assert image.get_clim() == (-0.7, 0.7) or image.get_clim() == (-0.6, 0.6)


def test_the_limit_can_be_stated():
    assert heatmap(estimate_of(truth_of(3)), axes(), limit=1).images[0].get_clim() == (-1, 1)


def test_the_color_bar_says_what_the_colors_mean():
    ax = heatmap(estimate_of(truth_of(3)), axes())
    assert ax.images[0].colorbar.ax.get_ylabel() == "correlation"


@pytest.mark.parametrize(("size", "named"), [(40, 40), (41, 21)])
def test_as_many_names_are_written_as_fit(size, named):
    ax = heatmap(estimate_of(truth_of(size), n_rows=2000), axes())
    assert len(ax.get_xticklabels()) == len(ax.get_yticklabels()) == named


def test_without_any_pair_it_says_so():
    ax = heatmap(estimate_of(truth_of(4)), axes())
    assert "the estimate keeps no pair" in words(ax)


def test_hostile_names_are_drawn_as_text():
    ax = heatmap(estimate_of(truth_of(6), columns=HOSTILE), axes())
    ax.figure.canvas.draw()
    labels = ax.get_xticklabels()
    assert "$5 and $6" in [label.get_text() for label in labels]
    assert not any(label.get_parse_math() for label in labels)


def test_an_unknown_order_is_refused():
    with pytest.raises(ParameterError, match="order must be one of 'cluster', 'given'"):
        heatmap(estimate_of(truth_of(3)), axes(), order="alphabet")
