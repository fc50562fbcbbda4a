import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.postprocess.rules import RULES, apply_rule, find_rule

SIZES = np.linspace(0, 20, 2001)


@pytest.mark.parametrize("name", RULES)
@given(threshold=st.floats(0, 8))
def test_a_rule_kills_what_is_below_the_threshold_and_shrinks_what_is_above(name, threshold):
    shrunk = apply_rule(RULES[name], SIZES, np.asarray(threshold))
    assert (shrunk[threshold >= SIZES] == 0).all()
    assert (shrunk <= SIZES + 1e-12).all()
    assert (np.diff(shrunk) >= -1e-9).all()


@pytest.mark.parametrize(("name", "gap"), [("hard", 0), ("soft", 2), ("scad", 0)])
def test_far_above_the_threshold_the_bias_is_known(name, gap):
    shrunk = apply_rule(RULES[name], np.array([15.0]), np.asarray(2.0))
    assert shrunk[0] == pytest.approx(15.0 - gap)


def test_the_adaptive_lasso_is_its_formula():
    shrunk = apply_rule(RULES["adaptive-lasso"], np.array([4.0]), np.asarray(2.0))
    assert shrunk[0] == pytest.approx(4.0 - 2.0**4 / 4.0**3)


def test_scad_is_continuous():
    at = np.array([4.0, 7.4])
    below, above = (apply_rule(RULES["scad"], at + e, np.asarray(2.0)) for e in (-1e-9, 1e-9))
    assert above == pytest.approx(below, abs=1e-7)


@pytest.mark.parametrize("name", RULES)
def test_a_threshold_for_each_entry_is_allowed(name):
    thresholds = np.full(len(SIZES), 3.0)
    assert (
        apply_rule(RULES[name], SIZES, thresholds)
        == apply_rule(RULES[name], SIZES, np.asarray(3.0))
    ).all()


def test_an_unknown_rule_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match=r"'auto', 'hard', 'soft', 'scad', 'adaptive-lasso'"):
        find_rule("garrote")


@pytest.mark.parametrize(
    "rule",
    [
        lambda size, threshold: size[:-1],
        lambda size, threshold: -size - 1,
        lambda size, threshold: size * np.nan,
        lambda size, threshold: 1.0,
    ],
)
def test_a_rule_of_your_own_that_returns_nonsense_is_refused(rule):
    with pytest.raises(ParameterError, match="one finite, non-negative size"):
        apply_rule(find_rule(rule)[1], SIZES, np.asarray(1.0))
