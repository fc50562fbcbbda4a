"""Selections and Gaussian noise together."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import adaptive, gaussian_delta, gaussian_scale
from dpcov.privacy.adaptive import LARGEST_RANGE, _losses, adaptive_delta
from wiring.planting import plant

pytestmark = pytest.mark.claim("P13")


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Let no loss that was computed with a bug be used without it, nor the other way round."""
    adaptive._losses.cache_clear()
    yield
    adaptive._losses.cache_clear()


def divergence(first, second, epsilon):
    """Return the hockey-stick divergence of two discrete distributions."""
    return np.maximum(first - math.exp(epsilon) * second, 0).sum()


@settings(max_examples=300)
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12),
    st.floats(0.01, 3),
    st.integers(0, 2**32 - 1),
    st.floats(-1, 1),
)
def test_no_exponential_mechanism_exceeds_the_bound(scores, width, seed, place):
    """Scores in [0, 1] that move by at most 1 either way, chosen with weights exp(η s / 2)."""
    scores = np.array(scores)
    moved = scores + np.random.default_rng(seed).uniform(-1, 1, size=len(scores))
    first, second = (np.exp(width * s / 2) for s in (scores, moved))
    first, second = first / first.sum(), second / second.sum()
    epsilon = place * width
    bound = sum(p * max(0.0, -math.expm1(epsilon - loss)) for loss, p in _losses((width,), ()))
    assert divergence(first, second, epsilon) <= bound * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("epsilon", [-0.5, -0.1, 0.0, 0.2, 0.7])
def test_the_bound_is_tight_for_a_selection_alone(epsilon):
    """Two candidates, one of which is as far above the other as the interval allows."""
    width = 0.8
    best = 0.0
    for shift in np.linspace(0, width, 4001)[1:-1]:
        # Losses shift and shift − η: the probability of the first follows from both sums.
        p = math.expm1(width - shift) / (math.exp(width - shift) - math.exp(-shift))
        first = np.array([p, 1 - p])
        second = first * np.exp([-shift, width - shift])
        best = max(best, divergence(first, second, epsilon))
    bound = sum(p * max(0.0, -math.expm1(epsilon - loss)) for loss, p in _losses((width,), ()))
    assert best <= bound <= best + 2e-4  # what 64 bins cost


def test_both_distributions_of_the_bounding_pair_are_distributions():
    for count in (1, 2, 3):
        losses, masses = np.array(_losses((0.37,) * count, ())).T
        assert masses.sum() == pytest.approx(1, abs=1e-12)
        assert (masses * np.exp(-losses)).sum() == pytest.approx(1, abs=1e-11)
        assert (masses >= 0).all()


ENDS_OF_BINS = [0.25, 0.5, 1.0]


@pytest.mark.parametrize("size", [*ENDS_OF_BINS, 0.3])
def test_each_loss_of_a_pure_promise_counts_once(size):
    masses = adaptive._spread_to_ends(1.0, adaptive._pure_pieces(size, 1.0))
    assert sum(masses) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [*ENDS_OF_BINS, 0.3])
def test_no_end_of_a_bin_has_a_mass_below_nothing(size):
    assert min(adaptive._spread_to_ends(1.0, adaptive._pure_pieces(size, 1.0))) >= 0


@given(st.lists(st.floats(1e-3, 50), min_size=1, max_size=3), st.floats(1e-3, 50))
@settings(max_examples=25, deadline=None)
def test_losses_are_rounded_up_and_hardly_so(ranges, pure):
    width, rounds = Fraction(max(*ranges, pure)), len(ranges) + 1
    for place, (loss, _) in enumerate(_losses(tuple(ranges), (pure,))):
        exact = (Fraction(2 * place, 64) - rounds) * width
        assert exact <= Fraction(loss) <= exact + rounds * width / 2**45


@pytest.mark.parametrize("rounds", range(1, 33))
def test_what_is_added_covers_the_roundings_of_every_number_of_rounds(monkeypatch, rounds):
    # Sums of 65 products between rounds, and twenty roundings of each mass.
    roundings = 66 * (rounds - 1) + 20 * rounds
    monkeypatch.setattr(adaptive, "_losses", lambda ranges, pure: [(50.0, 0.5)])
    charged = adaptive.adaptive_delta(epsilon=0.0, multiplier=math.inf, ranges=[0.1] * rounds)
    assert Fraction(charged) >= Fraction(1, 2) * (1 + Fraction(roundings, 2**53))


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 8000.1, 1e6])
@pytest.mark.parametrize("loss", [-50.0, -0.3, -1e-20, 1e-20, 0.1, 49.9])
def test_what_a_loss_leaves_of_epsilon_is_rounded_down(monkeypatch, epsilon, loss):
    left = []
    monkeypatch.setattr(adaptive, "_losses", lambda ranges, pure: [(loss, 1.0)])
    monkeypatch.setattr(adaptive, "_signed_delta", lambda epsilon, _: left.append(epsilon) or 0.5)
    adaptive.adaptive_delta(epsilon=epsilon, multiplier=3.0, ranges=[0.1])
    exact = Fraction(epsilon) - Fraction(loss)
    assert exact - Fraction(2 * math.ulp(exact)) <= Fraction(left[0]) <= exact


def test_what_is_moved_covers_all_that_a_bin_may_hide():
    # In units of 2^-53: four for each function of the C library, one for each operation.
    function, operation = 4, 1
    length = LARGEST_RANGE / 32  # of the widest bin

    def passed_on(at):  # by expm1, of a rounded difference of two ends
        return at / -math.expm1(-at) * operation

    mass = 2 * function + 2 * operation + passed_on(length / 2)
    times_end = mass + function + operation
    largest = math.exp(length)  # of e^high Q over P, where a bin is nearly empty
    hidden = times_end * largest + mass + (largest - 1) * operation + operation
    hidden += (function + 2 * operation + passed_on(length)) * (largest - 1)  # of the quotient
    assert 124 < hidden < 125
    assert hidden <= adaptive._SLIP / 2.0**-53


@pytest.mark.parametrize(
    ("size", "width"),
    [(size, size) for size in (1e-3, 0.04, 0.37, 1.0, 3.0, 12.0, 50.0)]
    + [(0.3, 50.0), (1.2, 50.0), (12.3, 50.0), (49.3, 50.0), (0.3, 1.0), (0.011, 0.4)],
)
def test_no_bin_gives_its_lower_end_more_than_it_may_have(size, width):
    ends = [(2 * place / 64 - 1) * width for place in range(65)]
    pieces = adaptive._selection_pieces(size)
    with mpmath.workdps(60):
        for place, (low, high) in enumerate(pairwise(ends)):
            alone = adaptive._spread_to_ends(
                width, lambda a, b, at=low: pieces(a, b) if a == at else (0.0, 0.0)
            )
            a, b = mpmath.mpf(low), mpmath.mpf(high)
            first, second = exact_selection(size, a, b)
            exact = (mpmath.exp(b) * second - first) / mpmath.expm1(b - a)
            assert alone[place] <= exact


def test_without_selections_it_is_the_gaussian():
    found = adaptive_delta(epsilon=0.7, multiplier=3.0)
    assert found == gaussian_delta(epsilon=0.7, scale=3.0)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("pure", [5e-324, 1e-320, 1e-318, 1e-305])
def test_a_pure_promise_below_the_ordinary_floats_is_rounded_up(pure, rounds):
    charged = adaptive_delta(epsilon=0.0, multiplier=math.inf, pure=[pure] * rounds)
    exact = Fraction(pure) * {1: Fraction(1, 2), 3: Fraction(3, 4)}[rounds]  # nearly
    assert exact <= Fraction(charged) < 1e-300


def test_a_delta_beside_a_selection_is_never_more_than_one():
    assert adaptive_delta(epsilon=0.0, multiplier=1e-3, ranges=[50.0]) == 1.0


def test_the_largest_epsilon_has_a_delta_beside_a_selection():
    # What is left of it with the lowest loss is larger than any epsilon of the Gaussian.
    assert adaptive_delta(epsilon=1e6, multiplier=3.0, ranges=[0.1]) < 1.1e-300


def composed_delta(epsilon, multiplier, pure, selections):
    """Return what an independent accountant says of noise and so many pure promises."""
    gauss = pld.from_gaussian_mechanism(multiplier, value_discretization_interval=1e-4)
    one = pld.from_randomized_response(
        2 / (1 + math.exp(pure)), 2, value_discretization_interval=1e-4
    )
    return gauss.compose(one.self_compose(selections)).get_delta_for_epsilon(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("selections", [1, 2])
def test_an_independent_accountant_agrees(epsilon, selections):
    """A pure promise of half the range bounds a selection from below, one of η from above."""
    width, multiplier = 0.1 * epsilon / selections, gaussian_scale(epsilon=epsilon, delta=1e-5)
    found = adaptive_delta(epsilon=epsilon, multiplier=multiplier, ranges=[width] * selections)
    assert composed_delta(epsilon, multiplier, width / 2, selections) <= found * (1 + 1e-3)
    assert composed_delta(epsilon, multiplier, width, selections) >= found * (1 - 1e-3)


@given(st.floats(0.05, 5), st.floats(-12, -2), st.integers(1, 3), st.floats(0.02, 0.5))
@settings(max_examples=25, deadline=None)
def test_more_noise_or_fewer_selections_cost_less(epsilon, log_delta, selections, share):
    multiplier = gaussian_scale(epsilon=epsilon, delta=10**log_delta)
    width = share * epsilon / selections

    def cost(multiplier, count):
        return adaptive_delta(epsilon=epsilon, multiplier=multiplier, ranges=[width] * count)

    assert cost(multiplier * (1 + 1e-6), selections) < cost(multiplier, selections)
    assert cost(multiplier, selections - 1) < cost(multiplier, selections)


def test_a_selection_for_nothing_fails_the_same_test(monkeypatch):
    plant(monkeypatch, "privacy.adaptive:adaptive_delta", "rounds == 0", "rounds <= 1")
    multiplier = gaussian_scale(epsilon=1.0, delta=1e-5)
    found = adaptive.adaptive_delta(epsilon=1.0, multiplier=multiplier, ranges=[0.1])
    assert composed_delta(1.0, multiplier, 0.05, 1) > found * (1 + 1e-3)


@pytest.mark.parametrize(
    "bad",
    [
        {"ranges": [0.1] * 33},
        {"ranges": [0.1] * 20, "pure": [0.1] * 13},
        {"ranges": [0.1, 0.0]},
        {"pure": [-0.1]},
        {"pure": [51.0]},
        {"epsilon": -1.0},
        {"epsilon": 1e6 + 0.5},
    ],
)
def test_impossible_parameters_are_refused(bad):
    facts = {"epsilon": 1.0, "multiplier": 3.0, "ranges": [0.1]} | bad
    with pytest.raises(ParameterError):
        adaptive_delta(**facts)


def exact_selection(size, low, high):
    """Return the masses of both distributions between two losses: the density is known."""
    size = mpmath.mpf(size)
    low, high = min(max(low, -size), size), min(max(high, -size), size)
    factor = 1 / (2 * mpmath.sinh(size / 2))
    first = factor * (mpmath.exp(high / 2) - mpmath.exp(low / 2))
    return first, factor * (mpmath.exp(-low / 2) - mpmath.exp(-high / 2))


def exact_pure(size, low, high):
    """Return the masses of both distributions between two losses: there are two points."""
    size, first, second = mpmath.mpf(size), mpmath.mpf(0), mpmath.mpf(0)
    for loss in (-size, size):
        # Each point once: an end belongs to the bin on its right, the last one to the left.
        if low <= loss < high or (loss == high and loss == size and high * 64 > 63 * size):
            first += 1 / (1 + mpmath.exp(-loss))
            second += mpmath.exp(-loss) / (1 + mpmath.exp(-loss))
    return first, second


def exact_masses(width, exact=exact_selection, size=None):
    """Return what each end of a bin must hold, in 40 digits."""
    size, width = width if size is None else size, mpmath.mpf(width)
    ends = [width * (2 * mpmath.mpf(place) / 64 - 1) for place in range(65)]
    masses = [mpmath.mpf(0)] * 65
    for place in range(64):
        low, high = ends[place], ends[place + 1]
        first, second = exact(size, low, high)
        at_low = mpmath.exp(low) * (mpmath.exp(high) * second - first)
        at_low /= mpmath.exp(high) - mpmath.exp(low)
        masses[place] += at_low
        masses[place + 1] += first - at_low
    return ends, masses


def exact_gaussian(epsilon, multiplier):
    if multiplier == math.inf:
        return max(mpmath.mpf(0), -mpmath.expm1(epsilon))
    mu = 1 / mpmath.mpf(multiplier)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
        -mu / 2 - epsilon / mu
    )


CASES = [(1.0, 3.8, 0.1), (4.0, 1.4, 0.4), (0.1, 40.0, 0.01), (2.0, 2.0, 1.5), (0.5, 3.0, 0.8)]
MIXED = [
    (1.0, 3.8, (0.1, 0.037), ()),
    (1.0, 3.8, (0.1,), (0.3,)),
    (2.0, 2.0, (), (0.7, 0.11)),
    (0.5, math.inf, (0.4,), (0.3,)),
]


def exact_product(ranges, pure):
    """Return losses and masses of all rounds together, in 40 digits."""
    width = max((*ranges, *pure))
    rounds = [exact_masses(width, exact_selection, size) for size in ranges]
    rounds += [exact_masses(width, exact_pure, size) for size in pure]
    losses = {0: mpmath.mpf(1)}
    for _, masses in rounds:
        more = {}
        for place, mass in losses.items():
            for step, other in enumerate(masses):
                more[place + step] = more.get(place + step, 0) + mass * other
        losses = more
    step, reach = mpmath.mpf(width) / 32, len(rounds) * mpmath.mpf(width)
    return [(place * step - reach, mass) for place, mass in losses.items()]


def low_products():
    """Return the mixtures for which less is charged than they cost."""
    found = []
    with mpmath.workdps(40):
        for epsilon, multiplier, ranges, pure in MIXED:
            exact = sum(
                mass * exact_gaussian(epsilon - loss, multiplier)
                for loss, mass in exact_product(ranges, pure)
            )
            charged = adaptive.adaptive_delta(
                epsilon=epsilon, multiplier=multiplier, ranges=ranges, pure=pure
            )
            if not exact <= charged <= exact * (1 + mpmath.mpf("1e-9")):
                found.append((epsilon, multiplier, ranges, pure))
    return found


def low_deltas():
    """Return the cases in which less is charged than one selection and the Gaussian cost."""
    found = []
    with mpmath.workdps(40):
        for epsilon, multiplier, width in CASES:
            exact = sum(
                mass * exact_gaussian(epsilon - end, multiplier)
                for end, mass in zip(*exact_masses(width), strict=True)
            )
            charged = adaptive.adaptive_delta(
                epsilon=epsilon, multiplier=multiplier, ranges=[width]
            )
            if not exact <= charged <= exact * (1 + mpmath.mpf("1e-9")):
                found.append((epsilon, multiplier, width))
    return found


def light_tails():
    """Return the ranges for which some loss is exceeded with less probability than it is."""
    found = []
    with mpmath.workdps(40):
        for width in (1e-3, 0.01, 0.1, 0.37, 1.0, 3.0, 12.0, 40.0):
            ours = [
                mpmath.mpf(mass)
                for mass in adaptive._spread_to_ends(width, adaptive._selection_pieces(width))
            ]
            _, exact = exact_masses(width)
            rounding = mpmath.mpf(2) ** -50  # of a sum of at most 64; below what is added on top
            if any(
                sum(ours[place:]) < sum(exact[place:]) * (1 - rounding) for place in range(1, 65)
            ):
                found.append(width)
    return found


def test_a_delta_beside_a_selection_is_rounded_up_in_forty_digits():
    assert low_deltas() == []


def test_a_delta_of_rounds_of_several_sizes_is_rounded_up_in_forty_digits():
    assert low_products() == []


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("_pure_pieces", "1 / (1 + math.exp(-loss))", "(1 - 1e-9) / (1 + math.exp(-loss))"),
        ("_pure_pieces", "mass * math.exp(-loss)", "mass * math.exp(-loss) * (1 + 1e-9)"),
        ("_selection_pieces", "0.5 / math", "(0.5 - 1e-9) / math"),
        (
            "_signed_delta",
            "abs(math.expm1(min(epsilon, 0.0)))",
            "-(1 - 1e-9) * math.expm1(epsilon)",
        ),
        ("_losses", "len(sizes) * width", "len(sizes) * (width + 1e-9)"),
    ],
)
def test_rounds_that_are_rounded_down_fail_the_same_test(monkeypatch, where, old, new):
    plant(monkeypatch, f"privacy.adaptive:{where}", old, new)
    assert low_products()


def test_what_rounding_may_hide_goes_to_the_larger_loss():
    assert light_tails() == []


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("_losses", "(1 - _SLIP)", "(1 + 1e-9)"),
        ("_losses", "2 * width / _BINS", "2 * width * (1 - 1e-9) / _BINS"),
        ("_losses", "place * step - reach", "(place * step - reach) / 2"),
        ("adaptive_delta", "total * (1 + _UP", "total * (1 - 1e-11 * 2**44 * _UP"),
        ("_signed_delta", "-math.expm1(epsilon) +", "-math.expm1(epsilon) * (1 - 1e-9) +"),
        ("_spread_to_ends", "- first - _SLIP * first", "- first + 1e-9 * first"),
    ],
)
def test_a_delta_that_is_rounded_down_fails_the_same_test(monkeypatch, where, old, new):
    plant(monkeypatch, f"privacy.adaptive:{where}", old, new)
    assert low_deltas()


def test_what_goes_to_the_smaller_loss_fails_the_same_test(monkeypatch):
    where = "privacy.adaptive:_spread_to_ends"
    plant(monkeypatch, where, "- _SLIP * first", "+ _SLIP * first")
    assert light_tails()


def test_large_promises_without_gaussian_noise_have_a_delta():
    assert adaptive_delta(ranges=[], pure=[1.0], multiplier=math.inf, epsilon=800.0) == 0.0
    assert adaptive_delta(ranges=[], pure=[1.0], multiplier=math.inf, epsilon=0.5) > 0.0
