"""The noise of learning: its scale, its law, and how often it is drawn."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.noisy import Noise
from dpcov.mechanisms.learning.quantiles import Payment, Quantile, Questions
from dpcov.mechanisms.learning.stated import Stated
from dpcov.privacy.sensitivity import squared_cell_sensitivity
from dpcov.sensitive.sums.cell_counts import CellKernel


@pytest.mark.claim("P23")
@given(st.floats(0.01, 1e6), st.integers(1, 10**9), st.integers(0, 2**62), st.integers(1, 20))
def test_a_scale_is_never_less_than_is_paid_for_and_fits(multiplier, squared, largest, steps):
    noise = Noise.paying(multiplier, squared, largest=largest, steps=steps)
    needed = Fraction(multiplier) ** 2 * squared * steps * 4**noise.bits
    assert noise.scale**2 >= needed
    assert largest << noise.bits <= 2**62
    if largest < 2**20:
        assert noise.scale**2 <= needed * (1 + Fraction(1, 10**6))


@pytest.mark.claim("P23")
def test_a_sum_that_has_no_room_for_a_finer_grid_stays_as_it_is():
    assert Noise.paying(1.0, 1, largest=2**62) == Noise(1, 0)
    assert Noise.paying(1.0, 1, largest=2**62 - 1) == Noise(1, 0)
    assert Noise.paying(1.0, 1, largest=2**61 - 1) == Noise(2, 1)


@pytest.mark.claim("P26")
def test_numbers_of_levels_have_the_noise_of_one_answer():
    noise = Payment(multiplier=3.0, rows_per_unit=2).level_noise(categories=5, n_rows=1000)
    # 3 multipliers · 2 rows · √(two levels of 5 categories).
    assert noise.sd == pytest.approx(3 * 2 * 10**0.5, rel=1e-6)


def test_what_is_paid_for_cannot_be_changed_later():
    payment = Payment(multiplier=3.0)
    noise = payment.noise(low=0, high=1, columns=1, n_rows=10)
    quantile = Quantile(3, 4)
    for value, name in ((payment, "multiplier"), (noise, "scale"), (quantile, "parts")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, 1)


@pytest.mark.claim("P22")
@given(
    st.integers(-1000, 0),
    st.integers(0, 1000),
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
)
def test_a_cell_moves_a_sum_no_further_than_is_claimed(low, high, ends):
    before, after = (round(low + end * (high - low)) for end in ends)
    claimed = squared_cell_sensitivity(low=low, high=high)
    assert all((one - two) ** 2 <= claimed for one, two in [(before, after), (0, after)])
    assert (low - high) ** 2 == claimed


N_COLUMNS = 3000


def questions(steps, seed=1, n_columns=N_COLUMNS):
    facts = Stated.nothing(n_columns)
    kernel = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.REFUSE)
    counts = kernel.sum_over([np.zeros((10, n_columns))])
    first = np.zeros(n_columns, dtype=np.int64)
    return Questions(
        counts,
        lambda place: (first, counts.ruler.index(place)),
        quantile=Quantile(3, 4),
        columns=np.arange(n_columns),
        steps=steps,
        payment=Payment(multiplier=2.0, rows_per_unit=2),
        stream=RandomStream.from_seed(seed),
    )


@pytest.mark.claim("P23")
def test_every_answer_has_the_noise_that_all_of_them_pay_for():
    asked = questions(steps=4)
    answers = np.array([asked.surplus(np.zeros(N_COLUMNS)) for _ in range(4)])
    # 4 · 10 − 3 · 10 cells; noise of 2 multipliers · 2 rows · 4 parts · √columns · √steps.
    sd = 2 * 2 * 4 * (N_COLUMNS * 4) ** 0.5
    scores = (answers - 10) / sd
    assert stats.kstest(scores.ravel(), "norm").pvalue > 1e-6
    for wrong in (1.3, 1 / 1.3):
        assert stats.kstest(scores.ravel() * wrong, "norm").pvalue < 1e-6
    spread = (scores**2).sum()
    assert 1e-6 < stats.chi2(scores.size).sf(spread) < 1 - 1e-6
    assert np.abs(np.corrcoef(answers) - np.eye(4)).max() < 0.1


@pytest.mark.claim("P23")
def test_a_quantile_pays_for_its_parts_and_for_no_more():
    # 2 multipliers · 2 rows · 4 parts · √columns · √steps.
    sd = 2 * 2 * 4 * (3 * 5) ** 0.5
    assert questions(steps=5, n_columns=3)._noise.sd == pytest.approx(sd, rel=1e-6)


@pytest.mark.claim("P23")
def test_no_more_answers_are_given_than_were_paid_for():
    asked = questions(steps=2)
    asked.bisect(np.zeros(N_COLUMNS), np.ones(N_COLUMNS), steps=2)
    with pytest.raises(ParameterError, match="No further answer"):
        asked.surplus(np.zeros(N_COLUMNS))


@pytest.mark.claim("P24")
def test_means_squares_and_shares_beyond_have_noise_of_the_stated_sd():
    from dpcov.mechanisms.learning import steps
    from dpcov.mechanisms.learning.tuning import DEFAULT

    facts = Stated.nothing(N_COLUMNS)
    kernel = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.REFUSE)
    counts = kernel.sum_over([np.zeros((500, N_COLUMNS))])
    payment = Payment(multiplier=3.0)
    zeros, ones, columns = np.zeros(N_COLUMNS), np.ones(N_COLUMNS), np.arange(N_COLUMNS)
    setting = steps.Setting(counts, ones, facts, DEFAULT, RandomStream.from_seed(4))
    mean = steps.find_means(setting, columns, zeros, ones, payment)
    square = steps.find_mean_squares(setting, columns, zeros, ones, payment)
    beyond = steps.count_beyond(setting, steps.find_reach(setting, zeros, ones), payment)
    for noisy, unit in ((mean, 2.0), (square, 1.0), (beyond, 1.0)):
        assert noisy.sd == pytest.approx(3 * unit * N_COLUMNS**0.5 / 500, rel=1e-6)
        assert stats.kstest(noisy.values / noisy.sd, "norm").pvalue > 1e-6
        assert stats.kstest(noisy.values / noisy.sd * 1.3, "norm").pvalue < 1e-6
