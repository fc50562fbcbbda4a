"""Claim P1, the formula. The bound itself is tested on quantized integers with the mechanism."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import (
    Neighbors,
    frobenius_sensitivity,
    squared_moment_sensitivity,
    squared_variance_sensitivity,
)
from dpcov.privacy.sensitivity import squared_cell_sensitivity, squared_level_sensitivity


@pytest.mark.parametrize(
    ("row_norm", "relation"),
    [(-1, "replace"), (-0.5, "replace"), (0, "replace"), (1, "swap"), ("a", "replace")],
)
def test_impossible_questions_are_refused(row_norm, relation):
    with pytest.raises(ParameterError):
        frobenius_sensitivity(row_norm, relation)


@pytest.mark.claim("P1")
@given(st.floats(1e-20, 1e20))
def test_the_sensitivity_is_rounded_up_and_hardly_so(row_norm):
    for neighbors, squared in (("replace", 2), ("add-remove", 1), ("local", 2)):
        exact = squared * Fraction(row_norm) ** 4
        computed = Fraction(frobenius_sensitivity(row_norm, Neighbors(neighbors))) ** 2
        assert exact <= computed <= exact * (1 + Fraction(1, 2**45))


CELL = st.integers(-6, 6)
NORM, CONSTANT = 49, 3  # rows of squared norm at most 49


def short(row):
    return sum(cell**2 for cell in row) <= NORM


def moved(rows, others):
    """Return the squared Frobenius norm of Σ y yᵀ − Σ z zᵀ, in integers."""
    total = [[0] * 4 for _ in range(4)]
    for sign, table in ((1, rows), (-1, others)):
        for row in table:
            full = (*row, CONSTANT)
            for i in range(4):
                for j in range(4):
                    total[i][j] += sign * full[i] * full[j]
    return sum(entry**2 for line in total for entry in line)


ROW = st.tuples(CELL, CELL, CELL).filter(short)


@pytest.mark.claim("P17")
@given(st.lists(ROW, min_size=1, max_size=3), st.data())
def test_rows_with_a_constant_move_the_sum_no_further_than_claimed(rows, data):
    others = data.draw(st.lists(ROW, min_size=len(rows), max_size=len(rows)))
    facts = {"squared_norm": NORM, "constant": CONSTANT, "rows": len(rows)}
    assert moved(rows, others) <= squared_moment_sensitivity(Neighbors.REPLACE, **facts)
    nothing = [(0, 0, 0)] * len(rows)
    assert moved(rows, nothing) <= squared_moment_sensitivity(Neighbors.ADD_REMOVE, **facts)


@pytest.mark.claim("P17")
def test_the_bound_for_a_constant_is_attained():
    """Rows (7, 0, 0) apart by an angle of cosine −9/49 are as far apart as can be."""
    row, other = (7.0, 0.0, 0.0), (-9 / 7, (49 - 81 / 49) ** 0.5, 0.0)
    found = moved([row], [other])
    wanted = squared_moment_sensitivity(Neighbors.REPLACE, squared_norm=NORM, constant=CONSTANT)
    assert found == pytest.approx(wanted)
    found = moved([row], [(0, 0, 0)])
    wanted = squared_moment_sensitivity(Neighbors.ADD_REMOVE, squared_norm=NORM, constant=CONSTANT)
    assert found == wanted
    assert moved([row] * 3, [(0, 0, 0)] * 3) == 9 * wanted


def test_without_a_constant_it_is_the_plain_sensitivity():
    for relation in Neighbors:
        exact = squared_moment_sensitivity(relation, squared_norm=1)
        assert frobenius_sensitivity(1.0, relation) ** 2 == pytest.approx(exact)


CELLS = range(-3, 4)
SHORT = [row for row in product(CELLS, repeat=2) if row[0] ** 2 + row[1] ** 2 <= 10]


def moved_variances(rows, others, weight):
    """Return how far Σ x_i² and w Σ x_i are apart, squared, in integers."""
    total = 0
    for column, other in zip(zip(*rows, strict=True), zip(*others, strict=True), strict=True):
        total += (sum(c**2 for c in column) - sum(c**2 for c in other)) ** 2
        total += (weight * (sum(column) - sum(other))) ** 2
    return total


@pytest.mark.claim("P10")
@pytest.mark.parametrize("weight", range(4))
def test_all_small_rows_move_squares_and_cells_no_further_than_claimed(weight):
    facts = {"squared_norm": 10, "cell_bound": 3, "weight": weight}
    replaced = max(moved_variances([x], [y], weight) for x, y in product(SHORT, repeat=2))
    removed = max(moved_variances([x], [(0, 0)], weight) for x in SHORT)
    assert replaced <= squared_variance_sensitivity(Neighbors.REPLACE, **facts)
    assert removed == squared_variance_sensitivity(Neighbors.ADD_REMOVE, **facts) - (90 - 82)


@pytest.mark.claim("P10")
@given(st.lists(st.sampled_from(SHORT), min_size=1, max_size=3), st.data(), st.integers(0, 3))
def test_several_rows_move_squares_and_cells_no_further_than_claimed(rows, data, weight):
    size = len(rows)
    others = data.draw(st.lists(st.sampled_from(SHORT), min_size=size, max_size=size))
    facts = {"squared_norm": 10, "cell_bound": 3, "weight": weight, "rows": size}
    claimed = squared_variance_sensitivity(Neighbors.REPLACE, **facts)
    assert moved_variances(rows, others, weight) <= claimed
    claimed = squared_variance_sensitivity(Neighbors.ADD_REMOVE, **facts)
    assert moved_variances(rows, [(0, 0)] * size, weight) <= claimed


@pytest.mark.claim("P10")
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 1.0])
def test_the_bound_for_squares_and_cells_is_hardly_too_large(share):
    """Two rows that are long in different columns, with a little on the other side of zero."""
    weight = Fraction(share**0.5)
    attained = 0
    for step in range(101):
        little = Fraction(share * step / 100)
        row, other = (Fraction(1), -little), (-little, Fraction(1))
        norm = 1 + little**2
        claimed = squared_variance_sensitivity(
            Neighbors.REPLACE, squared_norm=norm, cell_bound=1, weight=weight
        )
        found = moved_variances([row], [other], weight) / claimed
        assert found <= 1
        attained = max(attained, found)
    assert attained > 1 - share**2 / 50


@pytest.mark.parametrize("relation", list(Neighbors))
def test_without_cells_squares_move_as_before(relation):
    factor = 1 if relation is Neighbors.ADD_REMOVE else 2
    facts = {"squared_norm": 25, "cell_bound": 3, "rows": 2}
    assert squared_variance_sensitivity(relation, **facts) == factor * 4 * 25 * 9


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("relation", list(Neighbors))
def test_several_rows_of_one_person_move_sums_so_many_times_as_far(relation, rows):
    for bound in (
        lambda **rows: squared_moment_sensitivity(relation, squared_norm=9, constant=2, **rows),
        lambda **rows: squared_variance_sensitivity(
            relation, squared_norm=9, cell_bound=2, weight=1, **rows
        ),
        lambda **rows: squared_cell_sensitivity(low=-1, high=2, columns=3, **rows),
        lambda **rows: squared_level_sensitivity(categories=3, **rows),
    ):
        assert bound(rows=rows) == rows**2 * bound()
        assert bound() > 0


@pytest.mark.claim("P22")
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 3), (2, 5), (-4, -1), (-2, 3)])
def test_a_cell_that_appears_or_is_replaced_moves_a_sum_as_far_as_claimed(low, high):
    counted = [0, *range(low, high + 1)]  # a missing cell is 0
    furthest = max((one - other) ** 2 for one in counted for other in counted)
    assert squared_cell_sensitivity(low=low, high=high) == furthest
    assert squared_cell_sensitivity(low=low, high=high, columns=3) == 3 * furthest


@pytest.mark.claim("P26")
def test_another_level_of_each_category_moves_the_counts_as_far_as_claimed():
    counts = [tuple(int(level == own) for level in range(3)) for own in range(3)]
    furthest = max(
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        for one in (*counts, (0, 0, 0))
        for other in counts
    )
    assert [squared_level_sensitivity(categories=k) for k in (1, 2, 5)] == [
        k * furthest for k in (1, 2, 5)
    ]
