"""The steps of learning, with answers as they would be without noise."""

import math
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pytest

from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.exact.randomness import RandomStream
from dpcov.exact.ruler import Ruler
from dpcov.mechanisms.learning import noisy, steps
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import Tuning
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import WEIGHT_STEPS, FieldKernel

N_ROWS = 1000
CHEAP = Payment(multiplier=1e-6)
COUNTED = np.arange(1.0, 1 + N_ROWS)  # one cell of each size


@pytest.fixture(autouse=True)
def no_noise(monkeypatch):
    """Let noise be paid for, and not be added."""
    monkeypatch.setattr(noisy, "add_noise", lambda sums, scale, stream: sums.astype(np.int64))


def stated(*bounds, center=np.nan):
    facts = [(-np.inf, np.inf) if each is None else each for each in bounds]
    lower, upper = np.array(facts).T
    plain = Stated.nothing(len(facts))
    return Stated(
        lower=lower,
        upper=upper,
        center=np.full(len(facts), center),
        scale=plain.scale,
        design=plain.design,
    )


def setting_of(*columns, facts=None, there=1.0):
    facts = stated(*[None] * len(columns)) if facts is None else facts
    kernel = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.CENTER)
    counts = kernel.sum_over([np.column_stack(columns)])
    share = np.full(len(columns), there)
    return steps.Setting(counts, share, facts, Tuning(), RandomStream.from_seed(1))


def paying(sd, columns, answers):
    """Return what gives each of so many answers an sd of so many rows."""
    return Payment(multiplier=sd / math.sqrt(columns * answers))


def others(number, cell=7.0):
    """Return zeros, but for some cells."""
    return np.where(np.arange(N_ROWS) < number, cell, 0.0)


# Ranges


def test_a_range_is_twice_as_wide_as_most_cells_are():
    setting = setting_of(COUNTED, -COUNTED / 64)
    found = steps.find_ranges(setting, CHEAP)
    most, octave = 980 / np.array([1, 64]), 2 ** (80 / 2**8)
    assert (found.inner_upper >= most).all()
    assert (found.inner_upper <= most * octave * 1.01).all()
    assert (found.upper == 2 * found.inner_upper).all()
    assert (found.lower == -found.upper).all()
    assert (found.inner_lower == -found.inner_upper).all()
    assert not found.unseen.any()


def test_within_bounds_a_range_is_found_more_finely_and_never_beyond_them():
    setting = setting_of(COUNTED, COUNTED, facts=stated((0.0, 5000.0), (0.0, 1500.0)))
    found = steps.find_ranges(setting, CHEAP)
    assert (found.inner_upper >= 980).all()
    assert (found.inner_upper <= 980 * 2 ** (20 / 2**8) * 1.01).all()
    assert found.upper.tolist() == [2 * found.inner_upper[0], 1500.0]
    assert found.lower.tolist() == [0.0, 0.0]


def test_columns_of_which_nothing_is_seen_have_a_range_that_is_guessed_or_stated():
    cells = np.zeros(N_ROWS), np.zeros(N_ROWS)
    found = steps.find_ranges(setting_of(*cells, facts=stated(None, (0.0, 4.0))), CHEAP)
    assert found.unseen.tolist() == [True, True]
    assert found.lower.tolist() == found.inner_lower.tolist() == [-1.0, 0.0]
    assert found.upper.tolist() == found.inner_upper.tolist() == [1.0, 4.0]


def seen_in_range(number, *, sd, bounds=None, there=1.0):
    """Return whether so many cells apart from zero are seen with noise of so many rows."""
    facts = stated(bounds)
    setting = setting_of(others(number), facts=facts, there=there)
    return not steps.find_ranges(setting, paying(sd, 1, 9)).unseen[0]


@pytest.mark.parametrize(
    ("options", "enough"),
    [
        ({"sd": 1e-3}, 20),  # the tail that is left beyond a range
        ({"sd": 10.0}, 52),  # noise is as large in one of ten million answers
        ({"sd": 10.0, "bounds": (0.0, 100.0)}, 52),
        ({"sd": 10.0, "there": 0.5}, 52),
        ({"sd": 90.0}, 468),
    ],
)
def test_a_range_is_used_if_cells_are_clearly_seen_near_it(options, enough):
    assert not seen_in_range(enough - 2, **options)
    assert seen_in_range(enough + 3, **options)


@pytest.mark.parametrize(("sd", "is_seen"), [(96.0, True), (97.0, False)])
def test_no_range_is_found_where_its_tail_would_be_half_of_the_cells(sd, is_seen):
    assert seen_in_range(N_ROWS, sd=sd) is is_seen


def test_stated_bounds_stand_where_noise_is_larger_than_the_table():
    setting = setting_of(others(N_ROWS), facts=stated((0.0, 100.0)))
    found = steps.find_ranges(setting, paying(500.0, 1, 9))
    assert found.unseen.tolist() == [True]
    assert (found.lower[0], found.upper[0]) == (0.0, 100.0)


def test_cells_at_a_bound_have_a_range_that_ends_there():
    facts = stated((0.0, 8.0), (-8.0, 0.0))
    setting = setting_of(others(300, 8.0), others(300, -8.0), facts=facts)
    found = steps.find_ranges(setting, CHEAP)
    assert found.unseen.tolist() == [False, False]
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.0, -8.0], [8.0, 0.0])


FAR = 1e30  # beyond the ruler, in the last bin of a column or in the first


def test_cells_beyond_the_ruler_are_seen_in_a_range():
    setting = setting_of(others(500, FAR), others(500, -FAR))
    assert steps.find_ranges(setting, CHEAP).unseen.tolist() == [False, False]


@pytest.mark.claim("P23")
@pytest.mark.parametrize("cell", [FAR, -FAR])
def test_no_cell_is_counted_in_the_range_of_another_column(cell):
    setting = setting_of(others(0), others(500, cell), others(0))
    assert steps.find_ranges(setting, CHEAP).unseen.tolist() == [True, False, True]


# Centers


def test_a_center_is_the_median_as_well_as_halvings_tell():
    setting = setting_of(COUNTED, COUNTED * 3)
    lower, upper = np.array([-2000.0, -4000.0]), np.array([2000.0, 4000.0])
    ranges = steps.Ranges(lower, upper, lower, upper, np.zeros(2, dtype=bool))
    center, doubt = steps.find_centers(setting, ranges, CHEAP)
    assert (doubt == (upper - lower) / 2**15).all()
    assert (np.abs(center - [500, 1500]) <= doubt + np.array([1, 3])).all()


def test_a_stated_center_stays_without_doubt():
    facts = stated(None, None)
    own = np.array([7.0, np.nan])
    facts = Stated(
        lower=facts.lower, upper=facts.upper, center=own, scale=facts.scale, design=facts.design
    )
    ends = np.full(2, 1024.0)
    ranges = steps.Ranges(-ends, ends, -ends, ends, np.zeros(2, dtype=bool))
    setting = setting_of(COUNTED, COUNTED, facts=facts)
    center, doubt = steps.find_centers(setting, ranges, CHEAP)
    assert (center[0], doubt[0]) == (7.0, 0.0)
    assert abs(center[1] - 500) < 2


# Limits


def limits_of(setting, payment=CHEAP, *, kept=False, doubt=0.0, center=0.0):
    size = setting.stated.n_columns
    return steps.find_limits(
        setting,
        np.full(size, center),
        np.full(size, doubt),
        np.full(size, 4096.0),
        np.full(size, 3000.0),
        np.full(size, kept),
        payment,
    )


@pytest.mark.parametrize("center", [0.0, -5000.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_limit_is_wider_than_most_cells_are_from_the_center(sign, center):
    (limit,) = limits_of(setting_of(center + sign * COUNTED), center=center)
    assert 1.7 * 980 <= limit <= 1.7 * 980 * 2 ** (14 / 2**6) * 1.01


def test_a_limit_lies_within_the_range():
    (limit,) = limits_of(setting_of(4 * COUNTED))
    assert limit == 4096.0


@pytest.mark.parametrize("cells", [np.zeros(N_ROWS), COUNTED], ids=["unseen", "kept"])
def test_a_column_that_is_not_seen_to_vary_or_is_kept_has_the_range_without_room(cells):
    (limit,) = limits_of(setting_of(cells), kept=bool(cells.any()))
    assert limit == 3000.0


def test_cells_that_may_be_the_median_itself_are_within_every_window():
    assert limits_of(setting_of(others(500)), doubt=8.0) == [3000.0]
    assert limits_of(setting_of(others(500)), doubt=6.0) < 3000.0


@pytest.mark.parametrize("sign", [1, -1])
def test_cells_are_seen_from_a_few_octaves_below_the_smallest_limit_on(sign):
    tuning = Tuning()
    found = tuning.limit_octaves * (2**-tuning.limit_steps - 1)
    smallest = 4096 * 2 ** (found - tuning.shell_octaves)
    assert limits_of(setting_of(others(500, sign * smallest * 0.99))) == [3000.0]
    assert limits_of(setting_of(others(500, sign * smallest * 1.01))) < 3000.0


@pytest.mark.claim("P23")
@pytest.mark.parametrize("cell", [FAR, -FAR])
def test_cells_beyond_the_ruler_are_near_no_limit_of_any_column(cell):
    setting = setting_of(others(0), others(500, cell), others(0))
    assert limits_of(setting).tolist() == [3000.0, 3000.0, 3000.0]


@pytest.mark.parametrize(("sd", "enough"), [(1e-3, 20), (10.0, 52), (90.0, 468)])
def test_a_limit_is_used_if_cells_are_clearly_seen_near_it(sd, enough):
    for number, is_seen in ((enough - 2, False), (enough + 3, True)):
        (limit,) = limits_of(setting_of(others(number)), paying(sd, 1, 7))
        assert bool(limit < 3000.0) is is_seen


# Means, mean squares, reach


CELLS = np.array([-40.0, 0.0, 1.0, 2.0, 3.5, 6.0, 7.0, 40.0, np.nan])
SHARES = np.array([-1, -0.5, -0.25, 0, 0.375, 1, 1, 1])  # about 2, in limits of 4


@pytest.mark.claim("P24")
def test_means_are_those_of_limited_cells_over_all_rows():
    setting = setting_of(CELLS)
    center, limit, columns = np.array([2.0]), np.array([4.0]), np.arange(1)
    mean = steps.find_means(setting, columns, center, limit, Payment(multiplier=3.0))
    assert mean.values == SHARES.sum() / 9
    assert mean.sd == pytest.approx(3.0 * 2 / 9, rel=1e-6)
    square = steps.find_mean_squares(setting, columns, center, limit, Payment(multiplier=3.0))
    assert square.values == pytest.approx((SHARES**2).sum() / 9, abs=1 / 4096)
    assert square.sd == pytest.approx(3.0 / 9, rel=1e-6)


@pytest.mark.claim("P24")
def test_limits_are_ends_of_bins_and_cells_beyond_them_are_counted():
    setting = setting_of(COUNTED, -COUNTED, COUNTED, facts=stated(None, None, (0.0, 650.0)))
    ruler = setting.counts.ruler
    reach = steps.find_reach(setting, np.array([100.0, -100.0, 100.0]), np.full(3, 600.1))
    assert reach.upper[0] == ruler.ends(ruler.index(np.full(3, 700.1)))[1][0]
    assert reach.lower[1] == -reach.upper[0]
    assert 700.1 <= reach.upper[0] < 701
    assert -501 < reach.lower[0] <= -500.1
    assert (reach.lower[2], reach.upper[2]) == (0.0, 650.0)
    beyond = steps.count_beyond(setting, reach, Payment(multiplier=2.0))
    assert beyond.values[:2].tolist() == [0.3, 0.3]
    assert beyond.sd == pytest.approx(2.0 * math.sqrt(3) / N_ROWS, rel=1e-6)


def test_limits_lie_apart_and_within_the_ruler_whatever_the_distance():
    setting = setting_of(COUNTED, COUNTED)
    center = np.array([0.0, 1e300])
    for distance in (0.0, np.inf):
        reach = steps.find_reach(setting, center, np.full(2, distance))
        assert (reach.lower < center).all()
        assert (center < reach.upper).all()
        assert (reach.first >= 1).all()
        assert (reach.last <= setting.counts.ruler.n_bins - 2).all()


def test_limits_reach_to_the_outermost_ends_of_the_ruler():
    setting = setting_of(COUNTED)
    reach = steps.find_reach(setting, np.zeros(1), np.full(1, np.inf))
    assert (reach.lower[0], reach.upper[0]) == (-(2.0**40), 2.0**40)


def test_limits_lie_apart_where_bins_are_too_narrow_for_floats():
    setting = setting_of(COUNTED, facts=stated(None, center=1e100))
    reach = steps.find_reach(setting, np.full(1, 1e100), np.ones(1))
    assert reach.lower[0] < 1e100 < reach.upper[0]


def test_what_was_learned_cannot_be_changed_later():
    setting = setting_of(COUNTED)
    ranges = steps.find_ranges(setting, CHEAP)
    reach = steps.find_reach(setting, np.zeros(1), np.ones(1))
    beyond = steps.count_beyond(setting, reach, CHEAP)
    for value, name in ((setting, "there"), (ranges, "lower"), (reach, "lower"), (beyond, "sd")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, np.zeros(1))


# Cells that are there, levels, weights


def fields_of(rows, *fields, weight_bound=None):
    design = Design(fields)
    cells = None
    if len(design.numbers):
        size = len(design.numbers)
        far = np.full(size, np.inf)
        ruler = Ruler(np.zeros(size), np.full(size, 40), 4)
        cells = CellKernel(ruler, -far, far, Missing.PAIRWISE)
    return FieldKernel(design, cells, Missing.PAIRWISE, weight_bound).sum_over([rows])


@pytest.mark.claim("P26")
def test_a_share_of_cells_is_one_unless_gaps_stand_out_of_the_noise():
    """Noise of 10 rows, and so 30 gaps that do not."""
    rows = np.ones((N_ROWS, 5))
    for place, gaps in enumerate((0, 29, 31, 400, 1000)):
        rows[:gaps, place] = np.nan
    counts = fields_of(rows, *map(Field, "abcde"))
    payment, stream = paying(10.0, 5, 1), RandomStream.from_seed(1)
    found = steps.find_observed(counts, np.arange(5), payment, stream)
    assert steps.observed_shares(found, Tuning()).tolist() == [1.0, 1.0, 0.969, 0.6, 0.05]


@pytest.mark.claim("P26")
def test_shares_of_levels_add_up_to_one_in_each_category(monkeypatch):
    levels = Field("a", ("u", "v", "w")), Field("b", ("y", "z")), Field("c", ("s", "t"))
    rows = np.full((10, 3), np.nan)
    rows[:8, 0] = [0, 0, 0, 0, 2, 2, 1, 1]
    rows[:, 1] = 1
    counts = fields_of(rows, *levels)
    found = steps.find_levels(counts, CHEAP, RandomStream.from_seed(1))
    shares = steps.level_shares(counts.design, found)
    assert [own.tolist() for own in shares] == [[0.5, 0.25, 0.25], [0.0, 1.0], [0.5, 0.5]]
    monkeypatch.setattr(noisy, "add_noise", lambda sums, *_: sums - sums.max() // 4)
    found = steps.find_levels(counts, CHEAP, RandomStream.from_seed(1))
    shares = steps.level_shares(counts.design, found)
    assert [own.tolist() for own in shares] == [[1.0, 0.0, 0.0], [0.0, 1.0], [0.5, 0.5]]


@pytest.mark.claim("P27")
def test_weights_and_their_squares_are_averages_in_units_of_the_bound():
    rows = np.column_stack([np.ones(4), [1.0, 2.0, 4.0, 9.0]])
    counts = fields_of(rows, Field("a"), weight_bound=4.0)
    payment = Payment(multiplier=3.0, rows_per_unit=2)
    found = steps.find_weights(counts, payment, RandomStream.from_seed(1))
    assert found.values.tolist() == [2.75 / 4, (1 / 16 + 1 / 4 + 2) / 4]
    # 3 multipliers · 2 rows · √2 for two sums.
    assert found.sd == pytest.approx(6 * math.sqrt(2) / 4, rel=1e-6)
    assert WEIGHT_STEPS == 2**20


@pytest.mark.claim("P24")
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("limit", [1e-6, 3.0, 1e9])
def test_a_cell_stands_for_its_distance_in_whole_steps_and_for_no_more(power, limit):
    ruler, centers = Ruler(np.zeros(2), np.full(2, 40), 2), np.array([5.0, -3.0])
    value = steps._limited(SimpleNamespace(ruler=ruler), centers, np.full(2, limit), 1000, power)
    index = np.arange(ruler.n_bins)
    for column, center in enumerate(centers):
        cells = ruler.nearest(index, np.array([column]))
        inside = [max(-1.0, min(1.0, (cell - center) / limit)) for cell in cells]
        expected = [round(each**power * 1000) for each in inside]
        assert value(np.array([column]), index).tolist() == expected
