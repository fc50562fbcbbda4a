"""Whether facts and a table fit: what is found, and what is not shown."""

import pandas as pd
import pytest

from dpcov.sensitive.tables.checking import check_facts


def frame(*labels):
    return pd.DataFrame({label: [1.0, 2.0] for label in labels})


def names(check):
    return [column.field.name for column in check.columns]


def test_stated_columns_and_those_of_patterns_would_be_read():
    check = check_facts(frame("A1", "A2", "age", "note"), {"A*": (1, 6), "age": {}})
    assert names(check) == ["A1", "A2", "age"]
    assert check.problems == ()
    assert (check.unused, check.n_unused) == (("note",), 1)


@pytest.mark.claim("P8")
def test_a_name_that_a_pattern_found_and_that_may_be_a_cell_is_not_shown():
    check = check_facts(frame("age", "36 Main Street"), {"age": {}, "36*": {}})
    assert names(check) == ["age"]
    (problem,) = check.problems
    assert "column 2 of the table looks like a value" in problem
    assert "Main" not in repr(check)


def test_a_stated_name_may_look_like_a_value():
    check = check_facts(frame("age", "2020"), {"age": {}, "2020": {}})
    assert names(check) == ["age", "2020"]
    assert check.problems == ()
