"""Names that every program takes."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.exported import ODD_NAMES
from dpcov.answers.exports.legal_names import legal_names

SPSS = {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"}
R = {"if", "else", "for", "in", "na", "true", "null", "function", "t", "f"}


def are_legal(names):
    return (
        all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*[A-Za-z0-9]|[A-Za-z]", name) for name in names)
        and max(map(len, names)) <= 64
        and len({name.lower() for name in names}) == len(names)
        and not {name.lower() for name in names} & (SPSS | R)
    )


@settings(max_examples=50)
@given(st.lists(st.text(max_size=80), min_size=1, max_size=5))
def test_whatever_columns_are_called_their_names_are_legal_and_differ(names):
    assert are_legal(legal_names(names))


@given(st.lists(st.sampled_from(["a b", "A_B", "a_b_2", "x" * 90, "x" * 91, "TO", "to", "", "é"])))
def test_names_that_collide_are_told_apart(names):
    assert not names or are_legal(legal_names(names))


def test_odd_names_become_legal():
    assert are_legal(legal_names(ODD_NAMES))


def test_a_plain_name_stays_what_it_is():
    assert legal_names(["age", "income_2"]) == ("age", "income_2")


@pytest.mark.parametrize("name", ["factor1", "Factor12", "FACTOR"])
def test_no_column_is_called_like_a_factor_of_the_examples(name):
    assert legal_names([name]) == (f"v{name}",)


@pytest.mark.parametrize("names", [["a b"], ["1a"], ["with"], ["a", "A"], ["x" * 65], ["a_"]])
def test_an_illegal_name_is_seen(names):
    assert not are_legal(names)
