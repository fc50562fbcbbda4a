"""Lower bounds on ε, against Gaussian pairs whose ε is known."""

import numpy as np
import pytest

from dpcov.audit import clopper_pearson_epsilon, gaussian_dp_epsilon, plug_in_epsilon
from dpcov.errors import ParameterError
from dpcov.privacy import gaussian_epsilon

DELTA, DISTANCE = 0.1, 1.4
TRUTH = gaussian_epsilon(delta=DELTA, scale=1 / DISTANCE)
BOUNDS = {
    "clopper-pearson": clopper_pearson_epsilon,
    "gaussian-dp": gaussian_dp_epsilon,
    "gaussian-dp, threshold known": lambda *scores, **facts: gaussian_dp_epsilon(
        *scores, **facts, threshold=0.0
    ),
}
REPETITIONS = 400


def scores(generator, runs, distance=DISTANCE):
    """Return logs of likelihood ratios of a Gaussian mechanism on both tables."""
    noise = generator.normal(size=(2, runs))
    return [
        distance * (each + side * distance / 2) for each, side in zip(noise, (1, -1), strict=True)
    ]


@pytest.mark.parametrize("bound", list(BOUNDS.values()), ids=BOUNDS)
@pytest.mark.parametrize("runs", [30, 300])
def test_a_lower_bound_is_below_the_truth_as_often_as_it_says(bound, runs):
    generator = np.random.default_rng(1)
    found = [
        bound(*scores(generator, runs), delta=DELTA, confidence=0.95) for _ in range(REPETITIONS)
    ]
    # 5 % of 400 are 20; 35 or more would come once in a thousand times.
    assert np.sum(np.array(found) > TRUTH) < 35


@pytest.mark.parametrize("bound", list(BOUNDS.values()), ids=BOUNDS)
def test_a_bound_at_low_confidence_fails_the_same_check(bound):
    generator = np.random.default_rng(2)
    found = [
        bound(*scores(generator, 300), delta=DELTA, confidence=0.4) for _ in range(REPETITIONS)
    ]
    assert np.sum(np.array(found) > TRUTH) >= 35


@pytest.mark.parametrize(
    ("bound", "share"),
    list(zip(BOUNDS.values(), (0.8, 0.9, 0.95), strict=True)),
    ids=BOUNDS,
)
def test_many_runs_find_most_of_what_there_is(bound, share):
    found = bound(*scores(np.random.default_rng(3), 40_000), delta=DELTA)
    assert share * TRUTH < found < TRUTH


@pytest.mark.parametrize("bound", list(BOUNDS.values()), ids=BOUNDS)
def test_tables_that_cannot_be_told_apart_have_a_bound_of_zero(bound):
    assert bound(*scores(np.random.default_rng(4), 500, 0.0), delta=DELTA) == 0


def test_a_test_that_is_always_right_refutes_a_pure_promise_as_far_as_runs_go():
    ones = np.ones(100)
    found = clopper_pearson_epsilon(ones, -ones, delta=0.0)
    # 67 runs judge: with half of 5 %, errors are below 1 − 0.025^(1/67).
    error = 1 - 0.025 ** (1 / 67)
    assert found == pytest.approx(np.log((1 - error) / error), rel=1e-9)


def test_scores_that_are_larger_on_the_second_table_find_nothing():
    first, second = scores(np.random.default_rng(5), 500)
    assert clopper_pearson_epsilon(second, first, delta=DELTA) == 0
    assert gaussian_dp_epsilon(second, first, delta=DELTA) == 0


def test_the_plug_in_estimate_is_near_the_truth():
    found = plug_in_epsilon(*scores(np.random.default_rng(6), 100_000), delta=DELTA)
    assert found == pytest.approx(TRUTH, rel=0.02)


def test_randomized_response_has_the_epsilon_of_its_coin():
    generator = np.random.default_rng(7)
    ratios = [np.where(generator.random(50_000) < p, 1.0, -1.0) for p in (0.731058, 0.268942)]
    assert clopper_pearson_epsilon(*ratios, delta=0.0) == pytest.approx(1.0, abs=0.06)
    assert plug_in_epsilon(*ratios, delta=1e-9) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "facts"),
    [
        ([1, 2, 3], [1, 2, 3, 4], {"delta": 0.1}),
        ([1, 2, 3, np.nan], [1, 2, 3, 4], {"delta": 0.1}),
        ([1, 2, 3, 4], [1, 2, 3, 4], {"delta": 1.0}),
        ([1, 2, 3, 4], [1, 2, 3, 4], {"delta": 0.1, "confidence": 1.0}),
        ([1, 2, 3, 4], [1, 2, 3, 4, 5], {"delta": 0.1}),
    ],
)
def test_scores_that_cannot_be_used_are_refused(first, second, facts):
    with pytest.raises(ParameterError):
        gaussian_dp_epsilon(first, second, **facts)
