import math

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.postprocess.choice import EMPIRICAL_BAYES, choose
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.rules import RULES
from postprocess.simulation import band, release_of


@pytest.fixture(scope="module")
def release():
    return release_of(band(40), n_rows=20_000)


@pytest.fixture(scope="module")
def noise(release):
    return NoiseModel.of(release)


def test_cai_liu_is_its_formula(release, noise):
    choice = choose(release.matrix, noise, threshold="cai-liu")
    assert choice.threshold == pytest.approx(2 * math.sqrt(math.log(40)))
    assert choice.rule == "hard"


def test_the_paper_s_threshold_is_its_formula(release, noise):
    choice = choose(release.matrix, noise, threshold="paper", gamma=0.5)
    root = math.sqrt(math.log(40))
    expected = 0.5 * root / math.sqrt(20_000) + 4 * release.noise_scale.off_diagonal * root
    assert choice.paper_threshold == pytest.approx(expected, rel=1e-12)


def test_a_number_is_a_number_of_standard_deviations(release, noise):
    assert choose(release.matrix, noise, threshold=3, rule="soft").threshold == 3.0


def test_thinning_keeps_the_whole_risk_curve(release, noise):
    curve = choose(release.matrix, noise).curve
    assert set(curve.risk) == {*RULES, EMPIRICAL_BAYES}
    assert all(len(risk) == len(curve.thresholds) for risk in curve.risk.values())
    assert curve.thresholds[0] == pytest.approx(1.5)


def test_thinning_chooses_near_the_lowest_risk(release, noise):
    choice = choose(release.matrix, noise)
    curve = choice.curve
    least = min(risk.min() for risk in curve.risk.values())
    chosen = curve.risk[choice.rule][np.argmin(np.abs(curve.thresholds - choice.threshold))]
    assert least < 0
    assert chosen <= 0.99 * least


def test_one_rule_alone_can_be_thinned(release, noise):
    for rule in ("soft", EMPIRICAL_BAYES):
        choice = choose(release.matrix, noise, rule=rule)
        assert choice.rule == rule
        assert set(choice.curve.risk) == {rule}


def test_a_rule_of_your_own_can_be_thinned(release, noise):
    def firm(size, threshold):
        return np.where(size > threshold, size, 0.0)

    choice = choose(release.matrix, noise, rule=firm)
    assert choice.rule == "firm"
    assert math.isfinite(choice.threshold)


def test_nothing_is_kept_when_there_is_nothing(noise):
    for seed in range(5):
        release = release_of(np.eye(40), n_rows=5000, seed=seed)
        noise = NoiseModel.of(release)
        threshold = choose(release.matrix, noise).threshold
        z = np.abs(release.matrix) / np.sqrt(noise.block(slice(None)))
        np.fill_diagonal(z, 0.0)
        assert z.max() < threshold


@pytest.mark.parametrize("size", [2, 12, 30])
def test_a_single_outstanding_pair_is_kept(size):
    truth = np.eye(size)
    truth[0, 1] = truth[1, 0] = 0.45
    kept = 0
    for seed in range(10):
        release = release_of(truth, n_rows=400 * size, epsilon=4, seed=seed)
        choice = choose(release.matrix, NoiseModel.of(release))
        z = release.matrix[0, 1] / NoiseModel.of(release).typical_deviation
        assert z > 5
        kept += z > choice.threshold
    assert kept == 10


def test_a_dense_answer_may_have_any_threshold(release, noise):
    assert choose(release.matrix, noise, sparse=False).curve.thresholds[0] == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": "best"}, "'thinned', 'cai-liu', 'paper', or a number; got 'best'"),
        ({"threshold": -1}, "threshold must"),
        ({"threshold": math.nan}, "threshold must"),
        ({"threshold": None}, "threshold must"),
        ({"rule": "lasso"}, "rule must be one of"),
        ({"rule": None}, "rule must be one of"),
        ({"threshold": "paper"}, "needs gamma"),
        ({"threshold": "paper", "gamma": -1}, "gamma must"),
        ({"gamma": 1}, "gamma is for threshold='paper'"),
    ],
)
def test_impossible_choices_are_refused(release, noise, options, message):
    with pytest.raises(ParameterError, match=message):
        choose(release.matrix, noise, **options)


@pytest.mark.parametrize("rule", ["soft", EMPIRICAL_BAYES])
def test_a_stated_rule_is_used_even_when_there_is_nothing_to_gain(rule):
    release = release_of(np.eye(40), n_rows=5000)
    assert choose(release.matrix, NoiseModel.of(release), rule=rule).rule == rule


def test_a_threshold_that_is_an_array_is_refused(release, noise):
    with pytest.raises(ParameterError, match="a name or a number"):
        choose(release.matrix, noise, threshold=np.array([1.0, 2.0]))
