"""Claim P14, the constants: what they pay for, and that they are the best."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.bisection import bracket
from dpcov.errors import ParameterError
from dpcov.privacy import Cap, calibrate_cap, cap_epsilon
from dpcov.privacy import cap as cap_module
from dpcov.privacy.cap import COIN, cap_variation
from wiring.planting import plant

epsilons = st.floats(1e-3, 20)
sizes = st.integers(1, 2**16)


@pytest.mark.claim("P14")
@given(epsilons, sizes)
def test_the_constants_pay_for_the_promise_and_hardly_more(epsilon, n_columns):
    cap = calibrate_cap(epsilon=epsilon, n_columns=n_columns)
    assert epsilon * (1 - 2e-5) < cap_epsilon(cap, n_columns=n_columns) <= epsilon


@pytest.mark.claim("P14")
@given(epsilons, sizes)
def test_the_ratio_of_probabilities_is_below_the_promise_in_forty_digits(epsilon, n_columns):
    cap = calibrate_cap(epsilon=epsilon, n_columns=n_columns)
    with mpmath.workdps(40):
        q = mpmath.erfc(mpmath.mpf(cap.threshold) / mpmath.sqrt(2))
        p = mpmath.mpf(cap.coin) / COIN
        ratio = p / q * (1 - q) / (1 - p)
        assert mpmath.log(ratio) <= mpmath.mpf(epsilon) * (1 - mpmath.mpf("0.99e-9"))


@pytest.mark.claim("P14")
@given(st.floats(0.01, 20), sizes)
def test_a_coin_that_is_larger_by_a_thousandth_is_refused(epsilon, n_columns):
    cap = calibrate_cap(epsilon=epsilon, n_columns=n_columns)
    larger = Cap(cap.threshold, COIN - math.floor((COIN - cap.coin) * 0.999))
    assert cap_epsilon(larger, n_columns=n_columns) > epsilon


@pytest.mark.parametrize(
    ("epsilon", "threshold", "variance"),
    [(0.5, 1.1245, 14.3), (1, 1.2552, 3.02), (2, 1.5298, 0.557), (4, 2.0968, 0.087)],
)
def test_known_thresholds_and_variances(epsilon, threshold, variance):
    cap = calibrate_cap(epsilon=epsilon, n_columns=100)
    assert cap.threshold == pytest.approx(threshold, abs=1e-3)
    assert cap.variance == pytest.approx(variance, rel=6e-3)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 2, 4, 7])
def test_no_other_threshold_has_less_variance(epsilon):
    best = calibrate_cap(epsilon=epsilon, n_columns=10)

    def variance(threshold):
        q = math.erfc(threshold / math.sqrt(2))
        odds = math.exp(epsilon) * q / (1 - q)
        return Cap(threshold, int(odds / (1 + odds) * COIN)).variance

    others = [variance(step / 100) for step in range(50, 301)]
    assert best.variance <= min(others) * (1 + 1e-6)


def test_the_threshold_is_bounded_so_that_devices_find_a_seed():
    assert calibrate_cap(epsilon=20, n_columns=10).threshold == 3.0
    assert calibrate_cap(epsilon=20, n_columns=10).steady_tries < 10_000


@pytest.mark.parametrize("epsilon", [0, -1, 20.1, math.nan, math.inf, "1", None, True])
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon must"):
        calibrate_cap(epsilon=epsilon, n_columns=10)


@pytest.mark.claim("P14")
def test_an_epsilon_that_cannot_pay_for_the_generator_is_refused():
    with pytest.raises(ParameterError, match="too small to pay"):
        calibrate_cap(epsilon=1e-12, n_columns=1000)


@pytest.mark.parametrize("n_columns", [0, 2**16 + 1, 2.0])
def test_an_impossible_number_of_columns_is_refused(n_columns):
    with pytest.raises(ParameterError, match="n_columns"):
        calibrate_cap(epsilon=1.0, n_columns=n_columns)


@pytest.mark.parametrize(
    "constants", [(1.0, 0), (1.0, COIN), (0.1, COIN - 1), (3.5, COIN - 1), (1.0, 5), (1, 2.5)]
)
def test_impossible_constants_are_refused(constants):
    with pytest.raises(ParameterError):
        Cap(*constants)


@pytest.mark.claim("P14")
def test_a_coin_that_does_not_lean_is_refused():
    def threshold_of(coin):
        return bracket(lambda t: math.erfc(t / math.sqrt(2)) * COIN <= coin, 0.5, 1.0)[1]

    even = ((threshold_of(coin), coin) for coin in range(COIN // 2, COIN // 2 + 100))
    threshold, coin = next((t, c) for t, c in even if math.erfc(t / math.sqrt(2)) * COIN == c)
    with pytest.raises(ParameterError, match="larger than the share"):
        Cap(threshold, coin)


def test_a_threshold_in_single_precision_is_a_plain_number():
    cap = Cap(np.float32(1.3), COIN // 2)
    assert (type(cap.threshold), cap.threshold) == (float, float(np.float32(1.3)))


def test_the_variance_that_is_stated_is_that_of_a_row_with_two_equal_cells():
    cap = Cap(3.0, math.ceil(2 * math.erfc(3 / math.sqrt(2)) * COIN))
    kappa, second = cap.gain, cap.threshold**2 - 3 - cap.gain
    assert second > 0
    exact = (1 + kappa + kappa * second / 4) / kappa**2  # s_i = s_j = 1/2
    assert cap.variance + cap.signal == pytest.approx(exact, rel=1e-12)


def distance_by_hand(n_columns):
    """Return how far shares of caps may be off, as the proof of P14 adds it up."""
    d = mpmath.mpf(n_columns + 1)
    length = mpmath.sqrt(d + 2 * mpmath.sqrt(40 * d) + 80)
    two = mpmath.mpf(2)
    slip = two**-48 * (mpmath.sqrt(d) + length)
    slip += ((66 + d / 64) * two**-53 + two**-50) * length
    generator = 2 * two**-44
    return 0.8 * slip + generator + d * two**-64 + mpmath.exp(-40)


def worst_epsilon(cap, n_columns):
    """Return the largest loss of a report whose caps hold a little more or fewer seeds."""
    q = mpmath.erfc(mpmath.mpf(cap.threshold) / mpmath.sqrt(2))
    p, d = mpmath.mpf(cap.coin) / COIN, distance_by_hand(n_columns)
    one_cap = mpmath.log(p / (q - d) * (1 - (q - d)) / (1 - p))
    # q_y as large, q_x as small as can be: a seed in one cap alone, in both, in neither.
    apart = mpmath.log(p * (1 - q + d) / ((1 - p) * (q - d)))
    return max(one_cap, apart, mpmath.log((q + d) / (q - d)), mpmath.log((1 - q + d) / (1 - q - d)))


PAID = [(e, p) for e in (0.01, 0.3, 1.0, 2.5, 6.0, 20.0) for p in (1, 30, 1000, 2**16)]


def leaning_least(start=0.5, tries=20_000):
    """Return a cap whose coin hardly leans: there, what the caps of two rows share counts."""
    shares = {
        t: COIN * math.erfc(t / math.sqrt(2)) for t in (start + k / 8192 for k in range(tries))
    }
    threshold = max(shares, key=lambda t: shares[t] % 1)
    return Cap(threshold, math.floor(shares[threshold]) + 1)


def unpaid():
    """Return the promises that the constants do not keep, or that `cap_epsilon` makes smaller."""
    broken = []
    with mpmath.workdps(40):
        for epsilon, n_columns in PAID:
            cap = calibrate_cap(epsilon=epsilon, n_columns=n_columns)
            worst = worst_epsilon(cap, n_columns)
            if worst > epsilon or worst > cap_epsilon(cap, n_columns=n_columns):
                broken.append((epsilon, n_columns))
        cap = leaning_least()
        if worst_epsilon(cap, 2**16) > cap_epsilon(cap, n_columns=2**16):
            broken.append(cap)
    return broken


def unreserved():
    """Return the epsilons of which the coin leaves less than a billionth for what is not a coin."""
    found = []
    with mpmath.workdps(40):
        for step in range(1, 200):
            epsilon = step / 20
            cap = calibrate_cap(epsilon=epsilon, n_columns=10)
            q = mpmath.erfc(mpmath.mpf(cap.threshold) / mpmath.sqrt(2))
            p = mpmath.mpf(cap.coin) / COIN
            reserved = epsilon - mpmath.log(p / q * (1 - q) / (1 - p))
            if reserved < mpmath.mpf("0.9999e-9") * epsilon:
                found.append(epsilon)
    return found


@pytest.mark.claim("P14")
def test_the_constants_pay_for_the_generator_and_floating_point():
    assert unpaid() == []


@pytest.mark.claim("P14")
@pytest.mark.parametrize("n_columns", [1, 30, 1000, 2**16])
def test_the_distance_has_room_for_all_that_the_proof_adds_up(n_columns):
    with mpmath.workdps(40):
        assert cap_module._distance(n_columns + 1) >= distance_by_hand(n_columns)


@pytest.mark.claim("P14")
def test_what_is_added_covers_the_roundings_of_the_logarithms():
    # In units of 2^-53: four for each function of the C library, one for each operation.
    function, operation = 4, 1
    q = math.erfc(3 / math.sqrt(2))  # the smallest share of seeds
    coin, share = math.log(COIN), math.log((1 - q) / q)  # the largest logarithms
    passed_on = 10  # by erfc, of its rounded argument, at a threshold of 3
    off = function + 2 * operation * passed_on  # of the share of seeds
    roundings = operation + function * coin + off + 2 * operation + function * share
    roundings += 2 * operation * (coin + share)  # of two sums
    assert 128 < roundings < 256
    d = cap_module._distance(2)
    added = cap_module._surcharge(0.5, 1) - 2 * d / (0.5 - d)
    assert added >= roundings * 2.0**-53 * (1 + 1e-9)


def paid_for_shares(monkeypatch):
    """Leave out what is paid for roundings: what remains must pay for shares that differ."""
    monkeypatch.setattr(cap_module, "_ARITHMETIC", 0.0)
    return mpmath.mpf(cap_module._distance(2**16 + 1))


@pytest.mark.claim("P14")
@pytest.mark.parametrize("threshold", [0.5, 0.6745, 1.0, 3.0])
def test_a_seed_in_one_cap_alone_is_paid_for_by_the_distance(monkeypatch, threshold):
    share, d = math.erfc(threshold / math.sqrt(2)), paid_for_shares(monkeypatch)
    with mpmath.workdps(40):
        q = mpmath.mpf(share)
        needed = mpmath.log(q / (q - d)) + mpmath.log((1 - q + d) / (1 - q))
        assert cap_module._surcharge(share, 2**16) >= needed


@pytest.mark.claim("P14")
def test_a_seed_in_both_caps_is_paid_for_by_the_distance(monkeypatch):
    cap, d = leaning_least(start=2.5, tries=4096), paid_for_shares(monkeypatch)
    with mpmath.workdps(40):
        needed = mpmath.log((cap.inside + d) / (cap.inside - d))
        assert needed <= cap_module.cap_epsilon(cap, n_columns=2**16) < 1.001 * needed


@pytest.mark.claim("P14")
def test_a_seed_in_neither_of_two_caps_is_paid_for_by_the_distance(monkeypatch):
    cap, d = leaning_least(tries=1024), paid_for_shares(monkeypatch)
    assert cap.inside > 0.52
    with mpmath.workdps(40):
        outside = 1 - mpmath.mpf(cap.inside)
        needed = mpmath.log((outside + d) / (outside - d))
        assert needed <= cap_module.cap_epsilon(cap, n_columns=2**16) < 1.001 * needed


@pytest.mark.claim("P14")
def test_an_epsilon_that_pays_for_one_cap_and_not_for_both_is_refused(monkeypatch):
    # At this threshold the next coin leans by less than shares of seeds may differ.
    cap = leaning_least(start=2.5, tries=4096)
    monkeypatch.setattr(cap_module, "_best_threshold", lambda epsilon: cap.threshold)
    needed = cap_epsilon(cap, n_columns=2**16)
    assert calibrate_cap(epsilon=needed, n_columns=2**16) == cap
    with pytest.raises(ParameterError, match="too small to pay"):
        calibrate_cap(epsilon=0.999 * needed, n_columns=2**16)


@pytest.mark.claim("P14")
def test_a_billionth_of_epsilon_is_kept_for_the_generator_and_floating_point():
    assert unreserved() == []


@pytest.mark.claim("P50")
@pytest.mark.parametrize(("epsilon", "n_columns"), PAID)
def test_the_variation_pays_for_the_generator_and_floating_point(epsilon, n_columns):
    cap = calibrate_cap(epsilon=epsilon, n_columns=n_columns)
    with mpmath.workdps(40):
        q = mpmath.erfc(mpmath.mpf(cap.threshold) / mpmath.sqrt(2))
        p, d = mpmath.mpf(cap.coin) / COIN, distance_by_hand(n_columns)
        paid = 4 * d * p / q
        found = cap_variation(cap, n_columns=n_columns)
        assert p - q + paid <= found <= p - q + 1.01 * paid + 2.0**-44


@pytest.mark.claim("P14")
@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("cap_epsilon", "odds + _surcharge(q, n_columns)", "odds"),
        ("cap_epsilon", "max(one_cap, same_side)", "one_cap"),
        ("_surcharge", "distance / (q - distance) + ", ""),
        ("_surcharge", " + distance / (1 - q - distance)", ""),
        ("_distance", " + _GENERATOR", ""),
        ("_distance", "0.8 * slip", "0.4 * slip"),
        ("_checked_distance", "high=MAX_COLUMNS) + 1)", "high=MAX_COLUMNS) // 4 + 1)"),
    ],
)
def test_a_cap_that_pays_for_less_fails_the_same_test(monkeypatch, where, old, new):
    plant(monkeypatch, f"privacy.cap:{where}", old, new)
    for name in ("cap_epsilon", "calibrate_cap"):
        monkeypatch.setitem(globals(), name, getattr(cap_module, name))
    assert unpaid()


@pytest.mark.claim("P14")
def test_a_coin_that_leaves_less_fails_the_same_test(monkeypatch):
    plant(
        monkeypatch, "privacy.cap:calibrate_cap", "_PAYMENT * epsilon", "0.5 * _PAYMENT * epsilon"
    )
    monkeypatch.setitem(globals(), "calibrate_cap", cap_module.calibrate_cap)
    assert unreserved()
