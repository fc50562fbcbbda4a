"""Counts of cells that are there, and of levels (P26)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.errors import MissingValueError, ParameterError
from dpcov.mechanisms.learning.stated import Stated
from dpcov.privacy.sensitivity import squared_cell_sensitivity, squared_level_sensitivity
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import FieldCounts, FieldKernel
from dpcov.sensitive.tables.working import Reading, take_apart

DESIGN = Design(
    (
        Field("a"),
        Field("sex", ("f", "m", "x")),
        Field("b", may_be_missing=False),
        Field("answer", ("no", "yes")),
    )
)
OPEN = DESIGN.with_gaps
STATED = Stated.of([None] * 4, DESIGN)
KERNEL = FieldKernel(
    DESIGN,
    CellKernel(STATED.ruler(), STATED.lower, STATED.upper, Missing.PAIRWISE),
    Missing.PAIRWISE,
)
ODD = [np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e300, 5e-324]
cells = st.one_of(st.sampled_from(ODD), st.floats(-5, 5))
rows = hnp.arrays(float, 4, elements=cells)
OTHERS = np.array([[1.0, 0.0, 2.0, 1.0], [np.nan, 2.0, 3.0, np.nan], [4.0, np.nan, 1.0, 0.0]])


def counted(*own):
    return KERNEL.sum_over([np.array([*OTHERS, *own])])


def moved(one, other):
    return int(((one - other) ** 2).sum())


@pytest.mark.claim("P26")
@given(rows, rows, st.integers(1, 3))
def test_a_person_moves_the_counts_no_further_than_claimed(row, other, m):
    one, two, without = counted(*[row] * m), counted(*[other] * m), counted()
    k = squared_cell_sensitivity(low=0, high=1, columns=DESIGN.n_gaps, rows=m)
    levels = squared_level_sensitivity(categories=len(DESIGN.categories), rows=m)
    for counts in (two, without):
        assert moved(one.observed(OPEN), counts.observed(OPEN)) <= k == 3 * m**2
        assert moved(one.levels, counts.levels) <= levels == 4 * m**2


@pytest.mark.claim("P26")
@pytest.mark.parametrize("m", [1, 3])
def test_the_bounds_on_counts_are_attained(m):
    nothing, first, last = (
        counted(*[np.array(row)] * m)
        for row in ([np.nan] * 4, [1.0, 0.0, 1.0, 0.0], [1.0, 2.0, 1.0, 1.0])
    )
    assert moved(nothing.observed(OPEN), first.observed(OPEN)) == 3 * m**2
    assert moved(first.levels, last.levels) == 4 * m**2


@pytest.mark.claim("P26")
@given(hnp.arrays(float, (5, 4), elements=cells), st.permutations(range(5)), st.integers(1, 5))
def test_blocks_and_order_of_rows_are_not_seen(table, order, size):
    whole = KERNEL.sum_over([table])
    again = table[order]
    assert KERNEL.sum_over([again[start : start + size] for start in range(0, 5, size)]) == whole
    assert KERNEL.sum_over([table[:2]]) + KERNEL.sum_over([table[2:]]) == whole


@given(hnp.arrays(float, (6, 4), elements=cells))
def test_counts_are_those_of_the_values_that_rows_become(table):
    counts, values = KERNEL.sum_over([table]), take_apart(table, DESIGN)
    there = np.isfinite(values)
    assert counts.observed(OPEN).tolist() == there[:, [0, 1, 5]].sum(axis=0).tolist()
    for group, found in zip(DESIGN.groups, np.split(counts.levels, [3]), strict=True):
        assert found.tolist() == np.nansum(values[:, group], axis=0).tolist()


@pytest.mark.claim("P28")
@given(rows, hnp.arrays(float, (3, 4), elements=cells))
def test_a_working_row_is_a_function_of_its_own_row(row, others):
    reading = Reading.of(DESIGN, fills=True)
    alone = reading.read(row[None])
    assert np.isfinite(alone).all()
    for place in range(4):
        among = np.insert(others, place, row, axis=0)
        assert np.array_equal(reading.read(among)[place], alone[0])
        assert np.array_equal(reading.read(np.asfortranarray(among))[place], alone[0])


@pytest.mark.claim("P28")
@given(rows)
def test_a_missing_cell_is_zero_and_its_indicator_says_so(row):
    reading = Reading.of(DESIGN, fills=True)
    (working,) = reading.read(row[None])
    values, gaps = working[: DESIGN.n_values], working[DESIGN.n_values :]
    there = np.isfinite(take_apart(row[None], DESIGN)[0])
    assert not values[~there].any()
    shares = np.array([0.0, 0.0, 0.0]) + there[[0, 1, 5]] - 1
    assert np.array_equal(gaps, shares)


@given(hnp.arrays(float, (4, 4), elements=cells))
def test_a_category_has_one_level_or_none(table):
    for group in DESIGN.groups:
        levels = take_apart(table, DESIGN)[:, group]
        total = levels.sum(axis=1)
        assert np.isin(total[~np.isnan(total)], 1.0).all()
        assert (np.isnan(levels).all(axis=1) == np.isnan(total)).all()


@pytest.mark.claim("P8")
@pytest.mark.parametrize("others", [0, 1, 3])
def test_what_is_no_level_is_refused_where_gaps_are(others):
    strict = FieldKernel(DESIGN, None, Missing.REFUSE)
    complete = [[1.0, 2.0, 1.0, 1.0]] * others
    strict.sum_over([np.array(complete).reshape(-1, 4)])
    with pytest.raises(MissingValueError):
        strict.sum_over([np.array([*complete, [1.0, 7.0, 1.0, 1.0]])])


def test_counts_of_other_columns_do_not_merge():
    other = Design((*DESIGN.fields[:3], Field("answer", ("never", "ever"))))
    levels = FieldKernel(other, KERNEL.cells, Missing.PAIRWISE).sum_over([OTHERS])
    with pytest.raises(ParameterError, match="only for the same columns"):
        counted() + levels
    with pytest.raises(TypeError):
        counted() + 1


def test_counts_are_equal_only_if_all_of_them_are():
    found = counted()
    facts = {
        "levels": found.levels,
        "cells": found.cells,
        "weights": found.weights,
        "n_rows": found.n_rows,
        "design": DESIGN,
    }
    assert FieldCounts(**facts) == found
    others = {
        "levels": found.levels[::-1],
        "cells": counted(OTHERS[0]).cells,
        "weights": found.weights + 1,
        "n_rows": found.n_rows + 1,
        "design": Design((*DESIGN.fields[:3], Field("answer", ("never", "ever")))),
    }
    for name, other in others.items():
        assert FieldCounts(**{**facts, name: other}) != found
    assert FieldCounts(**others) != found
