"""Claim P11: the law of the noisy top-k is exact."""

import itertools
import math

import mpmath
import numpy as np
import opendp.prelude as dp  # first of all: it changes the environment
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcov.exact import selection
from dpcov.exact.randomness import RandomStream
from dpcov.exact.selection import select_largest
from dpcov.privacy import Selection
from dpcov.privacy.zcdp import selection_scale, zcdp_cost

SCORES = np.array([0, 3, 3, 7, 9, 2], dtype=np.int32)
COUNT, SCALE, RUNS = 3, 3.0, 12_000


def law(scores, count, scale):
    """The probability of every set: k rounds of the exponential mechanism, summed over orders."""
    weights = np.exp(scores / scale)
    found = {}
    for order in itertools.permutations(range(len(scores)), count):
        left, probability = weights.sum(), 1.0
        for place in order:
            probability *= weights[place] / left
            left -= weights[place]
        key = tuple(sorted(order))
        found[key] = found.get(key, 0.0) + probability
    return found


def frequencies(scale, runs=RUNS):
    stream = RandomStream.from_seed(1)
    drawn = (
        tuple(select_largest(lambda: [SCORES], count=COUNT, scale=scale, stream=stream).tolist())
        for _ in range(runs)
    )
    counted = dict.fromkeys(law(SCORES, COUNT, SCALE), 0)
    for key in drawn:
        counted[key] += 1
    return counted


def pvalue(counted, expected):
    keys = sorted(expected)
    total = sum(counted.values())
    return stats.chisquare(
        [counted[key] for key in keys], [total * expected[key] for key in keys]
    ).pvalue


@pytest.mark.claim("P11")
def test_sets_have_the_probabilities_of_the_exponential_mechanism():
    assert pvalue(frequencies(SCALE), law(SCORES, COUNT, SCALE)) > 1e-4


@pytest.mark.parametrize("wrong", [0.7, 1.3])
def test_a_wrong_scale_is_noticed(wrong):
    assert pvalue(frequencies(wrong * SCALE), law(SCORES, COUNT, SCALE)) < 1e-6


@pytest.mark.claim("P11")
def test_the_law_is_that_of_opendp():
    dp.enable_features("contrib")
    measurement = dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T="i32")),
        dp.linf_distance(T="i32"),
        dp.zero_concentrated_divergence(),
        k=COUNT,
        scale=SCALE,
    )
    expected = law(SCORES, COUNT, SCALE)
    counted = dict.fromkeys(expected, 0)
    for _ in range(RUNS):
        counted[tuple(sorted(measurement(SCORES)))] += 1
    assert pvalue(counted, expected) > 1e-4


@pytest.mark.claim("P11")
@pytest.mark.parametrize("scale", [0.3, 5.0, 400.0])
def test_floats_and_decimals_decide_alike(monkeypatch, scale):
    scores = np.abs(np.random.default_rng(0).normal(scale=50, size=300)).astype(np.int32)

    def chosen():
        return select_largest(
            lambda: [scores], count=20, scale=scale, stream=RandomStream.from_seed(5)
        )

    by_floats = chosen()
    monkeypatch.setattr(selection, "_MARGIN", 2.0)  # nothing is clear
    assert (chosen() == by_floats).all()


@pytest.mark.claim("P11")
@given(st.integers(0, 2**64 - 1), st.floats(0.01, 1e4))
def test_decimals_find_the_class_of_any_number(word, scale):
    values, left = np.array([0, 5, 6, 90]), np.array([1000, 3, 0, 1])
    found = selection._settle(word, values, left, scale, RandomStream.from_seed(0))
    weights = left * np.exp((values - 90) / scale)
    ends = np.cumsum(weights) / weights.sum()
    share = word / 2**64
    assert left[found] > 0
    assert share < ends[found] + 1e-9
    assert found == 0 or share > ends[found - 1] - 1e-9


@pytest.mark.claim("P11")
def test_a_number_at_a_boundary_draws_more_bits(monkeypatch):
    # Two equal classes: the boundary is exactly one half, where 64 bits cannot decide.
    asked = []
    stream = RandomStream.from_seed(0)
    monkeypatch.setattr(stream, "spare_word", lambda: asked.append(1) or 1 << 63, raising=False)
    find = selection._find
    monkeypatch.setattr(selection, "_find", lambda *facts: None if len(asked) < 2 else find(*facts))
    values, left = np.array([4, 5]), np.array([1, 1])
    assert selection._settle(2**63, values, left, 1e9, stream) == 1
    assert len(asked) == 2


def test_strong_scores_leave_the_law_of_the_weak_ones_alone():
    # Relative to the strong scores the weak ones have weights far below the smallest float.
    scores = np.array([10**6, 10**6 - 1, *SCORES], dtype=np.int32)
    stream = RandomStream.from_seed(2)
    counted = dict.fromkeys(law(SCORES, 1, SCALE), 0)
    for _ in range(4000):
        chosen = select_largest(lambda: [scores], count=3, scale=SCALE, stream=stream)
        assert chosen[:2].tolist() == [0, 1]
        counted[(int(chosen[2]) - 2,)] += 1
    assert pvalue(counted, law(SCORES, 1, SCALE)) > 1e-4


@pytest.mark.claim("P11")
def test_weights_are_relative_to_the_largest_score_that_is_left():
    # Relative to one that is gone, they might be too small for floats to tell them apart.
    values, how_many = np.array([0, 3, 900]), np.array([2, 2, 2])
    urn = selection._Urn(values, how_many, 1.0, RandomStream.from_seed(5))
    for _ in range(5):
        urn.draw()
        assert urn._left[urn._top] > 0
        assert urn._weight[urn._top] == 1.0


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_the_chosen_differ_and_rise(count, seed):
    scores = np.random.default_rng(seed).integers(0, 4, size=41).astype(np.int32)
    stream = RandomStream.from_seed(seed)
    chosen = select_largest(lambda: [scores], count=count, scale=2.0, stream=stream)
    assert len(chosen) == count
    assert (np.diff(chosen) > 0).all()
    assert chosen.max() < 41


def plain_selection(scores, count, scale, stream):
    """The same draws from all scores at once: ranks count equal scores from the left."""
    values, how_many = np.unique(scores, return_counts=True)
    whole = selection._Urn(values.astype(np.int64), how_many, scale, stream)
    drawn = (whole.draw() for _ in range(count))
    return sorted(np.flatnonzero(scores == values[place])[rank] for place, rank in drawn)


@pytest.mark.claim("P11")
@given(
    st.lists(st.integers(0, 60), max_size=6),
    st.integers(1, 60),
    st.sampled_from([3, 100, 2**31]),
    st.sampled_from([0, 1 << 16]),
    st.sampled_from([1, 7, 1 << 17]),
    st.integers(0, 2**32),
)
def test_parts_change_neither_the_draws_nor_the_places(cuts, count, most, table, run, seed):
    scores = np.random.default_rng(seed).integers(0, most, size=61, dtype=np.int64)
    scores = scores.astype(np.int32)
    parts = np.split(scores, sorted(cuts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "_SMALL_TABLE", table)
        patch.setattr(selection, "_RUN", run)
        chosen = select_largest(
            lambda: parts, count=count, scale=most / 5, stream=RandomStream.from_seed(seed)
        )
    expected = plain_selection(scores, count, most / 5, RandomStream.from_seed(seed))
    assert chosen.tolist() == expected


@given(st.lists(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 9)), min_size=1))
def test_classes_are_counted_through_the_parts(lists):
    parts = [np.array(numbers, dtype=np.int32) for numbers in lists]
    values, how_many = selection._count_classes(parts)
    expected = np.unique(np.concatenate(parts), return_counts=True)
    assert values.tolist() == expected[0].tolist()
    assert how_many.tolist() == expected[1].tolist()


def test_many_people_need_no_table_as_long_as_their_number(monkeypatch):
    monkeypatch.setattr(np, "bincount", None)
    values, how_many = selection._count_part(np.array([2**31 - 1, 5, 5], dtype=np.int32))
    assert (values.tolist(), how_many.tolist()) == ([5, 2**31 - 1], [2, 1])


def test_equal_scores_are_chosen_alike():
    stream = RandomStream.from_seed(4)
    scores = np.full(10, 3, dtype=np.int32)
    counts = np.zeros(10)
    for _ in range(3000):
        counts[select_largest(lambda: [scores], count=2, scale=1.0, stream=stream)] += 1
    assert stats.chisquare(counts).pvalue > 1e-4


def test_all_are_returned_when_there_are_no_more():
    stream = RandomStream.from_seed(0)
    assert select_largest(lambda: [SCORES], count=6, scale=1.0, stream=stream).tolist() == list(
        range(6)
    )
    assert select_largest(lambda: [SCORES], count=9, scale=1.0, stream=stream).tolist() == list(
        range(6)
    )


@given(st.integers(1, 10**6), st.sampled_from([1, 2]), st.floats(1e-9, 100))
def test_the_scale_costs_no_more_than_asked_and_nearly_as_much(count, sensitivity, rho):
    scale = selection_scale(count=count, sensitivity=sensitivity, rho=rho)
    cost = zcdp_cost(Selection("selection", 2 * sensitivity / scale, count))
    assert rho * (1 - 1e-9) < cost <= rho


class GivenWords:
    """A stream whose words are given."""

    simulated = True

    def __init__(self, *words):
        self._words = list(words)

    def words(self, count):
        assert count == 1
        return np.array([self._words.pop(0)], dtype=np.uint64)


def urn(words, values=(4, 4000), left=(1, 1), scale=1e12):
    return selection._Urn(np.array(values), np.array(left), scale, GivenWords(*words))


@pytest.mark.claim("P11")
@pytest.mark.parametrize(
    ("distance", "settled"), [(2.0**-27, False), (2.0**-29, True), (-(2.0**-29), True), (0, True)]
)
def test_floats_decide_only_what_is_clear(monkeypatch, distance, settled):
    # Two classes of nearly equal weight: their boundary is one half, up to 1e-9.
    asked = []
    monkeypatch.setattr(selection, "_settle", lambda *_: asked.append(1) or 0)
    urn([round((0.5 + distance) * 2**64)])._draw_class()
    assert bool(asked) == settled


@pytest.mark.claim("P11")
def test_many_scores_widen_what_is_not_clear():
    assert urn([], values=range(3), left=[1] * 3)._margin == 2.0**-28
    many = 1 << 21
    assert urn([], values=np.arange(many), left=np.ones(many, int))._margin == many * 2.0**-48


@pytest.mark.claim("P11")
def test_few_digits_do_not_decide_what_they_cannot_know():
    # 485,165,195 candidates of weight e^-20 and one of weight 1: the boundary is near one half,
    # and with 4 digits an exponent of 20 leaves a weight uncertain by 2 %.
    values, left = np.array([0, 20]), np.array([485_165_195, 1])
    near, far = round(0.51 * 2**64), round(0.6 * 2**64)
    assert selection._find(near, 64, 4, values, left, 1.0) is None
    assert selection._find(round(0.49 * 2**64), 64, 4, values, left, 1.0) is None
    assert selection._find(far, 64, 4, values, left, 1.0) == 1
    assert selection._find(near, 64, 40, values, left, 1.0) == 1
    assert selection._find(round(0.49 * 2**64), 64, 40, values, left, 1.0) == 0


@pytest.mark.claim("P11")
@pytest.mark.parametrize("scale", [0.7, 0.73, 0.77, 0.81, 0.83, 0.87])
def test_sixty_digits_decide_nothing_that_their_last_ones_hide(scale):
    # An exponent of 130 has 57 digits after the point, and its weight is as uncertain.
    bits, values, left = 400, np.array([0, int(135 * scale)]), np.array([1, 1])
    with mpmath.workdps(130):
        weight = mpmath.exp(-int(values[1]) / mpmath.mpf(scale))
        for offset in (3e-60, 1e-59, 3e-59, 1e-58, 3e-58):
            for place, share in enumerate((1 - mpmath.mpf(offset), 1 + mpmath.mpf(offset))):
                word = int(mpmath.floor(weight / (1 + weight) * share * 2**bits))
                assert selection._find(word, bits, 60, values, left, scale) in (None, place)


@pytest.mark.claim("P11")
@pytest.mark.parametrize("many", [16_000, 48_500, 131_000, 131_900, 358_000])
def test_low_scores_are_left_out_only_if_all_of_them_weigh_little(many):
    scale, left = 1000.0, np.array([many, 1])
    for depth in range(14, 26):
        values = np.array([0, 1000 * depth + 1])
        weight = many * math.exp(-values[1] / scale)
        word = round(0.75 * weight / (1 + weight) * 2**64)
        assert selection._find(word, 64, 4, values, left, scale) in (None, 0)


@pytest.mark.claim("P11")
@pytest.mark.parametrize("digits", [40, 60])
@pytest.mark.parametrize("many", [1, 16_000, 48_500, 131_000, 131_900, 358_000])
def test_many_digits_leave_out_only_what_all_together_weighs_little(digits, many):
    scale, left, bits = 1000.0, np.array([many, 1]), 400
    bound = math.floor(digits * math.log(10) + math.log(many + 1))
    for depth in range(bound - 12, bound + 4):
        values = np.array([0, 1000 * depth + 1])
        with mpmath.workdps(30):
            weight = many * mpmath.exp(-mpmath.mpf(int(values[1])) / 1000)
            word = int(weight / (1 + weight) * 3 / 4 * 2**bits)
        assert selection._find(word, bits, digits, values, left, scale) in (None, 0)


@pytest.mark.claim("P11")
def test_what_low_scores_may_hide_decides_nothing_at_either_end_of_a_class():
    # Weights of 3.4e-4 and 1, and one that is left out: with 4 digits it may weigh up to 1e-4.
    values, left = np.array([0, 10**6, 10**6 + 8]), np.array([1, 1, 1])
    boundary = math.exp(-8) / (1 + math.exp(-8))
    for offset in (0.5e-4, -0.5e-4, 0.1e-4, -0.1e-4):
        word = round((boundary + offset) * 2**64)
        assert selection._find(word, 64, 4, values, left, 1.0) in (None, 2 if offset > 0 else 1)
    assert selection._find(round(boundary * 0.5 * 2**64), 64, 4, values, left, 1.0) == 1
    assert selection._find(round(boundary * 2.0 * 2**64), 64, 4, values, left, 1.0) == 2


@pytest.mark.claim("P11")
def test_few_bits_do_not_decide_what_they_cannot_know():
    values, left = np.array([0, 20]), np.array([485_165_195, 1])
    assert selection._find(0, 1, 40, values, left, 1.0) is None  # [0, 1/2) holds the boundary
    assert selection._find(3, 2, 40, values, left, 1.0) == 1  # [3/4, 1)


@pytest.mark.claim("P11")
def test_ranks_have_no_modulo_bias():
    # 2^64 = 1 (mod 3): the last word would make rank 0 a little more likely.
    assert urn([2**64 - 1, 5], left=(3, 1))._draw_rank(0) == 2
    assert urn([2**64 - 2], left=(3, 1))._draw_rank(0) == (2**64 - 2) % 3


def test_a_candidate_is_never_drawn_twice():
    full = urn([0, 0, 1, 0], values=(7,), left=(3,))
    assert [full._draw_rank(0) for _ in range(3)] == [0, 1, 2]


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_ranks_are_a_permutation(size, seed):
    ranks, stream = selection._Ranks(size), RandomStream.from_seed(seed)
    assert sorted(ranks.draw(stream) for _ in range(size)) == list(range(size))


def test_the_last_ranks_are_as_likely_as_the_first():
    counts = np.zeros((4, 4))
    stream = RandomStream.from_seed(3)
    for _ in range(4000):
        ranks = selection._Ranks(4)
        for turn in range(4):
            counts[turn, ranks.draw(stream)] += 1
    assert min(stats.chisquare(row).pvalue for row in counts) > 1e-4


@pytest.mark.claim("P11")
def test_an_undecided_number_between_two_of_three_classes_stays_undecided():
    values, left = np.array([1, 2, 3]), np.array([1, 1, 1])
    third = 2**64 // 3
    assert selection._find(third, 64, 40, values, left, 1e30) is None  # the end is within 2^-64
    assert selection._find(third + 2**40, 64, 40, values, left, 1e30) == 1
    assert selection._find(2 * third + 2**40, 64, 40, values, left, 1e30) == 2


@pytest.mark.claim("P11")
@pytest.mark.parametrize(("spread", "scale"), [(500_000, 1.0), (10**6, 0.45), (2 * 10**9, 1e-3)])
def test_scores_far_apart_are_settled_quickly_and_rightly(spread, scale):
    values = np.linspace(0, spread, 300).astype(np.int64)
    left = np.ones(300, dtype=np.int64)
    left[-1] = 3
    stream = RandomStream.from_seed(0)
    assert selection._settle(2**63, values, left, scale, stream) == 299
    # A number that is 0 to 64 bits might be any of them: more bits decide.
    assert selection._settle(0, values, left, scale, stream) == 299


@pytest.mark.claim("P11")
def test_low_scores_that_weigh_little_are_found_by_small_numbers():
    values, left = np.array([0, 50]), np.array([10**9, 1])  # 10^9 e^-50 = 1.9e-13 of the whole
    stream = RandomStream.from_seed(0)
    boundary = 10**9 * math.exp(-50) * 2**64
    assert selection._settle(round(0.9 * boundary), values, left, 1.0, stream) == 0
    assert selection._settle(round(1.1 * boundary), values, left, 1.0, stream) == 1
