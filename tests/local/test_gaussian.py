"""Claim P15: Gaussian reports pay for a sensitivity of √2."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpcov
from dpcov import local
from dpcov.errors import MalformedReportError, ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.local import integers
from dpcov.local.gaussian import noisy_products
from dpcov.local.report import parse_reports
from dpcov.privacy import ApproxDP

EPSILON, DELTA, RUNS = 2.0, 0.3, 5000
promises = st.builds(
    ApproxDP, epsilon=st.floats(0.01, 20), delta=st.floats(1e-30, 0.5), neighbors=st.just("local")
)


@pytest.mark.claim("P15")
@given(promises)
def test_the_noise_pays_for_root_two_in_every_direction(promise):
    noise = integers.calibrate_noise(promise)
    needed = Fraction(dpcov.privacy.gaussian_scale(epsilon=promise.epsilon, delta=promise.delta))
    assert noise.diagonal**2 >= 2 * needed**2 * 16**noise.bits
    assert 2 * noise.off_diagonal**2 >= 2 * needed**2 * 16**noise.bits
    assert noise.pays_for(promise)


@pytest.mark.claim("P15")
@given(promises)
def test_less_noise_does_not_pay(promise):
    noise = integers.calibrate_noise(promise)
    less = max(1, int(noise.diagonal * 0.999))
    assert not integers.IntegerNoise(noise.bits, noise.off_diagonal, less).pays_for(promise)


def epsilon_lower_bound(plan, seed=0):
    """A lower bound on ε at δ = DELTA from reports of e₁ and e₂; false below 1e-8."""
    sums = []
    for place in range(2):
        rows = np.tile(3.0 * np.eye(2)[place], (RUNS, 1))  # must be clipped
        reports = local.simulate_reports(rows, plan, seed=seed + place)
        entries = integers.unpack(parse_reports(reports, plan, simulated=True).payloads, plan.noise)
        sums.append(entries[:, 0] - entries[:, 2])
    hits, misses = sums
    half = RUNS // 2
    candidates = np.quantile(misses[:half], np.linspace(0.5, 0.99, 50))
    best = max(candidates, key=lambda c: _bound(hits[:half] > c, misses[:half] > c))
    return _bound(hits[half:] > best, misses[half:] > best)


def _bound(hits, alarms):
    power = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(1 - 2e-9).low
    alarm = stats.binomtest(int(alarms.sum()), len(alarms)).proportion_ci(1 - 2e-9).high
    return float(np.log(max(power - DELTA, 1e-300) / alarm))


def plan_of_two():
    return local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=EPSILON, delta=DELTA, mechanism="gaussian"
    )


@pytest.mark.claim("P15")
def test_gaussian_reports_keep_their_promise():
    assert epsilon_lower_bound(plan_of_two()) < EPSILON


def test_the_paper_s_sensitivity_is_found_out(monkeypatch):
    monkeypatch.setattr(integers, "squared_unit_sensitivity", lambda neighbors: 1)
    assert epsilon_lower_bound(plan_of_two()) > EPSILON


def test_a_device_that_does_not_clip_is_found_out(monkeypatch):
    def quantize(rows, grid, missing, out, *, to_whole):
        out[:] = to_whole(rows / grid.step)

    monkeypatch.setattr("dpcov.local.randomizer.quantize_rows", quantize)
    assert epsilon_lower_bound(plan_of_two()) > EPSILON


def test_a_promise_that_needs_absurd_noise_is_refused():
    with pytest.raises(ParameterError, match="raise epsilon or delta"):
        integers.calibrate_noise(ApproxDP(1e-13, 1e-30, "local"))


@given(st.lists(st.integers(-(2**62), 2**62), max_size=8), promises)
def test_what_is_packed_is_what_is_unpacked_up_to_clamping(entries, promise):
    noise = integers.calibrate_noise(promise)
    payload = integers.pack(np.array(entries, dtype=np.int64), noise)
    assert len(payload) == noise.width * len(entries)
    table = np.frombuffer(payload, np.uint8).reshape(1, -1)
    clamped = [max(-noise.largest, min(noise.largest, entry)) for entry in entries]
    assert integers.unpack(table, noise)[0].tolist() == clamped


def test_an_entry_beyond_the_largest_is_refused():
    noise = integers.IntegerNoise(4, 1000, 1500)
    payload = (noise.largest + 1).to_bytes(noise.width, "little", signed=True)
    with pytest.raises(MalformedReportError, match="no device can send"):
        integers.unpack(np.frombuffer(payload, np.uint8).reshape(1, -1), noise)


def test_an_entry_has_four_bytes_at_the_usual_promises():
    for epsilon in (1.0, 2.0, 4.0):
        assert integers.calibrate_noise(ApproxDP(epsilon, 1e-5, "local")).width == 4


@pytest.mark.claim("P15")
def test_each_entry_has_the_noise_of_its_place():
    noise = integers.calibrate_noise(ApproxDP(1.0, 1e-5, "local"))
    stream = RandomStream.from_seed(0)
    drawn = np.array([noisy_products(np.zeros(3), noise, stream) for _ in range(4000)])
    scales = [
        noise.diagonal if i == j else noise.off_diagonal
        for i, j in zip(*np.triu_indices(3), strict=True)
    ]
    for entries, scale in zip(drawn.T, scales, strict=True):
        assert stats.kstest(entries / scale, "norm").pvalue > 1e-4
        assert stats.kstest(entries / (1.3 * scale), "norm").pvalue < 1e-6
        assert stats.kstest(entries / (0.7 * scale), "norm").pvalue < 1e-6


@pytest.mark.claim("P15")
@given(promises)
def test_the_smallest_scales_that_pay_do_and_one_less_does_not(promise):
    noise = integers.calibrate_noise(promise)
    needed = integers._squared_noise(promise, noise.bits)
    off_diagonal = math.isqrt(math.ceil(needed / 2) - 1) + 1
    diagonal = math.isqrt(math.ceil(needed) - 1) + 1
    assert integers.IntegerNoise(noise.bits, off_diagonal, diagonal).pays_for(promise)
    if off_diagonal > 1:
        assert not integers.IntegerNoise(noise.bits, off_diagonal - 1, diagonal).pays_for(promise)
    if diagonal > 1:
        assert not integers.IntegerNoise(noise.bits, off_diagonal, diagonal - 1).pays_for(promise)
