"""The value of partial correlations: frames, matrices, lists, texts."""

import numpy as np
import pytest

import dpcov
from answers.tables import survey_with_rare
from dpcov.errors import ParameterError


@pytest.fixture(scope="module")
def found():
    rows = np.random.default_rng(0).normal(size=(30_000, 4))
    rows[:, 1] += rows[:, 0]
    rows[:, 2] += rows[:, 1]
    release = dpcov.release(rows, epsilon=1, delta=1e-6, seed=0)
    return release.partial_correlations(["x0", "x1", "x2", "x3"])


def test_a_pair_is_asked_for_by_name(found):
    one = found["x1", "x0"]
    assert (one.first, one.second) == ("x1", "x0")
    assert one.low < 0.5 < one.high


def test_both_orders_of_a_pair_say_the_same(found):
    assert found["x1", "x0"][2:] == found["x0", "x1"][2:]


def test_a_name_that_is_not_there_is_refused(found):
    with pytest.raises(ParameterError, match="did you mean"):
        found["x0", "x11"]


@pytest.mark.parametrize("names", ["x0", ("x0",), ("x0", "x0"), ("x0", "x1", "x2")])
def test_what_is_no_pair_is_refused(found, names):
    with pytest.raises(ParameterError, match="two different column names"):
        found[names]


def test_the_matrix_is_symmetric_with_ones(found):
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    assert (found.matrix.diagonal() == 1).all()


def test_arrays_are_read_only(found):
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 0


def test_a_frame_has_a_line_for_each_pair(found):
    frame = found.to_frame()
    assert len(frame) == len(found) == 6
    assert frame["value"].tolist() == found.values.tolist()


def test_the_list_is_in_order_of_how_sure_they_are(found):
    sure = [edge.p_value for edge in found.edges(fdr=0.9999)]
    assert sure == sorted(sure)


def test_a_rate_beyond_one_is_refused(found):
    with pytest.raises(ParameterError, match="fdr"):
        found.edges(fdr=1.5)


def test_the_text_lists_what_is_related(found):
    text = found.summary(fdr=1e-6)
    assert "2 of 6 pairs are related given all other columns" in text
    assert "x0" in text.splitlines()[4] + text.splitlines()[5]


def test_a_notebook_shows_the_same_sentences(found):
    assert "pairs are related given all other columns" in found._repr_html_()


def test_a_pair_that_is_not_told_is_said_to_be_too_noisy():
    rows = np.random.default_rng(0).normal(size=(300, 12))
    made = dpcov.release(rows, epsilon=0.3, delta=1e-6, seed=0, allow={"small"})
    noisy = made.partial_correlations()
    assert noisy["x0", "x1"].in_words == "x0 – x1: too noisy to tell"
    assert "does not let tell" in noisy.summary()
    assert "66 too noisy to tell" in repr(noisy)


def test_it_cannot_be_iterated_by_mistake(found):
    with pytest.raises(TypeError):
        iter(found)


def test_a_column_that_is_lost_in_noise_spoils_no_other():
    release = survey_with_rare()
    found = release.partial_correlations(["age", "school", "income", "rare"])
    assert found.terms.left_out == ("rare",)
    alone = release.partial_correlations(["age", "school", "income"])
    assert np.array_equal(found.values, alone.values)
    assert "rare does not stand out of the noise" in found.summary()


def test_where_too_few_columns_stand_out_nothing_is_told_of_the_others():
    found = survey_with_rare().partial_correlations(["age", "income", "rare"])
    assert not found.terms.left_out
    assert not found["age", "rare"].told
