import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.plot import risk
from plot.pictures import axes, estimate_of, pairs_estimate_of, truth_of

LINKS = (0, 4, 0.6), (1, 3, -0.5)


def test_every_rule_has_its_curve():
    estimate = estimate_of(truth_of(6, *LINKS))
    drawn = {line.get_label(): line.get_ydata() for line in risk(estimate, axes()).get_lines()}
    for name, values in estimate.risk_curve.risk.items():
        assert drawn[name.replace("-", " ")] == pytest.approx(values)


def test_curves_differ_in_color_and_in_line():
    lines = risk(estimate_of(truth_of(6)), axes()).get_lines()
    curves = [line for line in lines if len(line.get_xdata()) > 2]
    assert len({line.get_color() for line in curves}) == len(curves) == 5
    assert len({repr(line._dash_pattern) for line in curves}) == 5


def test_the_chosen_threshold_is_marked_on_the_curve_of_its_rule():
    estimate = estimate_of(truth_of(6, *LINKS))
    (mark,) = (line for line in risk(estimate, axes()).get_lines() if line.get_marker() == "o")
    curve = estimate.risk_curve
    expected = np.interp(estimate.threshold, curve.thresholds, curve.risk[estimate.rule])
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (estimate.threshold, expected)
    assert estimate.choice.in_words in mark.get_label()


def test_the_lowest_risk_is_in_view():
    estimate = estimate_of(truth_of(6, *LINKS))
    low, high = risk(estimate, axes()).get_ylim()
    best = min(values.min() for values in estimate.risk_curve.risk.values())
    assert low < best < high


@pytest.mark.parametrize(
    "estimate", [estimate_of(truth_of(3), threshold="cai-liu"), pairs_estimate_of(truth_of(4))]
)
def test_an_estimate_without_a_curve_is_refused_with_the_way_to_one(estimate):
    with pytest.raises(ParameterError, match="threshold='thinned'"):
        risk(estimate, axes())
