"""Centers, scales and limits from answers without noise, compared with numbers known before."""

import math

import numpy as np
import pytest

from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning import learn as learning
from dpcov.mechanisms.learning import noisy, steps
from dpcov.mechanisms.learning.budget import LearningBudget, split_budget
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import Tuning
from dpcov.privacy import ApproxDP
from dpcov.releases.learned import Known
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import FieldKernel
from dpcov.sensitive.tables.working import Reading

PROMISE = ApproxDP(1.0, 1e-6, "replace")
N_ROWS = 1000
TWO_SIDES = np.where(np.arange(N_ROWS) % 2, -300.0, 500.0)  # mean 100, sd 400
ONE_SIDE = np.where(np.arange(N_ROWS) % 2, 100.0, 500.0)  # mean 300, sd 200
HALF_THERE = np.where(np.arange(N_ROWS) % 4 < 2, TWO_SIDES, np.nan)


@pytest.fixture(autouse=True)
def no_noise(monkeypatch):
    """Let noise be paid for, and not be added."""
    monkeypatch.setattr(noisy, "add_noise", lambda sums, scale, stream: sums.astype(np.int64))


def paying(**sds):
    """Return a budget that gives steps noise of so many rows."""
    multipliers = dict.fromkeys(("limit", "mean", "scale"), 1e-6) | sds
    return LearningBudget(promise=PROMISE, rows_per_unit=1, multipliers=multipliers)


def spread_of(cells, budget, *, there=1.0, center=np.nan, scale=np.nan, about=0.0):
    """Return what is learned about a place of a column that is known to lie within ±1024."""
    plain = Stated.nothing(1)
    facts = Stated(
        lower=plain.lower,
        upper=plain.upper,
        center=np.array([center]),
        scale=np.array([scale]),
        design=plain.design,
    )
    counts = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.CENTER).sum_over(
        [cells[:, None]]
    )
    setting = steps.Setting(counts, np.array([there]), facts, Tuning(), RandomStream.from_seed(1))
    end = np.array([1024.0])
    ranges = steps.Ranges(-end, end, -end, end, np.zeros(1, dtype=bool))
    return learning._learn_spread(setting, ranges, np.array([about]), np.zeros(1), budget)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("cells", "there"), [(TWO_SIDES, 1.0), (HALF_THERE, 0.5)])
def test_center_and_scale_are_mean_and_deviation_of_the_cells_that_are_there(cells, there, sign):
    found = spread_of(sign * cells, paying(), there=there)
    assert found.center == pytest.approx([sign * 100.0], abs=0.5)
    assert found.scale == pytest.approx([400.0], rel=2e-3)
    assert not found.unseen.any()
    limit = found.least_reach[0] - abs(found.center[0])
    assert 1.7 * 500 <= limit <= 1.7 * 500 * 2 ** (14 / 2**6)


@pytest.mark.parametrize(("cells", "there"), [(TWO_SIDES, 1.0), (HALF_THERE, 0.5)])
def test_the_square_of_a_noisy_mean_is_made_smaller_by_its_noise(cells, there):
    found = spread_of(cells, paying(mean=50.0), there=there)
    limit = found.least_reach[0] - found.center[0]
    noise = 50.0 * 2 / N_ROWS / there * limit  # a cell is two limits from another
    assert found.scale[0] == pytest.approx(math.hypot(400, noise), rel=2e-3)


@pytest.mark.parametrize(("cells", "there"), [(TWO_SIDES, 1.0), (HALF_THERE, 0.5), (ONE_SIDE, 1.0)])
@pytest.mark.parametrize("step", ["mean", "scale"])
def test_a_column_is_seen_to_vary_if_its_variance_is_two_noise_sd_above_zero(step, cells, there):
    plain = spread_of(cells, paying(), there=there)
    limit = plain.least_reach[0] - plain.center[0]
    mean, variance = np.nanmean(cells) / limit, np.nanvar(cells) / limit**2

    def is_seen(rows):
        sd = rows / N_ROWS / there
        if step == "scale":
            return variance > 2 * sd
        return variance + (2 * sd) ** 2 > 2 * (2 * mean * (2 * sd))

    tried = [
        rows for rows in np.arange(1, 400, 7.0) if is_seen(rows * 1.02) == is_seen(rows / 1.02)
    ]
    found = [not spread_of(cells, paying(**{step: rows}), there=there).unseen[0] for rows in tried]
    assert found == [is_seen(rows) for rows in tried]


def test_a_stated_center_or_scale_stays_as_it_is():
    found = spread_of(TWO_SIDES, paying(), center=0.0)
    assert found.center == [0.0]
    assert found.scale == pytest.approx([math.hypot(100, 400)], rel=2e-3)
    found = spread_of(TWO_SIDES, paying(), scale=7.0)
    assert found.center == pytest.approx([100.0], abs=0.5)
    assert found.scale == [7.0]


def test_no_scale_is_a_small_part_of_its_limit():
    few = np.where(np.arange(N_ROWS) < 30, 1000.0, 0.0)
    found = spread_of(few, paying(), center=0.0)
    assert found.least_reach == [1024.0]
    assert found.scale == pytest.approx([0.3 * 1024], rel=1e-12)


def test_limits_reach_as_far_from_the_mean_as_it_was_moved():
    found = spread_of(TWO_SIDES, paying(), about=100.0)
    assert found.center == pytest.approx([100.0], abs=0.5)
    assert 1.7 * 400 <= found.least_reach <= 1.7 * 400 * 2 ** (14 / 2**6) + 1


@pytest.mark.parametrize("mean", [1.5, -1.5])
def test_a_noisy_mean_beyond_the_limit_is_taken_for_one_at_it(mean, monkeypatch):
    limit = spread_of(TWO_SIDES, paying(), center=0.0).least_reach
    monkeypatch.setattr(learning, "find_means", lambda *_: steps.Noisy(np.array([mean]), 0.01))
    found = spread_of(TWO_SIDES, paying())
    assert found.center == math.copysign(1, mean) * limit
    assert found.least_reach == 2 * limit


def test_a_noisy_variance_beyond_the_limit_is_taken_for_one_at_it(monkeypatch):
    limit = spread_of(TWO_SIDES, paying(), center=0.0).least_reach
    noisy_square = steps.Noisy(np.array([1.5]), 0.01)
    monkeypatch.setattr(learning, "find_mean_squares", lambda *_: noisy_square)
    assert spread_of(TWO_SIDES, paying(), center=0.0).scale == limit


def test_the_farther_end_is_never_at_the_center():
    center, lower, upper = np.array([[1.0, 5.0, 1e20, 3.0], [0, 0, 1e20, 0], [9.0, 7, 1e20, 9]])
    asked = np.array([True, True, True, False])
    distance = learning._farther_end(center, lower, upper, asked)
    assert distance.tolist() == [8.0, 5.0, np.spacing(1e20), 1.0]


def test_how_a_fact_is_known():
    learned, unseen = np.array([True, True, False]), np.array([True, False, True])
    known = learning._known(learned, unseen)
    assert known.tolist() == [Known.NOT_SEEN, Known.LEARNED, Known.STATED]
    assert learning._known(learned).tolist() == [Known.LEARNED, Known.LEARNED, Known.STATED]


def test_no_row_is_longer_than_the_farther_limits_of_all_cells():
    plain = Reading.of(Design.numbers_of("abc"))
    for vector, facts in (
        (plain.lower, (-2, -3, 4)),
        (plain.upper, (1, 9, 8)),
        (plain.center, (-1, 3, 7)),
        (plain.scale, (1, 2, 0.5)),
    ):
        vector[:] = facts
    assert learning._longest_squared_norm(plain) == 2**2 + (6 / 2) ** 2 + (3 / 0.5) ** 2


def learned_columns(rows, *fields, bounds=None):
    design = Design(fields)
    size = len(design.numbers)
    lower, upper = (-np.inf, np.inf) if bounds is None else bounds
    unknown = np.full(size, np.nan)
    facts = Stated(
        lower=np.full(size, lower),
        upper=np.full(size, upper),
        center=unknown,
        scale=unknown,
        design=design,
    )
    cells = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.PAIRWISE) if size else None
    counts = FieldKernel(design, cells, Missing.PAIRWISE, None).sum_over([rows])
    budget = split_budget(ApproxDP(50.0, 1e-6, "replace"), facts)
    return learning.learn_columns(
        counts, facts, budget, tuning=Tuning(), stream=RandomStream.from_seed(1), stops=False
    )


def test_numbers_and_categories_are_read_in_the_order_of_the_values():
    levels = ("u", "v"), ("w", "x", "y", "z")
    fields = Field("a", levels[0]), Field("b"), Field("c", levels[1]), Field("d")
    places = np.arange(2000)
    rows = np.column_stack([places % 10 < 9, places % 201, np.zeros(2000), 1e4 + places % 101])
    rows[::2, 3] = np.nan
    facts = learned_columns(rows, *fields)
    reading = facts.reading
    shares = [0.1, 0.9, 1.0, 0.0, 0.0, 0.0]
    assert reading.center[[0, 1, 3, 4, 5, 6]] == pytest.approx(shares)
    wide = math.sqrt(1 - 0.1**2 - 0.9**2)
    assert reading.scale[[0, 1, 3, 4, 5, 6]] == pytest.approx([wide] * 2 + [0.3] * 4)
    there = rows[1::2, 3]
    assert reading.center[[2, 7]] == pytest.approx([rows[:, 1].mean(), there.mean()], rel=5e-3)
    assert reading.scale[2] == pytest.approx(rows[:, 1].std(), rel=0.02)
    assert reading.observed == pytest.approx([1.0, 1.0, 1.0, 0.5])
    # A limit lies ten thirds of a scale from the center, or farther.
    apart = np.minimum(reading.upper - reading.center, reading.center - reading.lower)[[2, 7]]
    assert (apart >= 10 / 3 * reading.scale[[2, 7]]).all()
    assert facts.known["range"].tolist() == [0, 0, 1, 0, 0, 0, 0, 1]
    assert facts.known["scale"].tolist() == [1] * 8
    assert facts.beyond.values.tolist() == [0.0] * 8


def test_limits_within_both_bounds_count_as_stated():
    rows = np.column_stack([np.arange(2000) % 201])
    facts = learned_columns(rows, Field("a"), bounds=(0.0, 1000.0))
    assert facts.known["range"].tolist() == [Known.STATED]
    assert facts.reading.lower == [0.0]
    assert 200 < facts.reading.upper < 1000


def test_a_scale_within_narrow_bounds_is_that_of_the_cells_and_the_bounds_are_limits():
    rows = 4.9 + np.column_stack([np.arange(2000) % 201]) / 1000
    facts = learned_columns(rows, Field("a"), bounds=(0.0, 10.0))
    assert facts.reading.scale == pytest.approx(rows.std(), rel=0.1)
    assert (facts.reading.lower, facts.reading.upper) == (0.0, 10.0)


def test_nothing_is_beyond_the_limits_of_a_category_for_certain():
    facts = learned_columns(np.zeros((50, 1)), Field("a", ("y", "z")))
    assert facts.beyond.values.tolist() == [0.0, 0.0]
    assert facts.beyond.sd == 0.0


def test_a_stated_center_and_scale_are_the_limits_beside_a_column_that_is_learned():
    facts = Stated(
        lower=np.full(2, -np.inf),
        upper=np.full(2, np.inf),
        center=np.array([np.nan, 0.0]),
        scale=np.array([np.nan, 1e-6]),
        design=Design.numbers_of("ab"),
    )
    cells = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.REFUSE)
    rows = np.column_stack([TWO_SIDES, 1e-9 * TWO_SIDES])
    counts = FieldKernel(facts.design, cells, Missing.REFUSE, None).sum_over([rows])
    reading = learning.learn_columns(
        counts,
        facts,
        split_budget(PROMISE, facts),
        tuning=Tuning(),
        stream=RandomStream.from_seed(1),
    ).reading
    assert reading.upper[1] == pytest.approx(10 / 3 * 1e-6, rel=0.1)
    assert reading.lower[1] == -reading.upper[1]


@pytest.mark.claim("P23")
def test_each_step_asks_as_often_as_was_paid_for_and_only_columns_that_need_it(monkeypatch):
    """Of columns with nothing stated, narrow bounds that are trusted, a center, and all."""
    asked = []
    monkeypatch.setattr(noisy, "add_noise", lambda sums, *_: asked.append(len(sums)) or sums)
    names = *map(Field, "abcd"), Field("e", ("y", "z"))
    design = Design(names)
    nan, inf = np.nan, np.inf
    facts = Stated(
        lower=np.array([-inf, 0.0, -inf, -inf]),
        upper=np.array([inf, 1.0, inf, inf]),
        center=np.array([nan, nan, 5.0, 5.0]),
        scale=np.array([nan, nan, nan, 2.0]),
        design=design,
    ).trusting_narrow()
    budget = split_budget(PROMISE, facts)
    steps_paid = [
        "observed", "levels", "range", "center", "limit", "mean", "scale", "beyond",
        "radius", "clipping", "moments",
    ]  # fmt: skip
    assert list(budget.multipliers) == steps_paid
    cells = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.PAIRWISE)
    rows = np.random.default_rng(1).normal(5.0, 2.0, size=(300, 5)).clip(0)
    rows[:, 4] = rows[:, 1] > 5
    counts = FieldKernel(design, cells, Missing.PAIRWISE, None).sum_over([rows])
    learning.learn_columns(counts, facts, budget, tuning=Tuning(), stream=RandomStream.from_seed(1))
    answers = {
        "observed": [5],
        "levels": [2],
        "range": [2] * 9,
        "center": [2] * 14,
        "limit": [2] * 7,
        "mean": [2],
        "scale": [3],
        "beyond": [4],
    }
    assert asked == [size for sizes in answers.values() for size in sizes]


@pytest.mark.claim("P27")
@pytest.mark.parametrize(("weight", "mean"), [(0.0, 1e-3), (1.0, 0.25), (4.0, 1.0), (9.0, 1.0)])
def test_an_average_weight_is_a_share_of_its_bound_and_never_nothing(weight, mean, monkeypatch):
    design = Design(tuple(map(Field, "abcd")))
    plain = Stated.of([None] * 4, design, 4.0)
    kernel = CellKernel(plain.ruler(), plain.lower, plain.upper, Missing.PAIRWISE)
    rows = np.column_stack([np.ones((50, 4)), np.full(50, weight)])
    counts = FieldKernel(design, kernel, Missing.PAIRWISE, 4.0).sum_over([rows])
    budget = LearningBudget(promise=PROMISE, rows_per_unit=2, multipliers={"weights": 3.0})
    stream = RandomStream.from_seed(1)
    found = learning._learn_weights(counts, plain, budget, Tuning(), stream)
    assert (found.bound, found.mean, found.constant) == (4.0, mean, 0.5)
    assert found.mean_square == min(weight / 4, 1.0) ** 2
    assert found.error == pytest.approx(3 * 2 * math.sqrt(2) / 50, rel=1e-6)
    # Noise may leave more than all, or less than nothing.
    for more, cut in ((10.0, 1.0), (-10.0, 1e-3)):
        monkeypatch.setattr(
            noisy, "add_noise", lambda sums, scale, _, more=more: sums + np.int64(more * scale)
        )
        assert learning._learn_weights(counts, plain, budget, Tuning(), stream).mean == cut


@pytest.mark.parametrize("step", ["scale", "mean"])
def test_no_scale_is_smaller_than_what_can_be_told_from_none(step):
    """A few cells far out: noise of as many rows hides how much they vary."""
    few = np.where(np.arange(N_ROWS) < 30, 1000.0, 0.0)
    found = spread_of(few, paying(**{step: 100.0}), about=0.0)
    mean, noise = 30 / N_ROWS, 100 / N_ROWS
    # Two noise sd of the variance, of the mean square itself or of the mean beside it.
    least = 2 * (noise if step == "scale" else 2 * mean * 2 * noise)
    assert found.scale[0] >= 0.95 * math.sqrt(max(least, 0.3**2)) * 1000
    assert found.unseen[0] or step == "mean"
