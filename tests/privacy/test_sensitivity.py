"""Claim P1, the formula. The bound itself is tested on quantized integers with the mechanism."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import Neighbors, frobenius_sensitivity


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
