"""Learning as a whole: the same from every engine, and what it refuses."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dpcov
from designs import numbers
from dpcov.columns.missing import Missing
from dpcov.errors import InputError, MissingValueError, ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning import stated as stated_facts
from dpcov.mechanisms.learning.budget import split_budget
from dpcov.mechanisms.learning.learn import learn, learn_columns
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import Tuning
from dpcov.privacy import ApproxDP
from dpcov.releases.learned import Known
from dpcov.sensitive.engines.dask_engine import DaskEngine
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import FieldKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.workers.schedulers import ThreadScheduler
from wiring.learning import same

ROWS = np.random.default_rng(0).lognormal(size=(3001, 4)) * [1.0, -1e9, 1e-6, 50.0]
NAN = np.nan


def learned_from(source, facts=None, engine=None, missing=Missing.REFUSE, seed=9, **tuning):
    facts = Stated.nothing(4) if facts is None else facts
    promise = ApproxDP(3.0, 1e-6, "replace")
    return learn(
        source,
        facts,
        split_budget(promise, facts),
        missing=missing,
        engine=engine or SerialEngine(),
        stream=RandomStream.from_seed(seed),
        tuning=Tuning(**tuning),
    )


ALL = Stated(
    lower=np.full(4, -np.inf),
    upper=np.array([np.inf, np.inf, np.inf, 500.0]),
    center=np.array([1.6, -1.6e9, 1.6e-6, 80.0]),
    scale=np.array([2.0, 2e9, 2e-6, 100.0]),
    design=numbers(4),
)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("stated", [{}, {"facts": ALL}], ids=["nothing", "all"])
@pytest.mark.parametrize("parts", [2, 5])
def test_pieces_and_blocks_are_not_seen(parts, stated, monkeypatch):
    whole = learned_from(open_table(ROWS), **stated)
    engine = DaskEngine(ThreadScheduler(), parts=parts)
    assert same(learned_from(open_table(ROWS), engine=engine, **stated), whole)
    for kernel in (CellKernel, NormBinsKernel):
        monkeypatch.setattr(kernel, "block_rows", 97)
    assert same(learned_from(open_table(ROWS), **stated), whole)


@pytest.mark.claim("P7")
def test_a_dask_array_is_learned_from_as_a_table_is():
    scheduler = ThreadScheduler()
    source = open_table(da.from_array(ROWS, chunks=(1000, 3)), scheduler=scheduler)
    whole = learned_from(open_table(ROWS))
    assert same(learned_from(source, engine=DaskEngine(scheduler)), whole)


def test_what_is_stated_is_used_and_marked():
    facts = Stated(
        lower=np.array([0.0, -np.inf, -np.inf, 0.0]),
        upper=np.array([9.0, 0.0, np.inf, np.inf]),
        center=np.array([NAN, NAN, NAN, 80.0]),
        scale=np.array([NAN, NAN, 2e-6, 70.0]),
        design=numbers(4),
    )
    lesson = learned_from(open_table(ROWS), facts)
    reading, found = lesson.reading, lesson.learned
    assert found.known_range.tolist() == [Known.STATED, Known.LEARNED, Known.LEARNED, Known.STATED]
    assert found.known_center.tolist() == [Known.LEARNED] * 3 + [Known.STATED]
    assert found.known_scale.tolist() == [Known.LEARNED] * 2 + [Known.STATED] * 2
    assert reading.center[3] == 80.0
    assert reading.scale[2:].tolist() == [2e-6, 70.0]
    assert (found.lower >= facts.lower).all()
    assert (found.upper <= facts.upper).all()
    assert np.array_equal(reading.lower, found.lower)
    assert np.array_equal(reading.upper, found.upper)
    names = ["range", "center", "limit", "mean", "scale", "beyond", "radius", "clipping"]
    assert [event.name for event in lesson.events] == names


def test_what_is_stated_of_all_columns_is_how_they_are_read():
    lesson = learned_from(open_table(ROWS), ALL)
    for name in ("center", "scale"):
        assert np.array_equal(getattr(lesson.reading, name), getattr(ALL, name))
    for known in ("range", "center", "scale"):
        assert (getattr(lesson.learned, f"known_{known}") == Known.STATED).all()
    assert [event.name for event in lesson.events] == ["beyond", "radius", "clipping"]
    squared = (lesson.reading.read(ROWS) ** 2).sum(axis=1)
    clipping = lesson.learned.clipping
    longer = (squared > lesson.row_norm**2).mean()
    assert clipping.share == pytest.approx(longer, abs=5 * clipping.share_error)


@pytest.mark.parametrize("facts", [None, ALL], ids=["nothing", "all"])
def test_the_rows_are_read_twice(facts):
    source = _Counted(open_table(ROWS))
    learned_from(source, facts)
    assert source.readings == 2


class _Counted:
    def __init__(self, source):
        self._source, self.readings = source, 0
        self.columns, self.fields, self.n_rows = source.columns, source.fields, source.n_rows

    def blocks(self, size):
        self.readings += 1
        return self._source.blocks(size)


def test_missing_cells_are_refused_or_count_for_nothing():
    rows = ROWS.copy()
    rows[::3, 0] = NAN
    with pytest.raises(MissingValueError):
        learned_from(open_table(rows))
    found = learned_from(open_table(rows), missing=Missing.CENTER).learned
    complete = learned_from(open_table(ROWS)).learned
    assert found.upper[0] == pytest.approx(complete.upper[0], rel=0.5)


def test_a_table_of_nothing_but_gaps_is_learned_from_without_a_word():
    rows = np.full((200, 4), NAN)
    lesson = learned_from(open_table(rows), missing=Missing.CENTER)
    assert np.isfinite(lesson.reading.scale).all()
    assert lesson.row_norm > 0
    clipping = lesson.learned.clipping
    assert abs(clipping.share) < 6 * clipping.share_error
    assert abs(clipping.excess) < 6 * clipping.excess_error


@pytest.mark.parametrize("offset", [0.0, 1e-100, 1e15, 1e90])
@pytest.mark.parametrize("width", [1e-100, 1e-3, 1.0, 1e80])
def test_bounds_of_every_size_are_learned_within(offset, width):
    lower, upper = np.full(4, offset), np.full(4, max(offset + width, np.nextafter(offset, np.inf)))
    facts = replace(Stated.nothing(4), lower=lower, upper=upper)
    rows = lower + (upper - lower) * np.random.default_rng(1).random((300, 4))
    found = learned_from(open_table(rows), facts).learned
    assert (found.lower >= lower).all()
    assert (found.upper <= upper).all()


SIZES = [0.0] + [sign * 10.0**e for sign in (-1, 1) for e in (-100, -50, -13, 0, 15, 16, 50, 100)]
ANY_CELL = st.sampled_from([*SIZES, NAN, np.inf, -np.inf, 5e-324, 1e-320, -1e300, 1.7e308])


@st.composite
def column_facts(draw):
    ends = sorted([draw(st.sampled_from(SIZES)), draw(st.sampled_from(SIZES))])
    ends[1] = np.nextafter(ends[1], np.inf) if ends[0] == ends[1] != 1e100 else ends[1]
    lower = draw(st.sampled_from([ends[0], -np.inf]))
    upper = draw(st.sampled_from([ends[1], np.inf]))
    center = draw(
        st.sampled_from([NAN, float(np.clip(draw(st.sampled_from(SIZES)), lower, upper))])
    )
    scale = draw(st.sampled_from([NAN, 1e-100, 1.0, 1e100]))
    usual = lower < upper and not 0 < abs(upper) < 1e-100
    return (lower, upper, center, scale) if usual else (-np.inf, np.inf, NAN, scale)


@pytest.mark.claim("P23")
@given(
    st.lists(column_facts(), min_size=2, max_size=2),
    hnp.arrays(float, (3, 2), elements=ANY_CELL),
    st.sampled_from([1e-3, 1.0, 100.0]),
    st.integers(0, 2**32),
)
def test_no_cells_and_no_noise_are_refused_or_warned_of(columns, rows, epsilon, seed):
    lower, upper, center, scale = np.array(columns).T
    facts = Stated(lower=lower, upper=upper, center=center, scale=scale, design=numbers(len(lower)))
    budget = split_budget(ApproxDP(epsilon, 1e-6, "add-remove"), facts, rows_per_unit=9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stated_facts, "ruler_bits", lambda n_columns: 3)  # faster
        lesson = learn(
            open_table(rows),
            facts,
            budget,
            missing=Missing.CENTER,
            engine=SerialEngine(),
            stream=RandomStream.from_seed(seed),
        )
    reading = lesson.reading
    assert (facts.lower <= reading.lower).all()
    assert (reading.lower <= reading.center).all()
    assert (reading.center <= reading.upper).all()
    assert (reading.upper <= facts.upper).all()
    assert np.array_equal(reading.units.scale, reading.scale)


def test_other_columns_streams_and_empty_tables_are_refused():
    with pytest.raises(ParameterError, match="columns of the table"):
        learned_from(open_table(ROWS[:, :3]))
    with pytest.raises(InputError, match="no rows"):
        learned_from(_Rows(0))
    with pytest.raises(InputError, match="read only once"):
        learned_from(_Rows(None))


@pytest.mark.claim("P23")
@pytest.mark.parametrize(("facts", "paid"), [(Stated.nothing(4), ALL), (ALL, Stated.nothing(4))])
def test_a_budget_for_other_steps_is_refused_before_a_row_is_read(facts, paid):
    with pytest.raises(ParameterError, match="other steps"):
        learn(
            _Rows(9),
            facts,
            split_budget(ApproxDP(3.0, 1e-6, "replace"), paid),
            missing=Missing.REFUSE,
            engine=SerialEngine(),
            stream=RandomStream.from_seed(9),
        )


@pytest.mark.parametrize("weight", [None, 1.0])
def test_lengths_are_sought_about_that_of_a_typical_row(weight):
    """With weights it is shorter: a row that weighs a quarter of the bound is half as long."""
    ratios = []

    class Watched(SerialEngine):
        def run(self, name, source, kernel):
            if name == "lengths":
                squared = [(block**2).sum(axis=1) for block in source.blocks(1000)]
                middle = kernel.edges[len(kernel.edges) // 2]
                ratios.append(np.concatenate(squared).mean() / middle)
            return super().run(name, source, kernel)

    rows = np.random.default_rng(1).normal(size=(2000, 4))
    facts = Stated.nothing(4)
    if weight is not None:
        rows = np.column_stack([rows, np.full(2000, weight)])
        facts = replace(facts, weight_bound=4.0)
    learned_from(open_table(rows), facts, Watched())
    assert ratios == [pytest.approx(1.0, rel=0.3)]


class _Rows:
    columns = ("a", "b", "c", "d")

    def __init__(self, n_rows):
        self.n_rows = n_rows

    def blocks(self, size):
        pytest.fail("read a row")


def test_constants_beyond_what_the_budget_is_checked_for_are_refused():
    with pytest.raises(ParameterError, match="checked for"):
        Tuning(center_steps=17)
    with pytest.raises(ParameterError, match="checked for"):
        Tuning(cell_steps=1 << 13)
    with pytest.raises(ParameterError, match="checked for"):
        Tuning(radius_steps=17)


def test_few_answers_within_their_bounds_are_never_cut():
    """Most cells are zero, and a search for a tail would end anywhere."""
    rng = np.random.default_rng(4)
    yes, agrees, money = rng.random(1000) < 0.3, rng.integers(1, 6, 1000), rng.lognormal(7, 1, 1000)
    table = np.column_stack([yes, agrees, money])
    facts = {"x0": (0, 1), "x1": (1, 5), "x2": (0, 1e6)}
    for seed in range(20):
        release = dpcov.release(table, epsilon=0.5, delta=1e-6, columns=facts, seed=seed)
        lower, upper = release.limits
        assert lower[:2].tolist() == [0, 1]
        assert upper[:2].tolist() == [1, 5]
        assert [event.name for event in release.events][:2] == ["observed", "range"]  # of money
    answers = dict(list(facts.items())[:2])
    release = dpcov.release(table[:, :2], epsilon=0.5, delta=1e-6, columns=answers, seed=0)
    assert [event.name for event in release.events][:4] == ["observed", "center", "mean", "scale"]


def rare_answers(n_rows=20_000, shares=(0.03, 0.035, 0.04, 0.045, 0.05, 0.055, 0.06, 0.1, 0.3)):
    """Zeros and ones, of which about as many are ones as a search needs to end well."""
    return np.column_stack([np.arange(n_rows) < share * n_rows for share in shares]) * 1.0


def limits_of(rows, facts, seeds):
    kernel = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.REFUSE)
    counts = FieldKernel(facts.design, kernel, Missing.REFUSE, None).sum_over([rows])
    budget = split_budget(ApproxDP(1.0, 1e-6, "replace"), facts)
    for seed in range(seeds):
        stream = RandomStream.from_seed(seed)
        reading = learn_columns(counts, facts, budget, tuning=Tuning(), stream=stream).reading
        yield reading.lower, reading.upper


def test_stated_bounds_of_rare_answers_are_their_limits():
    """A search among zeros ended anywhere in one of 14 such columns."""
    facts = replace(Stated.nothing(9), lower=np.zeros(9), upper=np.ones(9))
    for lower, upper in limits_of(rare_answers(), facts, seeds=40):
        assert (lower == 0).all()
        assert (upper == 1).all()


def test_rare_answers_without_bounds_are_hardly_ever_cut():
    found = limits_of(rare_answers(), Stated.nothing(9), seeds=40)
    cut = [(lower > 0) | (upper < 1) for lower, upper in found]
    assert np.mean(cut) < 0.03


def test_a_narrow_share_within_wide_bounds_is_still_learned():
    """Its scale is: the bounds of answers are limits, and cost no noise if no cell is far."""
    rows = np.random.default_rng(3).normal(0.05, 0.01, size=(20_000, 2)).clip(0, 1)
    facts = replace(Stated.nothing(2), lower=np.zeros(2), upper=np.ones(2))
    kernel = CellKernel(facts.ruler(), facts.lower, facts.upper, Missing.REFUSE)
    counts = FieldKernel(facts.design, kernel, Missing.REFUSE, None).sum_over([rows])
    budget, stream = split_budget(ApproxDP(1.0, 1e-6, "replace"), facts), RandomStream.from_seed(0)
    reading = learn_columns(counts, facts, budget, tuning=Tuning(), stream=stream).reading
    assert (reading.upper == 1).all()
    assert (reading.scale < 0.05).all()
