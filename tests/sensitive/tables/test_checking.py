"""Whether facts and a table fit: what is found, and what is not shown."""

import numpy as np
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


@pytest.mark.claim("P8")
def test_without_a_stated_name_that_is_there_no_other_is_shown():
    check = check_facts(frame("agnes", "berta"), {"agnas": {}})
    assert check.problems == ("The table has no column 'agnas'.",)
    assert (check.unused, check.n_unused) == ((), 2)


@pytest.mark.claim("P8")
@pytest.mark.parametrize("header", [None, True])
def test_names_that_look_like_values_are_shown_if_they_are_said_to_be_names(header):
    check = check_facts(frame("age", "36 Main Street"), {"age": {}}, header=header)
    assert check.unused == (("36 Main Street",) if header else ())
    assert check.n_unused == 1


def test_the_names_of_an_array_may_be_shown():
    check = check_facts(np.ones((3, 2)), {"y0": {}})
    assert check.problems == ("The table has no column 'y0'.",)
    assert check.unused == ("x0", "x1")


def test_a_pattern_that_finds_nothing_does_not_hide_the_other_columns():
    check = check_facts(frame("age"), {"age": {}, "B*": {}})
    assert names(check) == ["age"]
    assert len(check.problems) == 1


@pytest.mark.parametrize("facts", [{}, ["age"]])
def test_facts_that_state_no_column_are_a_problem(facts):
    check = check_facts(frame("age"), facts)
    assert len(check.problems) == 1
    assert (check.columns, check.unused, check.n_unused) == ((), (), 0)
