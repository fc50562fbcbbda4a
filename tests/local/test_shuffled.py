"""Claim P50 for plans: the second promise of reports, and what it rests on."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpcov import local
from dpcov.errors import ParameterError
from dpcov.local import cap as device
from dpcov.local import shuffled
from dpcov.local.integers import IntegerNoise
from dpcov.privacy import (
    Neighbors,
    calibrate_cap,
    cap_variation,
    gaussian_delta,
    gaussian_epsilon,
    shuffled_delta,
    shuffled_epsilon,
)
from wiring.planting import plant


def plan_of(epsilon=1.0, **other):
    return local.CollectionPlan(columns=["a", "b", "c"], row_norm=1.0, epsilon=epsilon, **other)


# --- The promise -----------------------------------------------------------------------------


@pytest.mark.claim("P50")
@pytest.mark.parametrize(("epsilon", "expected"), [(1.0, 0.02821), (2.0, 0.08003), (4.0, 0.3303)])
def test_ten_thousand_shuffled_reports_have_a_known_epsilon(epsilon, expected):
    second = plan_of(epsilon).shuffled(10_000)
    assert (second.epsilon, second.delta, second.n_people) == (expected, 1e-6, 10_000)
    assert second.promise.neighbors is Neighbors.REPLACE
    assert second.local == plan_of(epsilon).promise


@pytest.mark.claim("P50")
def test_the_stated_epsilon_is_that_of_the_bound_rounded_up():
    plan = plan_of(2.0)
    bound = shuffled_epsilon(
        delta=1e-7,
        local_epsilon=2.0,
        n_people=5000,
        variation=cap_variation(plan.cap, n_columns=3),
    )
    assert bound <= plan.shuffled(5000, delta=1e-7).epsilon <= bound * 1.001


@pytest.mark.claim("P50")
@pytest.mark.parametrize("mechanism", [{}, {"mechanism": "gaussian", "delta": 1e-6}])
@pytest.mark.parametrize("n_people", [1, 2, 50])
def test_the_second_promise_is_never_weaker_than_the_first(mechanism, n_people):
    plan = plan_of(3.0, **mechanism)
    assert plan.shuffled(n_people).epsilon <= 3.0


@pytest.mark.claim("P50")
def test_people_who_are_not_honest_hide_nobody():
    plan = plan_of()
    assert plan.shuffled(1000, honest=0.5) == plan.shuffled(500)
    assert plan.shuffled(10, honest=0.01).n_people == 1


def test_the_words_state_the_assumption_and_what_remains_without_it():
    second = plan_of().shuffled(500)
    assert "500 people report once each" in second.in_words
    assert "nobody can tell whose report is whose" in second.in_words
    assert "Who reports, and how many do, is not hidden" in second.in_words
    assert second.in_words.endswith("1-differential privacy in the local model remains.")
    assert str(second).endswith("if 500 reports are shuffled")


def test_gaussian_reports_promise_for_sums_alone():
    second = plan_of(mechanism="gaussian", delta=1e-6).shuffled(500)
    assert "nobody sees anything of the reports but their sum" in second.assumption
    assert str(second).endswith("if 500 reports are summed")


def test_a_plan_that_refuses_gaps_promises_among_complete_rows():
    second = plan_of(missing="refuse").shuffled(500)
    assert second.promise.complete
    assert "among complete rows" in second.in_words
    assert "complete rows" not in plan_of().shuffled(500).in_words


@pytest.mark.parametrize(
    "wrong", [{"n_people": 0}, {"delta": 0.0}, {"delta": 1e-21}, {"honest": 0.0}, {"honest": 1.1}]
)
def test_impossible_numbers_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        plan_of().shuffled(**{"n_people": 10, **wrong})


# --- How far the reports of two rows are apart -----------------------------------------------


@pytest.mark.claim("P50")
@pytest.mark.parametrize("threshold", [0.5, 1.255, 2.1, 3.0])
def test_caps_of_orthogonal_rows_share_the_fewest_seeds(threshold):
    q = math.erfc(threshold / math.sqrt(2))
    shared = []
    for correlation in (0.0, 0.1, 0.4, -0.7, 0.95):
        law = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
        within = law.cdf([threshold] * 2, lower_limit=[-threshold] * 2)
        shared.append(1 - 2 * (1 - q) + within)
    assert shared[0] == pytest.approx(q * q, abs=1e-6)
    assert min(shared) > q * q - 1e-6
    assert shared == sorted(shared)


def distances(cap, seeds, units):
    """Return the distance of the reports of each two rows, and how far their caps are off."""
    inside = np.array([device.in_cap(seeds, unit[None], cap.threshold) for unit in units])
    shares, p, q = inside.mean(axis=1), cap.probability, cap.inside
    laws = np.where(inside, p / shares[:, None], (1 - p) / (1 - shares[:, None])) / len(seeds)
    shared = inside.astype(float) @ inside.T / len(seeds)
    apart = max(np.abs(laws - law).sum(axis=1).max() / 2 for law in laws)
    return apart, np.abs(shares - q).max(), q * q - shared.min()


@pytest.mark.claim("P50")
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_distance_of_reports_is_what_the_claim_makes_of_uneven_caps(epsilon):
    # Few seeds of the real generator: shares of caps, and of what two share, are off.
    cap = calibrate_cap(epsilon=epsilon, n_columns=3)
    numbers = np.random.default_rng(3).integers(0, 256, (30_000, 16)).astype(np.uint8)
    turned = np.linalg.qr(np.random.default_rng(4).normal(size=(4, 4)))[0]
    apart, off, missing = distances(cap, numbers, np.vstack([np.eye(4), turned]))
    high = cap.probability / cap.inside
    low = (1 - cap.probability) / (1 - cap.inside)
    bound = cap.probability - cap.inside + (high - low) * (off + missing) + off * (high + low)
    assert cap_variation(cap, n_columns=3) * 0.98 < apart <= bound


@pytest.mark.claim("P50")
def test_the_distance_pays_for_the_generator_and_floating_point():
    for epsilon in (0.01, 1.0, 6.0):
        cap = calibrate_cap(epsilon=epsilon, n_columns=2**16)
        more = cap_variation(cap, n_columns=2**16) - (cap.probability - cap.inside)
        high = cap.probability / cap.inside
        assert 4 * high * 1e-11 < more < 4 * high * 1e-8


def circle(seeds, size):
    """A toy generator: the first byte of a seed is an angle."""
    assert size == 2
    angle = 2 * np.pi * (seeds[:, 0] + 0.5) / 256
    return 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.claim("P50")
def test_two_shuffled_seeds_of_a_toy_generator_tell_no_more_than_the_bound(monkeypatch):
    monkeypatch.setattr(device, "expand_normals", circle)
    seeds = np.zeros((256, 16), np.uint8)
    seeds[:, 0] = np.arange(256)
    angles = 2 * np.pi * np.array([0, 20, 45, 64, 100]) / 256
    units = np.column_stack([np.cos(angles), np.sin(angles)])
    inside = np.array([device.in_cap(seeds, unit[None], 1.6) for unit in units])
    assert len(set(inside.sum(axis=1))) == 1  # every cap has the same number of seeds
    laws = np.where(inside, math.e, 1.0)
    laws /= laws.sum(axis=1, keepdims=True)
    variation = max(np.abs(laws - law).sum(axis=1).max() / 2 for law in laws)
    for epsilon in (0.0, 0.2, 0.6, 0.9):
        worst = 0.0
        for x, y, z in product(laws, repeat=3):
            first, second = (np.outer(law, z) + np.outer(z, law) for law in (x, y))
            worst = max(worst, np.maximum(0, first - math.exp(epsilon) * second).sum() / 2)
        bound = shuffled_delta(epsilon=epsilon, local_epsilon=1.0, n_people=2, variation=variation)
        assert worst <= bound * (1 + 1e-12) <= 4 * worst


# --- Sums of Gaussian reports ----------------------------------------------------------------


def rounded_gaussian(scale):
    reach = math.ceil(14 * scale)
    ends = np.arange(-reach, reach + 2) - 0.5
    return np.diff(stats.norm.cdf(ends / scale))


def sum_of(law, count):
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, law)
    return total


@pytest.mark.claim("P50")
@pytest.mark.parametrize(("scale", "count"), [(1.0, 2), (1.5, 3), (2.0, 4)])
def test_a_sum_of_rounded_noise_is_a_rounded_sum_with_more_noise(scale, count):
    total = sum_of(rounded_gaussian(scale), count)
    numbers = np.arange(len(total)) - len(total) // 2
    # The density at whole numbers of √n σ N and n uniform variables of length one.
    angles = np.linspace(-40, 40, 160_001) / scale
    law = (np.exp(-0.5 * (scale * angles) ** 2) * np.sinc(angles / (2 * np.pi))) ** count
    middle = np.abs(numbers) <= 6 * scale
    density = [float((law * np.cos(k * angles)).sum()) for k in numbers[middle]]
    density = np.array(density) * (angles[1] - angles[0]) / (2 * np.pi)
    allowed = (count + 1) * 2.01 * math.exp(-((math.pi * scale) ** 2) / 2)
    assert np.abs(density - total[middle]).max() <= allowed + 1e-12


def exceeded(count, multiplier):
    """Return whether the sum of reports of two rows is further apart than Gaussian noise says."""
    scale, shift = 10.0, 7
    total = sum_of(rounded_gaussian(scale), count)
    first, second = np.append(total, np.zeros(shift)), np.append(np.zeros(shift), total)
    return any(
        np.maximum(0, second - math.exp(epsilon) * first).sum()
        > gaussian_delta(epsilon=epsilon, scale=scale * multiplier, sensitivity=shift) + 1e-13
        for epsilon in (0.0, 0.1, 0.5, 1.0)
    )


@pytest.mark.claim("P50")
@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_sum_of_reports_has_the_promise_of_its_noise_together(count):
    assert not exceeded(count, math.sqrt(count))
    assert exceeded(count, math.sqrt(count) * 1.02)


@pytest.mark.claim("P50")
def test_the_epsilon_of_a_sum_is_that_of_the_noise_of_all():
    plan = plan_of(2.0, mechanism="gaussian", delta=1e-6)
    exact = gaussian_epsilon(delta=1e-6, scale=100 * plan.noise.multiplier)
    assert exact <= plan.shuffled(10_000).epsilon <= exact * 1.001


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("math.sqrt(min(n_people, _MOST_PEOPLE))", "min(n_people, _MOST_PEOPLE)"),
        ("min(alone, ", "0.9 * min(alone, "),
    ],
)
def test_a_sum_that_promises_too_much_fails_the_same_test(monkeypatch, old, new):
    plant(monkeypatch, "local.shuffled:_epsilon_of_sum", old, new)
    plan = plan_of(2.0, mechanism="gaussian", delta=1e-6)
    exact = gaussian_epsilon(delta=1e-6, scale=100 * plan.noise.multiplier)
    assert exact > plan.shuffled(10_000).epsilon


@pytest.mark.claim("P50")
@pytest.mark.parametrize("noise", [IntegerNoise(4, 9, 14), IntegerNoise(12, 11, 16)])
def test_noise_that_is_hardly_there_promises_no_more_in_sums(noise):
    alone = gaussian_epsilon(delta=1e-6, scale=noise.multiplier)
    assert shuffled._epsilon_of_sum(noise, 1000, 1e-6) == alone


def test_an_epsilon_is_never_zero():
    assert plan_of(mechanism="gaussian", delta=1e-6).shuffled(10**9, delta=0.5).epsilon == 1e-6
