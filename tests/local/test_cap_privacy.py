"""Claim P14: any two rows give any seed with probabilities within e^ε.

By enumeration on generators with few seeds, by audit on the real one, and term by term
for what is paid: normals, unit vectors, sums, words.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from dpcov import local
from dpcov.errors import ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.randomness import RandomStream
from dpcov.local import cap as device
from dpcov.local import expansion
from dpcov.privacy import Cap, calibrate_cap, cap_epsilon
from dpcov.privacy.cap import COIN, MAX_COLUMNS, _distance
from dpcov.sensitive.sums.rows import quantize_rows

SEEDS = 256


def circle(seeds, size):
    """A toy generator: the first byte of a seed is an angle."""
    assert size == 2
    angle = 2 * np.pi * (seeds[:, 0] + 0.5) / SEEDS
    return 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])


def direction(step):
    angle = 2 * np.pi * step / SEEDS
    return np.array([np.cos(angle), np.sin(angle)])


def all_seeds(count=SEEDS):
    seeds = np.zeros((count, 16), np.uint8)
    seeds[:, 0], seeds[:, 1] = np.arange(count) % 256, np.arange(count) // 256
    return seeds


def law(unit, cap, seeds):
    """The exact probabilities of all seeds of a toy generator."""
    inside = device.in_cap(seeds, unit[None], cap.threshold)
    p, count = Fraction(cap.coin, COIN), int(inside.sum())
    return [p / count if i else (1 - p) / (len(seeds) - count) for i in inside]


def coin_for(epsilon, q):
    odds = math.exp(epsilon) * q / (1 - q)
    return math.floor(odds / (1 + odds) * COIN)


@pytest.mark.claim("P14")
def test_every_seed_of_a_toy_generator_is_within_the_promise(monkeypatch):
    monkeypatch.setattr(device, "expand_normals", circle)
    threshold, seeds = 1.6, all_seeds()
    shares = {int(device.in_cap(seeds, direction(s)[None], threshold).sum()) for s in range(SEEDS)}
    assert len(shares) == 1  # every cap has the same share of seeds
    cap = Cap(threshold, coin_for(1.0, shares.pop() / SEEDS))
    laws = np.array([law(direction(step), cap, seeds) for step in range(0, SEEDS, 4)])
    largest = max(max(column) / min(column) for column in laws.T)
    assert 1 - 1e-8 < math.log(largest) <= 1.0


@pytest.mark.claim("P14")
def test_uneven_caps_cost_what_the_claim_says():
    # Few seeds of the real generator: the share of seeds in a cap depends on the row.
    seeds, cap = all_seeds(2048), calibrate_cap(epsilon=1.0, n_columns=1)
    q = cap.inside
    laws, distance = [], 0.0
    for step in range(0, SEEDS, 4):
        inside = device.in_cap(seeds, direction(step)[None], cap.threshold)
        distance = max(distance, abs(inside.mean() - q))
        laws.append(law(direction(step), cap, seeds))
    table = np.array(laws, dtype=float)
    largest = math.log((table.max(axis=0) / table.min(axis=0)).max())
    assert 1.0 < largest <= 1.0 + distance / (q - distance) + distance / (1 - q - distance)


def draw_counts(unit, cap, n=60_000, draw=device.draw_seeds):
    seeds = draw(np.broadcast_to(unit, (n, 2)), cap, RandomStream.from_seed(5))
    return np.bincount(seeds[:, 0], minlength=SEEDS)


@pytest.mark.claim("P14")
@pytest.mark.parametrize("off", [1.0, 1.1], ids=["true", "control"])
def test_seeds_are_drawn_with_the_enumerated_law(monkeypatch, off):
    monkeypatch.setattr(device, "expand_normals", circle)
    cap, unit = Cap(1.6, coin_for(1.0, 0.4)), direction(17)
    expected = np.array(law(unit, cap, all_seeds()), dtype=float)
    drawn = draw_counts(unit, Cap(1.6, int(cap.coin * off)))
    p_value = stats.chisquare(drawn, expected * drawn.sum()).pvalue
    assert p_value > 1e-6 if off == 1.0 else p_value < 1e-12


@pytest.mark.claim("P14")
def test_a_device_draws_with_the_same_law(monkeypatch):
    monkeypatch.setattr(device, "expand_normals", circle)
    cap, unit = Cap(1.6, coin_for(1.0, 0.4)), direction(17)
    expected = np.array(law(unit, cap, all_seeds()), dtype=float).reshape(32, 8).sum(axis=1)
    stream = RandomStream.from_seed(6)
    first = [device.draw_seed(unit, cap, stream)[0] // 8 for _ in range(5000)]
    drawn = np.bincount(first, minlength=32)
    assert stats.chisquare(drawn, expected * drawn.sum()).pvalue > 1e-6


class CountingStream:
    """Words from a seed, and how many were asked for."""

    def __init__(self, seed):
        self._stream, self.count = RandomStream.from_seed(seed), 0

    def words(self, count):
        self.count += count
        return self._stream.words(count)


@pytest.mark.claim("P14")
def test_the_work_of_a_device_depends_on_neither_row_nor_coin():
    cap = calibrate_cap(epsilon=2.0, n_columns=3)
    counts = set()
    for row in (np.eye(4)[0], np.full(4, 0.5), np.eye(4)[3]):
        for seed in range(100):
            stream = CountingStream(seed)
            device.draw_seed(row, cap, stream)
            counts.add(stream.count)
    assert counts == {1 + 2 * cap.steady_tries}


def test_a_device_goes_on_when_no_seed_will_do(monkeypatch):
    decisions = iter([False, True])
    monkeypatch.setattr(device, "in_cap", lambda s, u, t: np.full(len(s), next(decisions)))
    sure = Cap(1.0, COIN - 1)
    assert device.draw_seed(np.eye(2)[0], sure, RandomStream.from_seed(1)).shape == (16,)


# --- The audit -----------------------------------------------------------------------------

CAP = calibrate_cap(epsilon=1.0, n_columns=2)
RUNS = 150_000
X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def epsilon_lower_bound(cap, seed):
    """A lower bound on ε from reports of two rows; wrong with probability below 1e-8.

    The event is "in the upper half of the cap of x, and outside that of y": there the
    ratio of probabilities is the largest.
    """
    hits = []
    for place, unit in enumerate((X, Y)):
        stream = RandomStream.from_seed(2 * seed + place)
        seeds = device.draw_seeds(np.broadcast_to(unit, (RUNS, 3)), cap, stream)
        normals = expansion.expand_normals(seeds, 3)
        t = cap.threshold + 0.3
        hits.append(int(((normals[:, 0] > t) & (np.abs(normals[:, 1]) < 1.0)).sum()))
    power = stats.binomtest(hits[0], RUNS).proportion_ci(1 - 2e-9).low
    alarm = stats.binomtest(hits[1], RUNS).proportion_ci(1 - 2e-9).high
    return math.log(power / alarm)


@pytest.mark.claim("P14")
def test_the_audit_stays_below_the_promise_and_comes_close():
    assert 0.85 < epsilon_lower_bound(CAP, 1) < 1.0


def test_the_audit_finds_a_coin_that_is_off():
    assert epsilon_lower_bound(Cap(CAP.threshold, int(CAP.coin * 1.15)), 2) > 1.0


def test_the_audit_finds_a_threshold_that_is_off_on_one_side(monkeypatch):
    def lopsided(seeds, units, threshold):
        scores = (expansion.expand_normals(seeds, units.shape[1]) * units).sum(axis=1)
        return (scores > threshold) | (scores < -threshold - 0.4)

    monkeypatch.setattr(device, "in_cap", lopsided)
    assert epsilon_lower_bound(CAP, 3) > 1.0


# --- What is paid for, term by term --------------------------------------------------------


@pytest.mark.claim("P14")
@given(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 63).map(lambda k: 2**k)))
def test_a_normal_is_within_its_allowance(word):
    computed = float(_normals_of([word])[0])
    with mpmath.workdps(50):
        tail = (mpmath.mpf(word % 2**63) + 0.5) / 2**64
        size = abs(mpmath.mpf(computed))
        # One step of Newton's method from the computed value gives its error.
        error = abs((mpmath.ncdf(-size) - tail) / mpmath.npdf(size))
    assert error <= 2.0**-48 * max(1.0, abs(computed))
    assert (computed < 0) == (word >= 2**63)


def _normals_of(words):
    table = np.array(words, dtype=np.uint64).reshape(1, -1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expansion, "expand_words", lambda seeds, size: table)
        return expansion.expand_normals(np.zeros((1, 16), np.uint8), table.shape[1])[0]


@pytest.mark.claim("P14")
@given(hnp.arrays(np.float64, 5, elements=st.floats(-1e3, 1e3)))
def test_a_lifted_row_has_norm_one(row):
    whole = np.empty((1, 5))
    quantize_rows(row[None], Grid(row_norm=1.0, bits=24), "center", whole)
    unit = device.lift_rows(whole, 24)[0]
    cells = [Fraction(float(cell)) for cell in unit]
    exact = 1 - sum(cell**2 for cell in cells[:-1])
    with mpmath.workdps(50):
        last = mpmath.sqrt(mpmath.mpf(exact.numerator) / exact.denominator)
        assert abs(last - mpmath.mpf(float(unit[-1]))) <= mpmath.mpf(2) ** -52


@pytest.mark.claim("P14")
@pytest.mark.parametrize("size", [3, 65, 1001])
def test_a_score_is_within_its_allowance(monkeypatch, size):
    generator = np.random.default_rng(size)
    normals = generator.standard_normal((50, size))
    unit = generator.standard_normal(size)
    unit /= np.linalg.norm(unit)
    monkeypatch.setattr(device, "expand_normals", lambda seeds, size: normals)
    allowed = (64 + size / 64 + 2) * 2.0**-53 * np.linalg.norm(normals, axis=1)
    exact = [abs(math.fsum(_exact_products(row, unit))) for row in normals]
    for place, score in enumerate(exact):
        just_below, just_above = score - allowed[place], score + allowed[place]
        seeds = np.zeros((50, 16), np.uint8)
        assert device.in_cap(seeds, unit[None], just_below)[place]
        assert not device.in_cap(seeds, unit[None], just_above)[place]


def _exact_products(row, unit):
    """Split each product into two floats whose sum is exact."""
    parts = []
    for a, b in zip(row.tolist(), unit.tolist(), strict=True):
        product = a * b
        parts += [product, float(Fraction(a) * Fraction(b) - Fraction(product))]
    return parts


@pytest.mark.claim("P14")
@pytest.mark.parametrize("row", ["spike", "flat", "pair", "lift"])
def test_the_share_of_seeds_in_a_cap_does_not_depend_on_the_row(row):
    size = 30
    unit = {
        "spike": np.eye(size)[3],
        "flat": np.full(size, size**-0.5),
        "pair": (np.eye(size)[0] - np.eye(size)[1]) / math.sqrt(2),
        "lift": np.eye(size)[-1],
    }[row]
    seeds = np.random.default_rng(8).integers(0, 256, (200_000, 16), dtype=np.uint8)
    inside = int(device.in_cap(seeds, unit[None], CAP.threshold).sum())
    assert stats.binomtest(inside, len(seeds), CAP.inside).pvalue > 1e-6
    assert stats.binomtest(inside, len(seeds), CAP.inside * 1.05).pvalue < 1e-6


@pytest.mark.claim("P14")
def test_the_payment_covers_all_terms_at_a_thousand_columns():
    cap = calibrate_cap(epsilon=1.0, n_columns=1000)
    bare = math.log(cap.coin / (COIN - cap.coin)) + math.log((1 - cap.inside) / cap.inside)
    assert 0 < cap_epsilon(cap, n_columns=1000) - bare < 1e-10


class LoadedCoin:
    """A stream whose first words are given: the coins."""

    def __init__(self, *coins):
        self._coins = np.array(coins, dtype=np.uint64) << np.uint64(32)
        self._rest = RandomStream.from_seed(0)

    def words(self, count):
        coins, self._coins = self._coins, np.empty(0, dtype=np.uint64)
        return coins if len(coins) else self._rest.words(count)


@pytest.mark.claim("P14")
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_coin_falls_inside_exactly_as_often_as_planned(epsilon):
    cap = calibrate_cap(epsilon=epsilon, n_columns=3)
    unit = np.array([0.6, 0.0, 0.0, 0.8])
    coins = (0, cap.coin - 1, cap.coin, COIN - 1)
    expected = [True, True, False, False]
    one_by_one = np.array([device.draw_seed(unit, cap, LoadedCoin(coin)) for coin in coins])
    together = device.draw_seeds(np.tile(unit, (4, 1)), cap, LoadedCoin(*coins))
    for seeds in (one_by_one, together):
        assert device.in_cap(seeds, unit[None], cap.threshold).tolist() == expected


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_gain_is_the_second_moment_of_what_is_sent(epsilon):
    cap = calibrate_cap(epsilon=epsilon, n_columns=10)
    t, p = mpmath.mpf(cap.threshold), mpmath.mpf(cap.coin) / COIN
    with mpmath.workdps(30):
        q = mpmath.erfc(t / mpmath.sqrt(2))
        tail = 2 * mpmath.quad(lambda z: z**2 * mpmath.npdf(z), [t, mpmath.inf])
        second_moment = p * tail / q + (1 - p) * (1 - tail) / (1 - q)
        assert cap.gain == pytest.approx(float(second_moment - 1), rel=1e-9)


def barely_more_than_its_share():
    """A cap whose coin hardly leans toward the inside, at a threshold near 3."""
    coin = math.ceil(math.erfc(3 / math.sqrt(2)) * COIN) + 1
    low, high = 2.9, 3.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if math.erfc(middle / math.sqrt(2)) * COIN > coin else (low, middle)
        )
    return Cap(high + 1e-11, coin)


@pytest.mark.claim("P14")
def test_two_caps_of_different_shares_are_paid_for_when_the_coin_hardly_leans():
    cap, distance = barely_more_than_its_share(), _distance(MAX_COLUMNS + 1)
    q = cap.inside
    both_inside = math.log((q + distance) / (q - distance))
    one_inside = math.log(cap.coin / (COIN - cap.coin)) + math.log((1 - q) / q)
    assert one_inside + distance / (q - distance) < 0.9 * both_inside
    assert cap_epsilon(cap, n_columns=MAX_COLUMNS) >= both_inside


@pytest.mark.claim("P14")
def test_a_plan_refuses_a_coin_that_hardly_leans_at_a_tiny_epsilon():
    names = [f"x{i}" for i in range(MAX_COLUMNS)]
    cap = barely_more_than_its_share()
    needed = cap_epsilon(cap, n_columns=MAX_COLUMNS)
    with pytest.raises(ParameterError, match="do not pay"):
        local.CollectionPlan(columns=names, row_norm=1.0, epsilon=0.9 * needed, constants=cap)
    assert (
        local.CollectionPlan(columns=names, row_norm=1.0, epsilon=needed, constants=cap).cap == cap
    )


@pytest.mark.claim("P14")
def test_caps_of_half_the_seeds_or_more_are_paid_for_outside_as_well():
    q = math.erfc(0.5 / math.sqrt(2))
    cap, distance = Cap(0.5, math.floor(q * COIN) + 1), _distance(MAX_COLUMNS + 1)
    both_outside = math.log((1 - q + distance) / (1 - q - distance))
    assert cap_epsilon(cap, n_columns=MAX_COLUMNS) >= both_outside


class Steps:
    """Words from a seed, and all that is done with them: sizes of draws and of decisions."""

    def __init__(self, seed, monkeypatch):
        self._stream, self.steps = RandomStream.from_seed(seed), []
        decide = device.in_cap

        def counting(seeds, units, threshold):
            self.steps.append(("decide", seeds.shape, units.shape))
            return decide(seeds, units, threshold)

        monkeypatch.setattr(device, "in_cap", counting)

    def words(self, count):
        self.steps.append(("draw", count))
        return self._stream.words(count)


@pytest.mark.claim("P14")
def test_the_work_is_the_same_when_the_seeds_take_several_chunks():
    cap = calibrate_cap(epsilon=1.0, n_columns=1000)
    assert cap.steady_tries * 1001 > 2 * device._ENTRIES
    works = set()
    for place in (0, 500, 1000):
        for seed in range(8):  # both sides of the coin
            with pytest.MonkeyPatch.context() as patch:
                stream = Steps(seed, patch)
                device.draw_seed(np.eye(1001)[place], cap, stream)
            works.add(tuple(stream.steps))
    assert len(works) == 1
    assert sum(step[1] for step in works.pop() if step[0] == "draw") == 1 + 2 * cap.steady_tries


def test_a_device_sends_the_first_seed_that_will_do(monkeypatch):
    fits = iter([[0, 0], [0, 1], [1, 1]])
    drawn = []
    monkeypatch.setattr(device, "_ENTRIES", 4)
    monkeypatch.setattr(
        device, "in_cap", lambda s, u, t: drawn.append(s.copy()) or np.array(next(fits), bool)
    )
    cap = Cap(0.5, COIN - 1)
    monkeypatch.setattr(Cap, "steady_tries", 6)
    sent = device.draw_seed(np.eye(2)[0], cap, RandomStream.from_seed(1))
    assert sent.tobytes() == drawn[1][1].tobytes()


@pytest.mark.claim("P14")
@pytest.mark.parametrize("threshold", [0.5, 0.6745, 1.2, 3.0])
def test_none_of_the_seeds_will_do_but_for_two_to_the_minus_32(threshold):
    cap = Cap(threshold, COIN - 1)
    rarer = max(cap.inside, 1 - cap.inside)
    assert rarer**cap.steady_tries <= 2.0**-32
    assert rarer ** (cap.steady_tries - 1) > 2.0**-32


@pytest.mark.parametrize(("threshold", "share"), [(1.255, 2.0), (3.0, 1.5), (3.0, 300.0)])
def test_the_variance_of_a_report_is_the_stated_polynomial_of_its_row(threshold, share):
    cap = Cap(threshold, int(share * math.erfc(threshold / math.sqrt(2)) * COIN))
    t, p = mpmath.mpf(cap.threshold), mpmath.mpf(cap.coin) / COIN
    with mpmath.workdps(30):
        q = mpmath.erfc(t / mpmath.sqrt(2))

        def moment(power, whole):
            tail = 2 * mpmath.quad(lambda z: z**power * mpmath.npdf(z), [t, mpmath.inf])
            return float(p * tail / q + (1 - p) * (whole - tail) / (1 - q))

        second, fourth = moment(2, 1), moment(4, 3)
    kappa, term = cap.gain, cap.gain * (cap.threshold**2 - 3 - cap.gain)
    for s, r in ((0.3, 0.5), (0.0, 0.4), (0.5, 0.5)):
        # g = u z + a normal vector in the plane across u.
        fourth_of_one = s**2 * fourth + 6 * s * (1 - s) * second + 3 * (1 - s) ** 2
        on_diagonal = fourth_of_one - (1 + kappa * s) ** 2
        assert on_diagonal == pytest.approx(2 + 4 * kappa * s + term * s**2, rel=1e-9)
        cross = s * (1 - r) + r * (1 - s) - 4 * s * r
        squares = s * r * fourth + cross * second + (1 - s) * (1 - r) + 2 * s * r
        off_diagonal = squares - kappa**2 * s * r
        assert off_diagonal == pytest.approx(1 + kappa * (s + r) + term * s * r, rel=1e-9)
