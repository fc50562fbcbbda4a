"""The constants of learning: what they are to each other, and to what is paid for."""

from dataclasses import FrozenInstanceError

import pytest
from scipy import stats

from dpcov.errors import ParameterError
from dpcov.exact.ruler import OCTAVES
from dpcov.mechanisms.learning.lengths import edges_about
from dpcov.mechanisms.learning.tuning import (
    MOST_HALVINGS,
    MOST_STEPS,
    Tuning,
    answer_margin,
)


@pytest.mark.claim("P22")
def test_no_number_is_larger_and_no_search_longer_than_the_budget_was_checked_for():
    tuning = Tuning()
    assert max(tuning.cell_steps, tuning.square_steps) <= MOST_STEPS == 4096
    searches = (
        1 + tuning.range_steps,
        tuning.center_steps,
        1 + tuning.limit_steps,
        tuning.radius_steps,
    )
    assert max(searches) <= MOST_HALVINGS == 16


@pytest.mark.parametrize("name", ["cell_steps", "square_steps"])
def test_a_number_beyond_the_largest_is_refused(name):
    Tuning(**{name: MOST_STEPS})
    with pytest.raises(ParameterError, match="checked for"):
        Tuning(**{name: MOST_STEPS + 1})


@pytest.mark.parametrize("name", ["range_steps", "center_steps", "limit_steps", "radius_steps"])
def test_a_search_beyond_the_longest_is_refused(name):
    Tuning(**{name: MOST_HALVINGS})
    with pytest.raises(ParameterError, match="checked for"):
        Tuning(**{name: MOST_HALVINGS + 1})


@pytest.mark.claim("P22")
def test_constants_cannot_be_changed_after_they_were_checked():
    tuning = Tuning()
    with pytest.raises(FrozenInstanceError):
        tuning.cell_steps = MOST_STEPS + 1


def test_halvings_leave_what_is_worth_no_further_one():
    tuning = Tuning()
    assert 0.2 < OCTAVES / 2**tuning.range_steps < 0.4
    assert 0.2 < tuning.limit_octaves / 2**tuning.limit_steps < 0.4
    assert tuning.closed_octaves < OCTAVES
    # Of the bins of squared norms, one is left.
    assert len(edges_about(1.0, tuning)) == 1 + 2**tuning.radius_steps


def test_limits_and_radii_belong_together():
    """A cell at its limit adds the square of the reach; a floor keeps limits within the reach."""
    tuning = Tuning()
    assert tuning.radius_cell == pytest.approx(tuning.reach**2, rel=0.02)
    assert tuning.scale_floor == pytest.approx(1 / tuning.reach, rel=1e-12)
    assert 0 < tuning.radius_free < 1
    assert 0 < tuning.radius_usual < 1


def test_limits_are_wider_than_what_was_found():
    tuning = Tuning()
    assert tuning.range_factor > 1
    assert tuning.limit_factor > 1
    assert 0 < tuning.range_tail < tuning.most_tail <= 0.5
    assert 0 < tuning.limit_tail < tuning.most_tail
    assert tuning.range_tail < tuning.range_tails[0] < tuning.range_tails[1] < tuning.most_tail
    assert 0 < tuning.range_shares[0] < tuning.range_shares[1] < 1


def test_an_answer_about_any_column_is_wrong_once_in_a_million_releases():
    """By Bonferroni, over the answers of ranges and those that check ranges and limits."""
    tuning = Tuning()
    assert tuning.wrong == 1e-6
    for columns in (1, 30, 1000):
        answers = columns * (tuning.range_steps + 2)
        assert answers * stats.norm.sf(answer_margin(columns, tuning)) == pytest.approx(1e-6)
