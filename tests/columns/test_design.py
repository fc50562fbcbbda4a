"""Which working columns the columns of a table become."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import ParameterError


@st.composite
def designs(draw):
    """Return any columns: numbers and categories, with and without gaps."""
    kinds = draw(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=6))
    return Design(
        tuple(
            Field(
                f"c{place}",
                tuple(f"l{level}" for level in range(size)) if size else None,
                may_be_missing,
            )
            for place, (size, may_be_missing) in enumerate(kinds)
        )
    )


@given(designs())
def test_every_working_column_has_one_origin(design):
    assert len(design.working_names) == len(set(design.working_names)) == design.n_working
    assert design.n_values == len(design.names) == len(design.field_of) == len(design.gap_of)
    for place, name in enumerate(design.names):
        field = design.fields[design.field_of[place]]
        assert name.partition("=")[0] == field.name
        assert design.is_number[place] == (field.levels is None)
        gap = design.gap_of[place]
        assert (gap >= 0) == field.may_be_missing
        if gap >= 0:
            assert design.working_names[design.n_values + gap] == f"observed({field.name})"


@given(designs())
def test_numbers_and_groups_of_levels_are_all_values(design):
    covered = [*design.value_of[design.numbers].tolist()]
    for place, group in zip(design.categories.tolist(), design.groups, strict=True):
        assert group.stop - group.start == design.n_levels(place)
        covered += range(group.start, group.stop)
    assert sorted(covered) == list(range(design.n_values))
    assert sorted([*design.numbers, *design.categories]) == list(range(len(design.fields)))


@given(designs())
def test_only_numbers_without_gaps_are_plain(design):
    assert design.is_plain == all(
        field.levels is None and not field.may_be_missing for field in design.fields
    )
    complete = Design.of(design.fields, gaps=False)
    assert complete.n_gaps == 0
    assert complete.names == design.names
    assert Design.of(design.fields, gaps=True) == design


def test_columns_that_get_the_same_name_are_refused():
    with pytest.raises(ParameterError, match="rename one"):
        Design((Field("sex", ("f", "m")), Field("sex=f")))
    with pytest.raises(ParameterError, match="at least one column"):
        Design(())


def test_a_design_is_a_function_of_its_fields():
    one, other = (Design((Field("a"), Field("s", ("f", "m")))) for _ in range(2))
    assert one == other
    assert np.array_equal(one.gap_of, other.gap_of)
