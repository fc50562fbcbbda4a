"""Lengths of rows: where a radius is sought, what is measured beyond it, and with which noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.lengths import (
    edges_about,
    find_radius,
    free_squared_norm,
    measure_clipping,
    tail_wanted,
    widen,
)
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.tuning import DEFAULT, Tuning
from dpcov.sensitive.sums.norm_histogram import NormBins

N_ROWS = 10**6
EDGES = edges_about(5.0, DEFAULT)
SQUARED = np.random.default_rng(1).chisquare(5, size=N_ROWS)


def bins_of(squared, edges=EDGES):
    places = np.searchsorted(edges, squared)
    return NormBins(np.bincount(places, minlength=len(edges) + 1), edges, n_rows=len(squared))


def payment(multiplier=1e-3, rows_per_unit=1):
    return Payment(multiplier=multiplier, rows_per_unit=rows_per_unit)


def test_what_is_typical_is_the_middle_edge():
    assert EDGES[len(EDGES) // 2] == 5.0
    assert EDGES[0] == pytest.approx(5 / 16)
    assert EDGES[-1] == pytest.approx(5 * 16)
    assert len(EDGES) == 1 + (1 << DEFAULT.radius_steps)


@pytest.mark.parametrize("tail", [0.001, 0.05, 0.5])
def test_without_noise_a_radius_is_the_first_edge_that_leaves_the_tail(tail):
    bins = bins_of(SQUARED)
    place = find_radius(bins, tail, payment(), DEFAULT, RandomStream.from_seed(1))
    assert bins.beyond(place)[0] <= tail * N_ROWS < bins.beyond(place - 1)[0]


@pytest.mark.parametrize("squared", [0.0, 1e-3, 5.0, 1e9])
def test_lengths_of_every_size_have_a_radius(squared):
    place = find_radius(
        bins_of(np.full(500, squared)), 0.1, payment(), DEFAULT, RandomStream.from_seed(1)
    )
    assert 0 < place < len(EDGES)
    assert EDGES[place] == pytest.approx(np.clip(squared, EDGES[1], EDGES[-1]), rel=0.05)


@pytest.mark.claim("P25")
@given(
    st.lists(st.integers(0, len(EDGES)), min_size=1, max_size=9),
    st.integers(0, len(EDGES) - 1),
    st.integers(1, 3),
)
def test_a_row_stands_for_two_integers_of_which_none_is_beyond_the_steps(
    places, place, rows_per_unit
):
    asked = []

    class Watched(NormBins):
        def sums(self, values):
            asked.append(values)
            return super().sums(values)

    counts = np.bincount(places, minlength=len(EDGES) + 1)
    bins = Watched(counts, EDGES, n_rows=len(places))
    own = payment(rows_per_unit=rows_per_unit)
    measure_clipping(bins, place, 0.1, own, DEFAULT, RandomStream.from_seed(1))
    (values,) = asked
    steps = DEFAULT.square_steps
    assert values.shape == (2, len(EDGES) + 1)
    assert values.min() == 0
    assert values.max() == steps
    assert (values[:, : place + 1] == 0).all()
    assert (values[0, place + 1 :] == steps).all()
    assert (np.diff(values[1]) >= 0).all()


@pytest.mark.parametrize("place", [40, 64, 80, 100])
def test_without_noise_the_share_is_exact_and_the_excess_nearly(place):
    found = measure_clipping(
        bins_of(SQUARED), place, 0.1, payment(), DEFAULT, RandomStream.from_seed(1)
    )
    squared = EDGES[place]
    apart = np.clip(SQUARED - squared, 0, DEFAULT.excess_reach * squared).mean()
    assert found.share == pytest.approx((squared < SQUARED).mean(), abs=1e-6)
    assert found.excess == pytest.approx(apart, rel=0.02)


def test_rows_beyond_the_last_edge_are_taken_to_be_at_it():
    far, stream = bins_of(np.full(1000, 1e9)), RandomStream.from_seed(1)
    found = measure_clipping(far, 120, 0.1, payment(1e-6), DEFAULT, stream)
    assert found.excess == pytest.approx(EDGES[-1] - EDGES[120], rel=1e-3)


@pytest.mark.claim("P25")
def test_share_and_excess_have_noise_of_the_stated_sd():
    n_rows, place = 500, 64
    bins = bins_of(np.zeros(n_rows))
    own = payment(3.0, rows_per_unit=2)
    found = [
        measure_clipping(bins, place, 0.1, own, DEFAULT, RandomStream.from_seed(seed))
        for seed in range(2000)
    ]
    # 3 multipliers · 2 rows · √2 for two sums.
    assert found[0].share_error == pytest.approx(3 * 2 * 2**0.5 / n_rows, rel=1e-6)
    assert found[0].excess_error == pytest.approx(
        found[0].share_error * DEFAULT.excess_reach * EDGES[place], rel=1e-12
    )
    share = np.array([each.share / each.share_error for each in found])
    excess = np.array([each.excess / each.excess_error for each in found])
    for scores in (share, excess):
        assert stats.kstest(scores, "norm").pvalue > 1e-6
        assert stats.kstest(scores * 1.3, "norm").pvalue < 1e-6
    assert abs(np.corrcoef(share, excess)[0, 1]) < 0.1


@pytest.mark.claim("P25")
def test_every_answer_of_the_bisection_has_the_noise_that_all_of_them_pay_for(monkeypatch):
    answers = []

    def heard(self, sums, stream):
        noisy = type(self)._on(self, sums, stream)
        answers.append(noisy[0] - sums[0])
        return noisy

    noise = type(payment().noise(low=0, high=1, columns=1, n_rows=1))
    monkeypatch.setattr(noise, "_on", noise.on, raising=False)
    monkeypatch.setattr(noise, "on", heard)
    bins = bins_of(SQUARED[:5000])
    own = payment(4.0, rows_per_unit=3)
    for seed in range(400):
        find_radius(bins, 0.1, own, DEFAULT, RandomStream.from_seed(seed))
    assert len(answers) == 400 * DEFAULT.radius_steps
    # 4 multipliers · 3 rows · √steps.
    scores = np.array(answers) / (4 * 3 * DEFAULT.radius_steps**0.5)
    assert stats.kstest(scores, "norm").pvalue > 1e-6
    for wrong in (1.3, 1 / 1.3):
        assert stats.kstest(scores * wrong, "norm").pvalue < 1e-6


@pytest.mark.claim("P25")
@given(
    st.integers(1, 1 << 40),
    st.integers(1, 1000),
    st.floats(0.01, 1e6),
    st.integers(1, 1000),
)
def test_the_tail_is_a_share_that_grows_with_noise(n_rows, n_columns, multiplier, rows):
    own = payment(multiplier, rows_per_unit=rows)
    tail, more = (
        tail_wanted(n_rows, n_columns, moments=moments, radius=own, tuning=DEFAULT)
        for moments in (own, payment(2 * multiplier, rows_per_unit=rows))
    )
    assert 0 < tail <= more <= DEFAULT.most_tail
    noise = own.noise(low=0, high=1, columns=1, n_rows=n_rows, steps=DEFAULT.radius_steps).sd
    least = DEFAULT.radius_noise * noise * (1 - 1e-12)  # but for rounding
    assert tail == DEFAULT.most_tail or tail * n_rows >= least


@pytest.mark.claim("P25")
def test_a_trillion_rows_leave_no_integer():
    n_rows = 1 << 40
    counts = np.zeros(len(EDGES) + 1, dtype=np.int64)
    counts[[10, -1]] = n_rows // 2
    bins = NormBins(counts, EDGES, n_rows=n_rows)
    for multiplier in (1e-3, 1e6):
        own = payment(multiplier, rows_per_unit=100)
        found = measure_clipping(bins, 64, 0.1, own, DEFAULT, RandomStream.from_seed(1))
        assert found.share == pytest.approx(0.5, abs=6 * found.share_error + 1e-12)
        place = find_radius(bins, 0.4, own, DEFAULT, RandomStream.from_seed(1))
        assert place == len(EDGES) - 1


def widened(squared, n_rows=100, *, usual=5.0, multiplier=500.0, most=np.inf):
    """Return the squared radius that becomes of one that was found."""
    edges = edges_about(usual, DEFAULT)
    place = int(np.searchsorted(edges, squared * 0.999))
    moments = Payment(multiplier=multiplier)
    found = widen(place, edges, n_rows, most=most, moments=moments, tuning=DEFAULT)
    return edges[found] / edges[place]


BIN = 2 ** (1 / DEFAULT.norm_bins)


@pytest.mark.claim("P25")
@pytest.mark.parametrize(("n_rows", "more"), [(10, False), (100_000, True)])
def test_a_radius_is_as_large_as_costs_hardly_anything(n_rows, more):
    free = free_squared_norm(n_rows, moments=Payment(multiplier=5.0), tuning=DEFAULT)
    found = 20 * widened(20.0, n_rows, multiplier=5.0)
    assert bool(found > 20 * BIN) is more
    if more:
        # The noise of an entry is then less than the error of sampling.
        assert 5.0 * found / n_rows <= n_rows**-0.5
        assert free / BIN**2 < found < free * BIN


@pytest.mark.claim("P25")
def test_a_row_is_not_shortened_for_one_cell_at_its_limit():
    row = 4.0 + DEFAULT.reach**2
    assert row / BIN**2 < 10 * widened(10.0, usual=4.0) < row * BIN


@pytest.mark.claim("P25")
def test_columns_that_vary_little_need_no_larger_radius():
    assert widened(30.0, usual=80.0) == 1


@pytest.mark.claim("P25")
def test_a_radius_is_not_made_larger_than_limits_let_rows_be():
    assert 6 * widened(6.0, usual=4.0, most=8.0) <= 8.0 * BIN
    assert widened(6.0, usual=4.0, most=5.0) == 1


@pytest.mark.claim("P25")
@pytest.mark.parametrize("squared", [17.0, 30.0, 79.0])
def test_a_radius_is_never_made_smaller(squared):
    assert widened(squared) == 1


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "tail"),
    [
        (10_000, 20, 4 * 5.0 * 2 * 20 / 10_000),  # 4 σ m p / n
        (10_000, 1, 2.5 * 20.0 * 3 * 7**0.5 / 10_000),  # 2.5 sd of one of 7 answers
        (100, 20, 0.5),
    ],
)
def test_the_tail_is_where_noise_and_bias_are_alike_or_stands_out_or_is_half(
    n_rows, n_columns, tail
):
    moments, radius = payment(5.0, rows_per_unit=2), payment(20.0, rows_per_unit=3)
    found = tail_wanted(n_rows, n_columns, moments=moments, radius=radius, tuning=Tuning())
    assert found == pytest.approx(tail, rel=1e-6)


def test_a_radius_costs_hardly_anything_where_its_noise_is_six_tenths_of_the_sampling_error():
    moments = payment(5.0, rows_per_unit=2)
    free = free_squared_norm(10_000, moments=moments, tuning=Tuning())
    assert free * 5.0 * 2 / 10_000 == pytest.approx(0.6 / 10_000**0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("squared", "options", "least"),
    [
        (8.0, {}, 4.0 + 11.0),  # what is usual, and one cell at its limit
        (2.0, {}, 0.6 * 2.0 + 11.0),  # columns that vary less
        (2.0, {"most": 7.0}, 7.0),
        (2.0, {"n_rows": 10_000, "multiplier": 2.0}, 0.6 * 100 / 2.0),
    ],
)
def test_a_radius_is_the_last_edge_that_is_no_larger_than_is_needed(squared, options, least):
    options = {"most": np.inf, "n_rows": 100, "multiplier": 500.0} | options
    edges = edges_about(4.0, Tuning())
    place = edges.tolist().index(squared)
    moments = Payment(multiplier=options.pop("multiplier"))
    found = widen(place, edges, **options, moments=moments, tuning=Tuning())
    assert edges[found] <= least < edges[found + 1]
