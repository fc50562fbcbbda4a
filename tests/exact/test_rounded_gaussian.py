"""Claim P4, the decisions: floating point and integers agree, proposal by proposal.

The law of the output is tested in tests/statistical/test_sampler_law.py.
"""

import inspect
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.exact import rounded_gaussian as module
from dpcov.exact.randomness import RandomStream
from dpcov.exact.rounded_gaussian import draw_rounded_gaussian
from dpcov.exact.scales import MAX_SCALE

EVERYTHING_IN_INTEGERS = 2.0
SCALES = [1, 2, 3, 10, 1000, 2**32 - 1, 3 * 2**40, 2**52, MAX_SCALE]


def word(sign, prefix, u):
    return (sign << 63) | (prefix << 47) | u


def prefix_of(k):
    """A prefix of v that settles on k."""
    return int(np.flatnonzero(module._k_by_prefix() == k)[0])


# What a release uses: the default, wherever it comes from.
MARGIN = inspect.signature(draw_rounded_gaussian).parameters["margin"].default


def decide(first, second, scale, margin=MARGIN, seed=0):
    as_words = [np.array(words, dtype=np.uint64) for words in (first, second)]
    return module._decide(scale, *as_words, RandomStream.from_seed(seed), margin).tolist()


def boundary_of(second, k):
    """Return the u, in units of 2^-47, in whose cell acceptance ends."""
    with mpmath.workdps(60):
        x = mpmath.mpf(second) / 2**64
        end = mpmath.exp(-x * (2 * k + x) / 2) * 2**47
        return int(mpmath.floor(end))


def wrong_decisions(margin):
    """Count proposals at the acceptance boundary that are not decided as integers decide them.

    The cell of u that the boundary divides is decided by bits that are not drawn yet. Next to
    it, decisions are near enough that an error of a float could turn them.
    """
    generator, wrong = np.random.default_rng(0), 0
    for seed, x_bits in enumerate(generator.integers(0, 2**64, 200, dtype=np.uint64)):
        second, k = int(x_bits), seed % 4
        boundary = boundary_of(second, k)
        for u in (boundary - 1, boundary, boundary + 1):
            if 0 <= u < 2**47:
                words = [word(0, prefix_of(k), u)], [second]
                one = decide(*words, 1000, margin, seed)
                wrong += one != decide(*words, 1000, EVERYTHING_IN_INTEGERS, seed)
    return wrong


@pytest.mark.claim("P4")
@pytest.mark.parametrize("scale", SCALES)
def test_both_paths_give_the_same_values_in_the_same_order(scale):
    fast = draw_rounded_gaussian(scale, 4000, RandomStream.from_seed(5))
    slow = draw_rounded_gaussian(
        scale, 4000, RandomStream.from_seed(5), margin=EVERYTHING_IN_INTEGERS
    )
    assert (fast == slow).all()


@pytest.mark.claim("P4")
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_words_at_the_acceptance_boundary_are_decided_as_real_numbers_are(k):
    generator = np.random.default_rng(k)
    for x_bits in generator.integers(1, 2**63, 40, dtype=np.uint64):
        second = int(x_bits) * 2 + 1
        boundary = boundary_of(second, k)
        for step in (-3, -2, -1, 1, 2, 3):
            u = boundary + step
            if not 0 <= u < 2**47:
                continue
            accepted = decide([word(0, prefix_of(k), u)], [second], scale=1000)
            assert bool(accepted) == (step < 0)


@pytest.mark.claim("P4")
def test_a_word_on_the_acceptance_boundary_itself_is_settled_by_further_bits():
    second, k = 2**63 + 12345, 1
    words = [word(0, prefix_of(k), boundary_of(second, k))], [second]
    assert {len(decide(*words, 1000, seed=seed)) for seed in range(40)} == {0, 1}


@pytest.mark.claim("P4")
def test_proposals_at_the_acceptance_boundary_are_decided_as_integers_decide_them():
    assert wrong_decisions(MARGIN) == 0


@pytest.mark.parametrize("margin", [2.0**-60, 2.0**-48])
def test_a_margin_that_is_too_small_decides_some_of_them_wrongly(margin):
    assert wrong_decisions(margin) > 0


@pytest.mark.claim("P4")
def test_the_margin_covers_what_the_proof_needs():
    """Errors of floats and bits that are not drawn move the difference by less than 2^-46."""
    assert MARGIN >= 2.0**-46


@pytest.mark.claim("P4")
@pytest.mark.parametrize("scale", SCALES)
def test_words_at_the_rounding_boundary_are_rounded_as_real_numbers_are(scale):
    generator = np.random.default_rng(scale % 2**32)
    for j in generator.integers(0, max(1, scale - 1), 50, endpoint=True):
        boundary = Fraction(2 * int(j) + 1, 2 * scale) * 2**64
        for step in (-3, -2, -1, 1, 2, 3):
            bits = int(boundary) + step
            low, high = (Fraction(b * scale, 2**64) + Fraction(1, 2) for b in (bits, bits + 1))
            if not 0 <= bits < 2**64 or low // 1 != -(-high // 1) - 1:
                continue
            assert decide([word(0, 0, 0)], [bits], scale) == [int(low // 1)]
            assert decide([word(1, 0, 0)], [bits], scale) == [-int(low // 1)]


@pytest.mark.claim("P4")
@given(st.integers(0, 2**64 - 1), st.sampled_from(SCALES))
def test_a_rounding_that_floating_bits_do_not_settle_is_called_doubtful(bits, scale):
    rounded, doubtful = module._scaled_fraction(scale, np.array([bits], dtype=np.uint64))
    low, high = (Fraction(b * scale, 2**64) + Fraction(1, 2) for b in (bits, bits + 1))
    if not doubtful[0]:
        assert low // 1 == -(-high // 1) - 1 == rounded[0]


@pytest.mark.claim("P4")
def test_the_prefix_table_equals_the_exact_distribution_of_k():
    with mpmath.workdps(60):
        total = mpmath.nsum(lambda k: mpmath.exp(-k * k / 2), [0, mpmath.inf])
        cdf = [
            mpmath.nsum(lambda k: mpmath.exp(-k * k / 2), [0, last]) / total for last in range(12)
        ]
        boundaries = {int(mpmath.floor(value * 2**16)) for value in cdf}
        table = module._k_by_prefix()
        for prefix in range(2**16):
            if prefix in boundaries:
                assert table[prefix] == module._UNSETTLED
            else:
                low = mpmath.mpf(prefix) / 2**16
                assert table[prefix] == sum(1 for value in cdf if value <= low)


@pytest.mark.claim("P4")
@given(st.fractions(0, 40), st.integers(25, 80))
def test_the_exponential_is_bracketed(t, digits):
    low, high = module._exp_minus(t, digits)
    with mpmath.workdps(120):
        truth = mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator < truth
        assert truth < mpmath.mpf(high.numerator) / high.denominator
    assert (high - low) * 10 ** (digits - 3) < high


@pytest.mark.claim("P4")
def test_the_tail_of_k_is_settled_by_further_bits():
    values = set()
    for seed in range(300):
        v = module._LazyUniform(2**16 - 1, 16)
        values.add(module._settle_k(v, RandomStream.from_seed(seed)))
    assert values <= {4, 5, 6}
    assert {4, 5} <= values


@pytest.mark.claim("P4")
def test_a_prefix_that_leaves_k_open_is_settled_by_further_bits():
    for prefix in np.flatnonzero(module._k_by_prefix() == module._UNSETTLED):
        # With u = x = 0 any k is accepted.
        words = [word(0, int(prefix), 0)], [0]
        settled = decide(*words, 1000, EVERYTHING_IN_INTEGERS)
        assert decide(*words, 1000) == settled
        assert len(settled) == 1


class GivenSpareWords:
    """A stream whose spare words are given."""

    def __init__(self, *words):
        self._words = list(words)

    def spare_word(self):
        return self._words.pop(0)


@pytest.mark.claim("P4")
@pytest.mark.parametrize("further", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("bits", [0, 1, 6, 2**16 - 1])
def test_further_bits_leave_those_that_are_known_as_they_are(bits, further):
    number = module._LazyUniform(bits, 16)
    number.refine(GivenSpareWords(further))
    assert number.low == Fraction(bits, 2**16) + Fraction(further, 2**80)
    assert number.high - number.low == Fraction(1, 2**80)


@pytest.mark.claim("P4")
def test_an_open_prefix_and_its_further_bits_choose_k_by_its_exact_distribution():
    with mpmath.workdps(60):
        weights = [mpmath.exp(-mpmath.mpf(k * k) / 2) for k in range(20)]
        cdf = [mpmath.fsum(weights[: k + 1]) / mpmath.fsum(weights) for k in range(20)]
        for prefix in np.flatnonzero(module._k_by_prefix() == module._UNSETTLED).tolist():
            for further in range(2**60, 2**64, 2**60):
                v = (prefix + mpmath.mpf(further) / 2**64) / 2**16
                k = sum(1 for value in cdf if value <= v)
                stream = GivenSpareWords(further)
                # With u = x = 0 any k is accepted.
                assert module._settle(word(0, prefix, 0), 0, 1000, stream) == 1000 * k


@pytest.mark.claim("P4")
@pytest.mark.parametrize("accepted", [False, True])
@pytest.mark.parametrize("offset", ["3e-42", "1e-41", "2e-41"])
def test_digits_decide_no_acceptance_that_their_last_ones_hide(accepted, offset):
    """The last bits of x decide, where u is nearer to the boundary than 41 digits can tell."""
    second, k = 2**63 + 12345, 1
    with mpmath.workdps(80):
        x = mpmath.mpf(second + (0 if accepted else 1)) / 2**64
        end = mpmath.exp(-x * (2 * k + x) / 2)
        u = end - mpmath.mpf(offset) if accepted else end + mpmath.mpf(offset)
        bits = int(mpmath.floor(u * 2**200))
    # Further bits keep x at the end at which acceptance was as near.
    stream = GivenSpareWords(*[0 if accepted else 2**64 - 1] * 20)
    numbers = module._LazyUniform(bits, 200), module._LazyUniform(second, 64)
    assert module._settle_acceptance(*numbers, k, stream) == accepted


def test_noise_beyond_64_bits_wraps_like_the_sum_it_is_added_to():
    for value in (2**63, -(2**63) - 1, 2**70 + 5, -7, 2**63 - 1):
        assert -(2**63) <= module._wrap(value) < 2**63
        assert (module._wrap(value) - value) % 2**64 == 0


@pytest.mark.parametrize("scale", [0, -1, 2**40 + 1, MAX_SCALE + 1])
def test_a_scale_that_was_not_rounded_is_refused(scale):
    with pytest.raises(ParameterError, match=r"round_scale_up|56 bits"):
        draw_rounded_gaussian(scale, 1, RandomStream.from_seed(0))


def test_no_draws_are_no_draws():
    assert draw_rounded_gaussian(5, 0, RandomStream.from_seed(0)).shape == (0,)
