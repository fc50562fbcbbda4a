"""No range explodes or collapses while noise stays within the margin of an answer.

That noise leaves it has probability 1e-6 for a release (`answer_margin`). Here noise does its worst
within the margin, and a margin that is dropped is noticed.
"""

import math

import numpy as np
import pytest

from dpcov.columns.missing import Missing
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning import noisy, steps
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import DEFAULT, answer_margin
from dpcov.sensitive.sums.cell_counts import CellKernel

N_ROWS, N_COLUMNS = 4000, 40
GENERATOR = np.random.default_rng(5)
# Where a size lies between the places of a search is a matter of luck: all of them are tried.
SIZES = np.exp2(np.linspace(-20, 20, N_COLUMNS) + np.linspace(0, 0.3125, N_COLUMNS))
NORMAL = GENERATOR.normal(size=(N_ROWS, N_COLUMNS)) * SIZES
RARE = np.where(GENERATOR.random((N_ROWS, N_COLUMNS)) < np.linspace(0, 0.6, N_COLUMNS), SIZES, 0.0)
GAPS = np.where(GENERATOR.random(NORMAL.shape) < 0.3, np.nan, NORMAL)
# Shares of the rows that tails may have: as little as ever, as wanted, as much as is accepted.
TAILS = [0.002, 0.02, *DEFAULT.range_tails]


@pytest.fixture(autouse=True)
def noise_does_its_worst(monkeypatch):
    """Let all noise be as far as the margin, to sides that are chosen at random, or to one."""
    margin = answer_margin(N_COLUMNS, DEFAULT)

    def add(sums, scale, stream):
        chosen = np.random.default_rng(next(counter))
        sides = chosen.choice(SIDES[next(counter) % len(SIDES)], size=len(sums))
        return sums + (0.999 * margin * scale * sides).astype(np.int64)

    counter = iter(range(10**9))
    monkeypatch.setattr(noisy, "add_noise", add)


SIDES = [[-1, 1], [-1, 1], [1], [-1], [-1, 0, 1]]


def ranges_of(rows, tail, there=1.0):
    """Return ranges of columns if noise makes the tail as large as is said."""
    facts = Stated.nothing(N_COLUMNS)
    counts = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.PAIRWISE).sum_over([rows])
    shares = np.full(N_COLUMNS, there)
    setting = steps.Setting(counts, shares, facts, DEFAULT, RandomStream.from_seed(1))
    sd = tail * N_ROWS / answer_margin(N_COLUMNS, DEFAULT)
    answers = DEFAULT.range_steps + 1
    return steps.find_ranges(setting, Payment(multiplier=sd / math.sqrt(N_COLUMNS * answers)))


def wrong_ranges(rows, tail, there=1.0, *, tries=40):
    """Count ranges of normal columns that are used and wider than 30 sd, or than 0.3 narrower."""
    wrong = used = 0
    for _ in range(tries):
        found = ranges_of(rows, tail, there)
        half = found.upper / SIZES
        wrong += ((~found.unseen) & ((half > 30) | (half < 0.3))).sum()
        used += (~found.unseen).sum()
    return wrong, used


@pytest.mark.parametrize("tail", TAILS)
def test_no_range_of_a_normal_column_is_wrong_whatever_noise_does_within_the_margin(tail):
    wrong, used = wrong_ranges(NORMAL, tail)
    assert (wrong, used > 0) == (0, True)


@pytest.mark.parametrize("there", [0.7, 1.0])
def test_no_range_of_a_column_with_gaps_is_wrong_even_if_it_is_taken_for_complete(there):
    wrong, used = wrong_ranges(GAPS, DEFAULT.range_tails[0], there)
    assert (wrong, used > 0) == (0, True)


@pytest.mark.parametrize("tail", TAILS)
def test_a_range_is_used_only_if_there_is_a_cell_near_it(tail):
    """Cells are at a size or at zero, fewer or more than the tail may have."""
    for _ in range(20):
        found = ranges_of(RARE, tail)
        place = np.log2(found.inner_upper / SIZES)[~found.unseen]
        room = math.log2(steps.room_beyond(np.array([tail]))[0])
        assert (place <= DEFAULT.shell_octaves + room).all()
        assert (place >= -1).all()
        assert found.unseen[0]  # there is nothing but zeros


def test_margins_that_are_dropped_are_noticed(monkeypatch):
    """Of the tail, of the check, and of both."""
    margin = answer_margin(N_COLUMNS, DEFAULT)
    monkeypatch.setattr(steps, "answer_margin", lambda *_: 0.0)
    assert wrong_ranges(NORMAL, 0.2)[0] > 0
    assert not ranges_of(RARE, 0.2).unseen[0]
    monkeypatch.setattr(steps, "answer_margin", lambda *_: margin / 2)
    assert wrong_ranges(NORMAL, 0.2)[0] > 0
