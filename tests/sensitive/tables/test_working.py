"""Rows in working units."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from designs import numbers
from dpcov.columns import Column, Columns
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.working import FAR, Reading, Weighing, WorkingSource

FACTS = Columns(
    [
        Column("age", lower=0, upper=100),
        Column("income", center=2000, scale=500),
        Column("score", lower=-1, upper=3, center=0, scale=2),
    ]
)


def test_cells_are_clipped_centered_and_scaled():
    reading = Reading.of(numbers(3), FACTS.facts)
    rows = np.array([[50.0, 2500.0, 5.0], [200.0, 2000.0, -9.0], [-5.0, 1e9, 1.0]])
    expected = [[0.0, 1.0, 1.5], [1.0, 0.0, -0.5], [-1.0, (1e9 - 2000) / 500, 0.5]]
    assert np.array_equal(reading.read(rows), expected)


def test_an_open_end_does_not_clip():
    facts = Columns.from_mapping({"a": (0, None), "b": (None, 1)}).facts
    reading = Reading.of(numbers(2), facts)
    assert not reading.is_plain
    assert reading.read(np.array([[-5.0, -5.0], [5.0, 5.0]])).tolist() == [[0, -6], [5, 0]]


@pytest.mark.parametrize(
    ("fact", "expected"),
    [((None, 0), [0, 4]), ({"center": 5}, [-1, 4]), ({"scale": 2}, [2, 4])],
)
def test_what_is_stated_of_one_column_alone_is_done_to_it(fact, expected):
    reading = Reading.of(numbers(2), Columns.from_mapping({"a": fact, "b": {}}).facts)
    assert reading.read(np.array([[4.0, 4.0]])).tolist() == [expected]


def test_missing_and_infinite_cells_are_not_clipped_to_a_bound():
    cells = Reading.of(numbers(3), FACTS.facts).read(np.array([[np.nan, np.inf, -np.inf]]))
    assert np.isnan(cells[0, 0])
    assert np.isinf(cells[0, 1:]).all()


@pytest.mark.claim("P28")
def test_levels_are_taken_to_be_equally_likely_where_nothing_is_learned():
    design = Design((Field("a"), Field("b", ("x", "y", "z", "w")), Field("c", ("u", "v"))))
    reading = Reading.of(design, fills=True)
    values = reading.read(np.array([[7.0, 2.0, np.nan]]))[0, : design.n_values]
    assert values.tolist() == [7.0, -0.25, -0.25, 0.75, -0.25, 0.0, 0.0]


def test_a_level_lies_between_0_and_1():
    design = Design((Field("a"), Field("b", ("x", "y"))))
    reading = Reading.of(design)
    assert reading.lower.tolist() == [-np.inf, 0.0, 0.0]
    assert reading.upper.tolist() == [np.inf, 1.0, 1.0]


@pytest.mark.parametrize(
    ("limits", "center", "cell"),
    [
        ((-0.3e308, 1.7e308), -0.2e308, 1.7e308),
        ((-1.7e308, 0.3e308), 0.2e308, -1.7e308),
        ((-np.inf, np.inf), -1e308, 1e308),
    ],
)
def test_a_cell_that_leaves_the_floats_is_far_away_and_not_missing(limits, center, cell):
    plain = Reading.of(numbers(1), fills=True)
    lower, upper = (np.array([each]) for each in limits)
    reading = replace(plain, lower=lower, upper=upper, center=np.array([center]))
    assert reading.read(np.array([[cell]])).tolist() == [[np.copysign(FAR, cell)]]


@pytest.mark.parametrize("cell", [1e308, -1e308])
def test_limits_that_leave_the_floats_beside_a_small_scale_are_far_away(cell):
    limits = {"lower": np.array([-1e308]), "upper": np.array([1e308])}
    reading = replace(Reading.of(numbers(1), fills=True), **limits, scale=np.array([1e-3]))
    assert reading.read(np.array([[cell]])).tolist() == [[np.copysign(FAR, cell)]]


def test_without_facts_a_block_is_not_touched():
    block = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert Reading.of(numbers(3)).read(block) is block
    assert Reading.of(numbers(3)).read_heard(block) is block


def test_missing_cells_are_filled_where_cells_are_taken_as_they_are():
    reading = Reading.of(numbers(2), fills=True)
    assert reading.read(np.array([[3.0, np.nan]])).tolist() == [[3.0, 0.0]]


@pytest.mark.claim("P27")
def test_rows_are_weighed_where_cells_are_taken_as_they_are():
    reading = replace(Reading.of(numbers(1)), weighing=Weighing(bound=4.0, constant=2.0))
    assert reading.read(np.array([[3.0, 1.0]])).tolist() == [[1.5, 1.0]]


@pytest.mark.claim("P2")
@given(hnp.arrays(float, (5, 3), elements=st.floats(-1e4, 1e4)), st.permutations(range(5)))
def test_a_row_is_read_alike_in_every_place_and_layout(rows, order):
    reading = Reading.of(numbers(3), FACTS.facts)
    moved = reading.read(np.asfortranarray(rows[order]))
    assert np.array_equal(moved, reading.read(rows)[order])


def test_a_working_source_keeps_names_and_number_of_rows():
    reading = Reading.of(Design.numbers_of("abc"), FACTS.facts)
    source = WorkingSource(open_table(np.ones((4, 3)), ["a", "b", "c"]), reading)
    assert source.columns == ("a", "b", "c")
    assert source.fields == tuple(Field(name, may_be_missing=False) for name in "abc")
    assert source.n_rows == 4
    assert [len(block) for block in source.blocks(3)] == [3, 1]


def test_a_finite_cell_that_leaves_the_floats_is_far_and_not_missing():
    reading = Reading.of(numbers(2), [Column("a", scale=1e-3), Column("b")])
    cells = reading.read(np.array([[1.7e308, 1.0], [-1.7e308, np.inf]]))
    assert np.isfinite(cells[:, 0]).all()
    assert cells[0, 0] == -cells[1, 0] > 1e308
    assert np.isinf(cells[1, 1])


LIMITED = Reading(
    np.array([0.0, -np.inf]),
    np.array([10.0, 5.0]),
    np.array([4.0, 1.0]),
    np.array([2.0, 0.5]),
    design=numbers(2),
    observed=np.empty(0),
)


def test_cells_are_limited_in_own_units_before_they_are_centered_and_scaled():
    rows = np.array([[12.0, 9.0], [-3.0, -1e9], [5.0, 1.5]])
    assert LIMITED.read(rows).tolist() == [[3.0, 8.0], [-2.0, -2e9 - 2], [0.5, 1.0]]
    assert LIMITED.read(np.array([[True, False]])).tolist() == [[-1.5, -2.0]]
    assert LIMITED.units.scale.tolist() == [2.0, 0.5]


def test_limits_leave_missing_and_infinite_cells_as_they_are():
    cells = LIMITED.read(np.array([[np.nan, np.inf], [-np.inf, 1.0]]))
    assert np.isnan(cells[0, 0])
    assert cells[0, 1] == np.inf
    assert cells[1].tolist() == [-np.inf, 0.0]


def test_a_finite_cell_far_beyond_small_scales_is_not_missing():
    reading = Reading.of(numbers(1), [Column("a", scale=1e-9)])
    assert np.isfinite(reading.read(np.array([[1.7e308], [-1.7e308]]))).all()


@pytest.mark.claim("P2")
@given(hnp.arrays(float, (5, 2)), st.permutations(range(5)))
def test_a_limited_row_is_read_alike_in_every_place_and_layout(rows, order):
    moved = LIMITED.read(np.asfortranarray(rows[order]))
    assert np.array_equal(moved, LIMITED.read(rows)[order], equal_nan=True)


GAPPED = Reading.of(
    Design.of([Field("a"), Field("b", may_be_missing=False), Field("c")], gaps=True), fills=True
)


@pytest.mark.claim("P28")
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, 9), st.just(3)),
        elements=st.sampled_from([0.0, -2.5, 1e300, np.nan, np.inf]),
    )
)
def test_a_block_comes_without_indicators_only_if_all_of_them_are_zero(rows):
    whole, short = GAPPED.read(rows), GAPPED.read_heard(rows)
    assert whole.shape[1] == 5
    assert short.shape[1] == (3 if np.isfinite(rows).all() else 5)
    assert not whole[:, short.shape[1] :].any()
    assert np.array_equal(whole[:, : short.shape[1]], short)


def test_indicators_that_are_never_zero_are_always_there():
    rows = np.ones((4, 3))
    assert replace(GAPPED, observed=np.array([1.0, 0.9])).read_heard(rows).shape[1] == 5
    weighing = replace(GAPPED, weighing=Weighing(bound=1.0, constant=1.0))
    assert weighing.read_heard(np.ones((4, 4))).shape[1] == 6


@pytest.mark.claim("P28")
def test_the_gaps_of_the_only_column_that_has_some_are_marked():
    design = Design.of([Field("a"), Field("b", may_be_missing=False)], gaps=True)
    reading = Reading.of(design, fills=True)
    rows = np.array([[7.0, 2.0], [np.nan, 2.0]])
    marked = replace(reading, observed=np.array([0.75]))
    assert marked.read(rows).tolist() == [[7.0, 2.0, 0.25], [0.0, 2.0, -0.75]]
    assert marked.read(rows[:1]).tolist() == [[7.0, 2.0, 0.25]]
    assert reading.read_heard(rows).tolist() == [[7.0, 2.0, 0.0], [0.0, 2.0, -1.0]]
    assert reading.read_heard(rows[:1]).tolist() == [[7.0, 2.0]]
