"""Claim P1, the formula. The bound itself is tested on quantized integers with the mechanism."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.privacy import Neighbors, frobenius_sensitivity


@pytest.mark.claim("P1")
@given(st.floats(1e-100, 1e100))
def test_the_sensitivity_is_rounded_up_and_hardly_so(row_norm):
    for neighbors, squared in ((Neighbors.REPLACE, 2), (Neighbors.ADD_REMOVE, 1)):
        exact = squared * Fraction(row_norm) ** 4
        computed = Fraction(frobenius_sensitivity(row_norm, neighbors)) ** 2
        assert exact <= computed <= exact * (1 + Fraction(1, 2**45))
