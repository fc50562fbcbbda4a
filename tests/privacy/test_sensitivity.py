"""Claim P1, the formula. The bound itself is tested on quantized integers with the mechanism."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import Neighbors, frobenius_sensitivity, squared_moment_sensitivity


@pytest.mark.parametrize(("row_norm", "relation"), [(-1, "replace"), (1, "swap"), ("a", "replace")])
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
