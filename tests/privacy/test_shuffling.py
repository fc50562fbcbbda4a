"""Claim P50: what shuffled reports tell, against all multisets of small randomizers, against an
attack on real caps, and against published bounds for any randomizer."""

import math
from collections import defaultdict
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpcov.bisection import bracket
from dpcov.errors import ParameterError
from dpcov.privacy import (
    calibrate_cap,
    cap_variation,
    fair_walk,
    shuffled_delta,
    shuffled_epsilon,
    shuffling,
)
from wiring.planting import plant

# --- All multisets ---------------------------------------------------------------------------


def shuffled_law(rows):
    """Return the law of the multiset of independent reports, one law in each row."""
    law = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        longer = defaultdict(float)
        for counts, probability in law.items():
            for place, chance in enumerate(row):
                more = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
                longer[more] += probability * chance
        law = longer
    return law


def divergence(first, second, epsilon):
    return math.fsum(
        max(0.0, mass - math.exp(epsilon) * second[view]) for view, mass in first.items()
    )


def local_epsilon_of(table):
    return math.log((table.max(axis=0) / table.min(axis=0)).max())


def variation_of(table):
    return max(np.abs(a - b).sum() / 2 for a, b in combinations(table, 2))


def largest_divergences(table, n_people, epsilons):
    """Return the divergences of the worst rows, for each epsilon: of both orders and any others."""
    worst = np.zeros(len(epsilons))
    for others in combinations_with_replacement(range(len(table)), n_people - 1):
        rest = [table[other] for other in others]
        laws = [shuffled_law([row, *rest]) for row in table]
        for first, second in permutations(laws, 2):
            found = [divergence(first, second, epsilon) for epsilon in epsilons]
            worst = np.maximum(worst, found)
    return worst


def two_levels(caps, n_seeds, epsilon):
    """Return the laws of reports for caps of equal size: likelier within the cap by e^ε."""
    ratio, table = math.exp(epsilon), np.ones((len(caps), n_seeds))
    for row, cap in zip(table, caps, strict=True):
        row[list(cap)] = ratio
    return table / table.sum(axis=1, keepdims=True)


SMALL = {
    "apart": (two_levels([(0,), (1,), (2,)], 4, 1.0), 3),
    "one of three": (two_levels([(0,), (1,), (2,)], 3, 2.0), 4),
    "randomized response": (two_levels([(0,), (1,)], 2, 1.5), 6),
    "overlapping": (two_levels([(0, 1), (1, 2), (3, 4), (0, 4)], 5, 1.0), 3),
    "contained in others": (two_levels([(0, 1), (2, 3), (0, 2)], 6, 3.0), 3),
    "uneven": (two_levels([(0, 1), (2,), (0, 2)], 4, 1.0), 4),
}
SHARES = (0.0, 0.1, 0.3, 0.6, 0.9, 0.99)


def too_small(names=SMALL):
    """Return where the bound is below the truth."""
    found = []
    for name in names:
        table, n_people = SMALL[name]
        local, variation = local_epsilon_of(table), variation_of(table)
        epsilons = [share * local for share in SHARES]
        truth = largest_divergences(table, n_people, epsilons)
        for epsilon, least in zip(epsilons, truth, strict=True):
            bound = shuffling.shuffled_delta(
                epsilon=epsilon, local_epsilon=local, n_people=n_people, variation=variation
            )
            if bound < least * (1 - 1e-12):
                found.append((name, epsilon))
    return found


@pytest.mark.claim("P50")
@pytest.mark.parametrize("name", SMALL)
def test_no_two_rows_tell_more_than_the_bound_whatever_the_others_have(name):
    assert too_small([name]) == []


@pytest.mark.claim("P50")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 4]), st.floats(0.05, 3))
def test_the_bound_holds_for_any_randomizer(seed, n_outputs, local):
    source = np.random.default_rng(seed)
    table = np.exp(local * source.choice([0, 0.3, 1], size=(3, n_outputs)) * source.integers(0, 2))
    table *= source.uniform(0.2, 1, n_outputs)
    table /= table.sum(axis=1, keepdims=True)
    true_local, variation = local_epsilon_of(table), variation_of(table)
    if true_local < 1e-3:
        return
    epsilons = [0.0, 0.3 * true_local, 0.8 * true_local]
    truth = largest_divergences(table, 3, epsilons)
    for epsilon, least in zip(epsilons, truth, strict=True):
        for stated in (variation, None):
            bound = shuffled_delta(
                epsilon=epsilon, local_epsilon=true_local, n_people=3, variation=stated
            )
            assert bound >= least * (1 - 1e-12)


@pytest.mark.claim("P50")
@pytest.mark.parametrize("n_people", [1, 2, 5, 8])
def test_the_bound_is_within_a_factor_of_four_of_randomized_response(n_people):
    # What others send beyond what all rows have in common is taken for known: that costs it.
    table = two_levels([(0,), (1,)], 2, 1.0)
    for epsilon in (0.0, 0.1, 0.5, 0.9):
        truth = largest_divergences(table, n_people, [epsilon])[0]
        bound = shuffled_delta(epsilon=epsilon, local_epsilon=1.0, n_people=n_people)
        assert truth <= bound <= 4 * truth


# --- The sum of four values ------------------------------------------------------------------


@cache
def exact_delta(epsilon, local, n_people, variation):
    """Return δ(ε) of the law of four values, all numbers of people in the classes one by one."""
    ratio, rise = math.exp(local), math.expm1(epsilon)
    chance = variation / (ratio - 1)
    third = (1 - (ratio + 1) * chance) / ratio
    factor = (ratio - 1) * (rise + 2) / 2
    total, masses = 0.0, stats.binom.pmf(np.arange(n_people + 1), n_people, 2 * chance)
    for m in np.flatnonzero(masses > 1e-22):
        k = np.arange(n_people - m + 1)
        weights = stats.binom.pmf(k, n_people - m, third / (1 - 2 * chance))
        k, weights = k[weights > 1e-22], weights[weights > 1e-22]
        places = rise * ((ratio + 1) * m / 2 + ratio * k) / factor
        heads = np.arange(m + 1)
        walk, mass = 2 * heads - m, stats.binom.pmf(heads, m, 0.5)
        first = np.searchsorted(walk, places, side="right")
        tails = np.append(np.cumsum(mass[::-1])[::-1], 0.0)[first]
        moments = np.append(np.cumsum((mass * walk)[::-1])[::-1], 0.0)[first]
        total += masses[m] * float(weights @ (moments - places * tails))
    return total * factor / n_people


LAWS = [
    (0.12, 1.0, 100, 0.2093),
    (0.3, 1.0, 100, 0.2093),
    (0.08, 1.0, 1000, 0.2093),
    (0.25, 2.0, 1000, 0.3897),
    (1.0, 4.0, 1000, 0.6351),
    (0.1, 1.0, 1000, math.tanh(0.5)),
    (0.02, 0.5, 2000, 0.1069),
]


def off_by():
    """Return the bound over the sum of all numbers of people, for some laws."""
    return [
        shuffling.shuffled_delta(epsilon=e, local_epsilon=local, n_people=n, variation=variation)
        / exact_delta(e, local, n, variation)
        for e, local, n, variation in LAWS
    ]


@pytest.mark.claim("P50")
def test_the_bound_is_above_the_sum_of_four_values_and_close_to_it():
    ratios = off_by()
    assert min(ratios) >= 1
    assert max(ratios) < 1.3
    assert np.median(ratios) < 1.03


@pytest.mark.claim("P50")
@pytest.mark.parametrize("epsilon", [0.003, 0.01])
def test_the_bound_holds_where_it_is_certain_that_somebody_is_in_the_third_class(epsilon):
    # Some 360 of 400 people are not in the first two classes, and 0.9 of them are in the third:
    # the probability that nobody is underflows.
    bound = shuffled_delta(epsilon=epsilon, local_epsilon=0.1, n_people=400, variation=0.005)
    truth = exact_delta(epsilon, 0.1, 400, 0.005)
    assert truth <= bound < 1.25 * truth


@pytest.mark.claim("P50")
@pytest.mark.parametrize("local", [1.0, 50.0])
@pytest.mark.parametrize("variation", [0.3, 1e-10, 2.0**-100, 5e-324])
def test_one_report_alone_tells_no_less_than_its_variation(local, variation):
    # With 2^-100 the window has nobody in it, and all that is told is beyond it.
    bound = shuffled_delta(epsilon=0.0, local_epsilon=local, n_people=1, variation=variation)
    assert bound >= variation


@pytest.mark.claim("P50")
@pytest.mark.parametrize("n_people", [10**6, 10**8])
def test_many_people_whose_reports_hardly_differ_tell_next_to_nothing(n_people):
    # Hardly anybody is in the first two classes, and millions are in the third.
    facts = {"epsilon": 0.01, "local_epsilon": 1.0, "variation": 0.1 / n_people}
    assert 0 < shuffled_delta(**facts, n_people=n_people) < 1e-40


@pytest.mark.claim("P50")
@pytest.mark.parametrize("start", [0.0, 32.0, 100.0])
def test_without_others_the_line_is_above_the_walk_and_close_to_it(start):
    truth = fair_walk.walk_excess(1024, start)
    assert truth <= shuffling._mean_excess(1024, start, 0.5, 0, 0.5) < 1.01 * truth


def test_others_beyond_the_reach_of_the_walk_are_not_looked_at():
    # One of 10^12 is in the third class in the mean; four of them are beyond a walk of four steps.
    found = shuffling._mean_excess(4, 0.0, 1.0, 10**12, 1e-12)
    far, near = 4 + 3 + 2 / 2 + 1 / 6, 2 + 1
    assert found == pytest.approx((far / 16 + near / 4) / math.e, rel=1e-9)


def delta_by_transform(ratio, steps_per_one, n_people, share):
    """Return δ(ε) of the law of four values when all of them are multiples of 1/steps_per_one.

    Here e^ε = 1 + 1/steps_per_one, and the variation is `share` of the most.
    """
    factor, chance = 1 + 1 / steps_per_one, share / (ratio + 1)
    values = np.array([ratio - factor, 1 - ratio * factor, -ratio * (factor - 1), 0.0])
    chances = np.array([chance, chance, (1 - share) / ratio, 0.0])
    chances[3] = 1 - chances.sum()
    places = np.rint(values * steps_per_one).astype(int)
    reach = n_people * abs(chances @ places) + 12 * math.sqrt(n_people * (chances @ places**2))
    law = np.zeros(1 << math.ceil(math.log2(2 * reach)))
    np.add.at(law, places, chances)
    total = np.fft.irfft(np.fft.rfft(law) ** n_people, len(law))[: len(law) // 2]
    return float(np.arange(len(total)) @ total) / steps_per_one / n_people


@pytest.mark.claim("P50")
@pytest.mark.parametrize(
    ("ratio", "steps_per_one", "n_people", "share"),
    [(3, 40, 10_000, 0.5), (3, 200, 100_000, 0.4), (8, 60, 100_000, 0.7), (3, 200, 100_000, 1.0)],
)
@pytest.mark.parametrize("exact", [True, False], ids=["walks", "normal"])
def test_the_bound_for_many_people_is_above_the_sum_by_transforms_and_close_to_it(
    monkeypatch, ratio, steps_per_one, n_people, share, exact
):
    if not exact:
        monkeypatch.setattr(fair_walk, "_EXACT_STEPS", 0)
    bound = shuffled_delta(
        epsilon=math.log1p(1 / steps_per_one),
        local_epsilon=math.log(ratio),
        n_people=n_people,
        variation=share * (ratio - 1) / (ratio + 1),
    )
    truth = delta_by_transform(ratio, steps_per_one, n_people, share)
    assert truth <= bound <= truth * (1.01 if exact else 1.2)


@pytest.mark.claim("P50")
@pytest.mark.parametrize(
    ("n_people", "chance"),
    [(1, 0.3), (1, 1.5 * 2.0**-140), (10, 0.5), (1000, 0.2), (100_000, 0.01), (10**6, 0.25)],
)
def test_bins_have_no_gaps_and_no_less_than_the_masses_of_a_binomial_number(n_people, chance):
    bins, number = shuffling._bins(n_people, chance), stats.binom(n_people, chance)
    assert all(least <= most for least, most, _ in bins)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(bins))
    for least, most, mass in bins:
        exact = math.fsum(number.pmf(np.arange(least, most + 1)))
        assert mass >= exact * (1 - 1e-8)
        assert mass <= exact * (1 + 1e-8)
    assert number.cdf(bins[0][0] - 1) <= shuffling._TAIL
    assert number.sf(bins[-1][1]) <= shuffling._TAIL


@pytest.mark.claim("P50")
@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.99])
def test_what_is_left_beyond_a_window_is_less_than_the_tail(ratio):
    last = shuffling._weights(lambda place: ratio, 10**12, 0, +1)[-1]
    left = last * ratio / (1 - ratio)
    assert left <= shuffling._TAIL < left / ratio


@pytest.mark.claim("P50")
def test_what_is_added_covers_the_roundings_of_the_widest_window():
    # A weight is off by five roundings for each step from the mode: two of them of the odds.
    def steps(n_people):
        deviation = math.sqrt(n_people) / 2  # the largest
        # It ends at x deviations σ where e^(−x²/2) ≤ 2^-140 x/σ, and x is more than 1.
        return deviation * math.sqrt(2 * (math.log(deviation) - math.log(shuffling._TAIL)))

    bins = shuffling._bins(10**6, 0.5)
    assert bins[-1][1] - bins[0][0] <= 2 * steps(10**6)
    assert 5 * steps(shuffling.MOST_PEOPLE) * 2.0**-53 <= shuffling._UP


@pytest.mark.claim("P50")
def test_wide_bins_and_a_narrow_window_make_the_bound_larger(monkeypatch):
    before = off_by()
    shuffling._bins.cache_clear()
    monkeypatch.setattr(shuffling, "_BINS_PER_DEVIATION", 1)
    monkeypatch.setattr(shuffling, "_TAIL", 1e-3)
    after = off_by()
    shuffling._bins.cache_clear()
    assert all(b > a for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("_checked", "distance / math.expm1(local)", "distance / math.exp(local)"),
        ("_checked", "min(distance, stated)", "min(distance, stated / 2)"),
        ("_delta", "total * factor / n_people", "total * factor / (2 * n_people)"),
        ("_delta", "_bins(n_people, 2 * chance)", "_bins(n_people, chance)"),
        ("_delta", "/ ratio / (1 - 2 * chance)", "/ (1 - 2 * chance)"),
        ("_delta", "(rise + 2)", "(rise + 1)"),
        ("_mean_excess", "+ others", "- slope * step * n_others * share"),
        ("_sum_over_others", "range(n_others + 1)", "range(n_others)"),
        ("_sum_over_others", "(n_others - k) / (k + 1)", "(n_others - k) / (k + 2)"),
    ],
)
def test_a_bound_that_is_too_small_is_found(monkeypatch, where, old, new):
    plant(monkeypatch, f"privacy.shuffling:{where}", old, new)
    assert too_small() or min(off_by()) < 1


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("_delta", "total * factor / n_people + 2 * ratio * _TAIL", "total * factor / n_people"),
        ("_bins", "math.fsum(part) / total", "part[0] / total"),
        ("_delta", "_mean_excess(most, ", "_mean_excess(least, "),
        ("_delta", "(ratio + 1) * least / factor", "(ratio + 1) * most / factor"),
    ],
)
def test_tails_or_ends_of_bins_on_the_wrong_side_are_found(monkeypatch, where, old, new):
    shuffling._bins.cache_clear()
    plant(monkeypatch, f"privacy.shuffling:{where}", old, new)
    if "_TAIL" in old:
        monkeypatch.setattr(shuffling, "_TAIL", 10.0)
    else:
        monkeypatch.setattr(shuffling, "_BINS_PER_DEVIATION", 1)
    assert min(off_by()) < 1
    shuffling._bins.cache_clear()


@pytest.mark.parametrize("more", [1, 2])
def test_people_who_are_not_there_are_found(more):
    # One person too many: what "n instead of n − 1 others" would be.
    table, epsilons = SMALL["randomized response"][0], [0.0, 0.2]
    truth = largest_divergences(table, 2, epsilons)
    bounds = [
        shuffled_delta(epsilon=epsilon, local_epsilon=1.5, n_people=2 + more)
        for epsilon in epsilons
    ]
    assert any(bound < least for bound, least in zip(bounds, truth, strict=True))


# --- Caps, attacked --------------------------------------------------------------------------


def attacked_epsilon(cap, n_people, delta, weights=(8, 3)):
    """Return an epsilon that an attack on real caps shows: nothing smaller can be promised.

    The rows x, y and z of the person in question and of all others are orthogonal, so that
    seeds are in their caps independently. The attack counts seeds in the cap of x alone against
    those in the cap of y alone, and takes those that are in the cap of z, too, for less.
    """
    q, p = cap.inside, cap.probability
    high, low, alone = p / q, (1 - p) / (1 - q), q * (1 - q)
    shares = alone * np.array([1 - q, q, 1 - q, q])
    chances = {
        "x": shares * [high, high, low, low],
        "y": shares * [low, low, high, high],
        "z": shares * [low, high, low, high],
    }
    size = 1 << math.ceil(math.log2(40 * weights[0] * math.sqrt(n_people)))
    transforms = {}
    for name, chance in chances.items():
        law = np.zeros(size)
        np.add.at(law, [weights[0], weights[1], -weights[0], -weights[1]], chance)
        law[0] += 1 - chance.sum()
        transforms[name] = np.fft.rfft(law)
    others = transforms["z"] ** (n_people - 1)
    first, second = (
        np.cumsum(np.fft.fftshift(np.fft.irfft(others * transforms[name], size))[::-1])
        for name in ("x", "y")
    )
    _, safe = bracket(lambda e: (first - math.exp(e) * second).max() <= delta, 0, 5, width=1e-5)
    return safe - 1e-5


@pytest.mark.claim("P50")
@pytest.mark.parametrize(("epsilon", "weights"), [(0.5, (8, 5)), (1.0, (8, 3)), (4.0, (8, 0))])
def test_the_epsilon_of_caps_is_not_below_an_attack_and_close_to_it(epsilon, weights):
    cap = calibrate_cap(epsilon=epsilon, n_columns=10)
    bound = shuffled_epsilon(
        delta=1e-6,
        local_epsilon=epsilon,
        n_people=20_000,
        variation=cap_variation(cap, n_columns=10),
    )
    shown = attacked_epsilon(cap, 20_000, 1e-6, weights)
    assert shown < bound < 1.12 * shown


def test_the_attack_finds_a_variation_that_is_too_small():
    cap = calibrate_cap(epsilon=1.0, n_columns=10)
    variation = 0.7 * cap_variation(cap, n_columns=10)
    bound = shuffled_epsilon(delta=1e-6, local_epsilon=1.0, n_people=20_000, variation=variation)
    assert attacked_epsilon(cap, 20_000, 1e-6) > bound


# --- Published bounds ------------------------------------------------------------------------


def closed_form(local, n_people, delta):
    """Return ε of Feldman, McMillan and Talwar (2021), Theorem 3.1."""
    assert local <= math.log(n_people / (16 * math.log(4 / delta)))
    ratio = math.exp(local)
    inside = 8 * math.sqrt(ratio * math.log(4 / delta) / n_people) + 8 * ratio / n_people
    return math.log1p(math.tanh(local / 2) * inside)


def clones_delta(epsilon, local, n_people, clones):
    """Return δ of two counts when everybody else is a clone of either row with some probability."""
    numbers = np.arange(n_people)
    masses = stats.binom.pmf(numbers, n_people - 1, clones)
    likelier, total = 1 / (1 + math.exp(-local)), 0.0
    for c in np.flatnonzero(masses > 1e-20):
        heads = np.arange(c + 2)
        up, down = stats.binom.pmf(heads - 1, c, 0.5), stats.binom.pmf(heads, c, 0.5)
        first = likelier * up + (1 - likelier) * down
        second = (1 - likelier) * up + likelier * down
        total += masses[c] * np.maximum(0, first - math.exp(epsilon) * second).sum()
    return total


@pytest.mark.claim("P50")
@pytest.mark.parametrize("local", [0.5, 1.0, 2.0, 4.0])
def test_the_bound_for_any_randomizer_is_below_half_of_the_published_closed_form(local):
    for n_people in (10**5, 10**7):
        published = closed_form(local, n_people, 1e-6)
        found = [
            shuffled_delta(epsilon=share * published, local_epsilon=local, n_people=n_people)
            for share in (0.5, 0.1)
        ]
        assert found[0] <= 1e-6 < found[1]


@pytest.mark.claim("P50")
@pytest.mark.parametrize(("epsilon", "local"), [(0.12, 1.0), (0.4, 2.0), (1.5, 4.0)])
def test_the_bound_for_any_randomizer_is_that_of_two_kinds_of_clones(epsilon, local):
    ours = shuffled_delta(epsilon=epsilon, local_epsilon=local, n_people=1000)
    ratio = math.exp(local)
    assert ours == pytest.approx(clones_delta(epsilon, local, 1000, 2 / (ratio + 1)), rel=1e-6)
    assert ours < clones_delta(epsilon, local, 1000, 1 / ratio)


@pytest.mark.claim("P50")
@pytest.mark.parametrize("local", [0.3, 1.0, 4.0, 8.0])
def test_caps_are_never_worse_than_any_randomizer(local):
    cap = calibrate_cap(epsilon=local, n_columns=10)
    variation = cap_variation(cap, n_columns=10)
    for n_people in (1, 30, 1000):
        any_ = shuffled_epsilon(delta=1e-6, local_epsilon=local, n_people=n_people)
        found = shuffled_delta(
            epsilon=any_, local_epsilon=local, n_people=n_people, variation=variation
        )
        assert any_ <= local
        assert found <= 1e-6


# --- Shape -----------------------------------------------------------------------------------


def test_more_people_tell_less():
    found = [
        shuffled_epsilon(delta=1e-6, local_epsilon=2.0, n_people=10**k, variation=0.3897)
        for k in (0, 1, 3, 4, 7, 10, 11)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 1.99
    assert found[-2] == found[-1]


def test_walks_of_many_steps_go_on_where_exact_ones_end():
    # Beyond 2^18 steps a normal variable takes over: epsilon is that of 1/√n on both sides.
    before, after = (
        shuffled_delta(epsilon=3.5 / math.sqrt(n), local_epsilon=1.0, n_people=n)
        for n in (480_000, 500_000)
    )
    assert 2 * 480_000 / (math.e + 1) < 1 << 18 < 2 * 500_000 / (math.e + 1)
    assert after == pytest.approx(before, rel=0.02)


def test_from_the_local_epsilon_on_there_is_no_delta():
    assert shuffled_delta(epsilon=1.0, local_epsilon=1.0, n_people=10) == 0.0


def test_no_delta_is_above_one():
    assert shuffled_delta(epsilon=0.0, local_epsilon=50.0, n_people=1) == 1.0


@pytest.mark.parametrize("n_people", [30, 90, 105])
def test_an_epsilon_smaller_by_a_sixteen_thousandth_does_not_pay(n_people):
    facts = {"local_epsilon": 1.0, "n_people": n_people}
    found = shuffled_epsilon(delta=1e-6, **facts)
    assert shuffled_delta(epsilon=found, **facts) <= 1e-6
    assert shuffled_delta(epsilon=found * (1 - 2.0**-14), **facts) > 1e-6


def test_no_epsilon_below_a_millionth_is_looked_for():
    assert shuffled_epsilon(delta=0.4, local_epsilon=1.5e-6, n_people=10) == 1e-6


def test_a_large_delta_needs_no_epsilon():
    assert shuffled_epsilon(delta=0.4, local_epsilon=1.0, n_people=10**6) == 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {"local_epsilon": 0},
        {"local_epsilon": 51.0},
        {"n_people": 0},
        {"n_people": 2.0},
        {"variation": 0.0},
        {"variation": 1.1},
        {"delta": 0.0},
    ],
)
def test_impossible_numbers_are_refused(wrong):
    known = {"delta": 1e-6, "local_epsilon": 1.0, "n_people": 10}
    with pytest.raises(ParameterError):
        shuffled_epsilon(**{**known, **wrong})


@pytest.mark.parametrize("epsilon", [-0.5, math.nan, None])
def test_no_delta_is_told_for_an_impossible_epsilon(epsilon):
    with pytest.raises(ParameterError, match="epsilon must"):
        shuffled_delta(epsilon=epsilon, local_epsilon=1.0, n_people=10)
