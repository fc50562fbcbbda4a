from pathlib import Path

import pytest

from dpcov.cli.formulas import read_formula
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import ParameterError

DESIGN = Design(
    (
        Field("income"),
        Field("age"),
        Field("years of education"),
        Field("a+b"),
        Field("~"),
        Field("sex", ("f", "m")),
    )
)


@pytest.mark.parametrize(
    "words",
    [
        ["income ~ age + sex"],
        ["income", "~", "age", "+", "sex"],
        ["income~age+sex"],
        ["income", "~age", "+sex"],
        ["`income`", "~", "`age`", "+", "`sex`"],
    ],
)
def test_a_formula_is_one_word_or_several(words):
    assert read_formula(words, DESIGN) == (["income"], ["age", "sex"])


def test_a_home_folder_is_the_tilde_that_was_typed():
    words = ["income", str(Path.home()), "age"]
    assert read_formula(words, DESIGN) == (["income"], ["age"])


def test_names_with_blanks_need_no_quotes():
    assert read_formula(["income", "~", "years of education"], DESIGN)[1] == ["years of education"]


def test_names_with_signs_stand_between_backquotes():
    assert read_formula(["`a+b` ~ `~` + age"], DESIGN) == (["a+b"], ["~", "age"])


def test_a_level_is_a_name():
    assert read_formula(["sex=f ~ age"], DESIGN) == (["sex=f"], ["age"])


def test_several_outcomes_have_plus_signs_between_them():
    assert read_formula(["income + age ~ sex"], DESIGN) == (["income", "age"], ["sex"])


def test_a_point_stands_for_all_other_columns():
    assert read_formula(["sex=f ~ ."], DESIGN)[1] == [
        "income",
        "age",
        "years of education",
        "a+b",
        "~",
    ]


@pytest.mark.parametrize(
    "text", ["income age", "income ~", "~ age", "", "income ~ age ~ sex", "income + age"]
)
def test_what_has_not_two_sides_is_refused(text):
    with pytest.raises(ParameterError, match="outcomes, one ~ and predictors"):
        read_formula([text], DESIGN)


@pytest.mark.parametrize("text", ["income ~ age +", "income ~ + age", "income ~ `age", "`a` b ~ c"])
def test_what_has_no_sign_between_names_is_refused(text):
    with pytest.raises(ParameterError, match="A formula has"):
        read_formula([text], DESIGN)


@pytest.mark.parametrize(
    "text",
    ["income ~ age * sex", "income ~ log(age)", "income ~ age:sex", "income ~ 0 + age"],
)
def test_what_second_moments_do_not_hold_is_refused_with_the_reason(text):
    with pytest.raises(ParameterError, match="names, \\+ and ~ alone"):
        read_formula([text], DESIGN)
