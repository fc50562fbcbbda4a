"""Facts of tables as people have them: levels, codes, times, texts, patterns and defaults."""

import datetime
import math
import time

import pytest

from dpcov.columns import Column, Columns
from dpcov.columns.codes import check_codes, code_of_text
from dpcov.columns.csv_form import CsvForm
from dpcov.columns.moments import as_moment, parse_moment
from dpcov.columns.written import FORMS, parse_number
from dpcov.errors import ParameterError


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"levels": ["f", "m", "f"]}, "has the level 'f' twice"),
        ({"levels": [1, 2, 1.0]}, "has the level '1' twice"),
        ({"levels": ["f", 1]}, "all texts, all numbers or all truth values"),
        ({"levels": [True, 1]}, "all texts, all numbers or all truth values"),
        ({"levels": list(range(1001))}, "has 1001 levels; at most 1,000"),
        ({"levels": ["f"]}, "has one level only"),
        ({"levels": []}, "is empty"),
        ({"levels": "fm"}, "must be a list"),
        ({"levels": ["f", ""]}, "texts that are not empty"),
        ({"levels": ["f", None]}, "texts that are not empty"),
        ({"levels": ["f", "m\n"]}, "control character"),
        ({"levels": [1, math.nan]}, "finite numbers"),
        ({"levels": [1, 10**400]}, "finite numbers"),
        ({"levels": ["1", "2"], "missing": [2]}, "'2' both as a level and as a code"),
        ({"levels": [1, -9], "missing": [-9]}, "'-9' both as a level and as a code"),
        ({"levels": ["a", "b"], "other": "c", "ordered": True}, "other has no place"),
        ({"levels": ["a", "b"], "other": "c", "numbers": [1, 2]}, "other has no place"),
        ({"levels": ["a", "b"], "other": 3}, "must be the name of a level"),
        ({"levels": ["a", "b"], "numbers": [1]}, "2 levels and 1 numbers"),
        ({"levels": ["a", "b"], "numbers": [1, math.inf]}, "finite numbers"),
        ({"levels": ["a", "b"], "numbers": [1, "2"]}, "finite numbers"),
        ({"levels": ["a", "b"], "numbers": [1, 1]}, "all the same"),
        ({"levels": ["a", "b"], "numbers": [1, 2], "ordered": False}, "says that they are not"),
        ({"levels": ["a", "b"], "lower": 0}, "is a category, and has no bounds"),
        ({"levels": ["a", "b"], "center": 0}, "is a category, and has no bounds"),
        ({"levels": ["a", "b"], "scale": 1}, "is a category, and has no bounds"),
        ({"levels": ["a", "b"], "unit": "days"}, "has levels and unit"),
        ({"levels": ["a", "b"], "text": "1234.5"}, "has levels and text"),
        ({"ordered": True}, "ordered of column 'a' needs levels"),
        ({"numbers": [1, 2]}, "numbers of column 'a' needs levels"),
        ({"other": "rest"}, "other of column 'a' needs levels"),
        ({"ordered": 1}, "must be true or false"),
        ({"complete": "yes"}, "must be true or false"),
        ({"complete": True, "missing": [-9]}, "is stated to be complete"),
        ({"missing": [True]}, "must be codes"),
        ({"missing": [math.nan]}, "must be finite"),
        ({"missing": [None]}, "must be codes"),
        ({"missing": 3j}, "must be a list"),
        ({"unit": "fortnights"}, "must be one of 'seconds'"),
        ({"since": "2000-01-01"}, "needs a unit"),
        ({"unit": "days", "since": "yesterday"}, "must be a date"),
        ({"unit": "days", "since": 3}, "must be a date"),
        ({"lower": datetime.date(2000, 1, 1)}, "is a date; state a unit"),
        ({"unit": "days", "text": "1234.5"}, "has text and unit"),
        ({"text": "number"}, "by an example how its numbers are written"),
    ],
)
def test_facts_that_contradict_each_other_are_refused_with_the_column(facts, message):
    with pytest.raises(ParameterError, match=message):
        Column("a", **facts)


def test_ordered_levels_are_numbers_with_their_ends_as_bounds():
    counted = Column("a", levels=["lo", "mid", "hi"], ordered=True)
    assert (counted.level_numbers, counted.limits) == ((1.0, 2.0, 3.0), (1.0, 3.0))
    valued = Column("a", levels=["lo", "mid", "hi"], numbers=[10, 0, 2.5])
    assert (valued.ordered, valued.limits, valued.is_category) == (True, (0.0, 10.0), False)
    stated = Column("a", levels=["lo", "hi"], ordered=True, lower=0, upper=9)
    assert stated.limits == (0.0, 9.0)


@pytest.mark.parametrize(
    ("levels", "other", "names"),
    [
        (["f", "m"], None, ("f", "m")),
        (["f", "m"], "other", ("f", "m", "other")),
        (["f", "other"], "other", ("f", "other")),
        (["f"], "rest", ("f", "rest")),
        ([3, 2.5], "9", ("3", "2.5", "9")),
        ([False, True], None, ("false", "true")),
    ],
)
def test_levels_have_names_and_other_is_one_more_unless_it_is_among_them(levels, other, names):
    assert Column("a", levels=levels, other=other).level_names == names


def test_bounds_and_codes_may_be_dates_where_there_is_a_unit():
    day = datetime.date(2000, 1, 3)
    column = Column("a", unit="days", since="2000-01-01", lower=day, missing=[day, -9])
    assert (column.lower, column.missing) == (2.0, (2.0, -9.0))
    hours = Column("a", unit="hours", upper=datetime.datetime(1970, 1, 2, 6))
    assert hours.upper == 30.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-02", (1, 0)),
        (" 1970-01-02 ", (1, 0)),
        ("1969-12-31T23:59:59.999999999", (-1, 86_399_999_999_999)),
        ("1970-01-01 02:00+02:00", (0, 0)),
        ("1970-01-01T00:00:00-0100", (0, 3_600_000_000_000)),
        ("1970-1-2", None),
        ("2001-02-29", None),
        ("1970-01-01T24:00", None),
        ("0000-01-01", None),
        ("19700102", None),
        ("١٩٧٠-01-02", None),
    ],
)
def test_dates_in_texts_are_in_iso_form(text, expected):
    assert parse_moment(text) == as_moment(text) == expected


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("3", "1234.5", 3.0),
        ("3.0", "1234.5", 3.0),
        ("+3.", "1234.5", 3.0),
        ("-.5e1", "1234.5", -5.0),
        ("3,0", "1234.5", None),
        ("3,0", "1234,5", 3.0),
        ("1,234,567.8", "1,234.5", 1234567.8),
        ("1234567", "1,234.5", 1234567.0),
        ("1,23", "1,234.5", None),
        ("1234,567", "1,234.5", None),
        ("1.234", "1.234,5", 1234.0),
        ("1 234,5", "1 234,5", 1234.5),
        ("1'234.5", "1'234.5", 1234.5),
        ("", "1234.5", None),
        ("0x10", "1234.5", None),
        ("1_000", "1234.5", None),
        ("nan", "1234.5", None),
        ("٣", "1234.5", None),
        ("3 years", "1234.5", None),
    ],
)
def test_a_text_is_a_number_only_in_the_stated_form(text, form, expected):
    assert parse_number(text, form) == expected


def test_every_form_reads_its_own_example():
    assert {parse_number(form, form) for form in FORMS} == {1234.5}


def test_codes_are_numbers_if_they_look_like_ones():
    assert code_of_text("-9") == -9.0
    assert code_of_text("refused") == "refused"
    assert check_codes("x", -9) == check_codes("x", [-9, -9.0]) == (-9.0,)
    assert check_codes("x", None) == ()


DEFAULTS = {"lower": 0, "upper": 10, "missing": [-9, 3]}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, {"lower": 0, "upper": 10, "missing": [-9, 3]}),
        ((2, math.inf), {"lower": 2, "missing": [-9, 3]}),
        ({"upper": 5}, {"lower": 0, "upper": 5, "missing": [-9, 3]}),
        ({"missing": [99]}, {"lower": 0, "upper": 10, "missing": [99]}),
        ({"levels": [1, 2, 3]}, {"levels": [1, 2, 3], "missing": [-9]}),
        ({"complete": True}, {"lower": 0, "upper": 10, "complete": True}),
    ],
)
def test_defaults_are_facts_of_columns_that_do_not_state_their_own(own, expected):
    columns = Columns.from_mapping({"a": own}, defaults=DEFAULTS)
    assert columns.facts[0] == Column("a", **expected)


def test_an_unknown_fact_is_refused_with_what_may_be_meant():
    with pytest.raises(ParameterError, match=r"'uper' \(did you mean 'upper'\?\)"):
        Columns.from_mapping({"a": {"uper": 1}})
    with pytest.raises(ParameterError, match=r"\[defaults\] has the unknown fact 'mising'"):
        Columns.from_mapping({"a": {}}, defaults={"mising": [1]})


LABELS = ["id", "A1", "A2", "B1", "income [EUR]", "how?"]


@pytest.mark.parametrize(
    ("stated", "names"),
    [
        (["A*"], ("A1", "A2")),
        (["B1", "A?"], ("B1", "A1", "A2")),
        (["?1"], ("A1", "B1")),
        (["A*", "A2"], ("A1", "A2")),
        (["A2", "A*"], ("A2", "A1")),
        (["*"], tuple(LABELS)),
        (["income [EUR]"], ("income [EUR]",)),
        (["how?"], ("how?",)),
        (["A*", "?1"], ("A1", "A2", "B1")),
    ],
)
def test_patterns_stand_for_the_columns_that_they_match(stated, names):
    columns = Columns.from_mapping(dict.fromkeys(stated, (1, 6)))
    assert columns.resolve(LABELS).names == names


def test_a_name_goes_before_a_pattern():
    columns = Columns.from_mapping({"A*": (1, 6), "A2": (0, 1)}).resolve(LABELS)
    assert {column.name: column.upper for column in columns} == {"A1": 6.0, "A2": 1.0}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"C*": {}}, "The pattern 'C\\*' matches no column"),
        ({"a*": {}}, "small and capital letters differ"),
        ({"A*": (1, 6), "?1": (1, 5)}, "'A\\*', '\\?1' match the same column"),
    ],
)
def test_patterns_that_match_nothing_or_contradict_are_refused_without_a_label(facts, message):
    with pytest.raises(ParameterError, match=message) as caught:
        Columns.from_mapping(facts).resolve(LABELS)
    assert not any(label in str(caught.value) for label in LABELS)


def test_a_pattern_of_many_stars_takes_no_time():
    began = time.process_time()  # however busy the machine is
    columns = Columns.from_mapping({"*" * 5000 + "b": {}})
    with pytest.raises(ParameterError, match="matches no column"):
        columns.resolve(["a" * 5000])
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delimiter": "ab"}, "must be what stands between"),
        ({"delimiter": '"'}, "must be what stands between"),
        ({"decimal": ";"}, "a point or a comma"),
        ({"decimal": ","}, "both a comma"),
        ({"decimals": ","}, r"'decimals' \(did you mean 'decimal'\?\)"),
        (";", "must be a mapping"),
    ],
)
def test_impossible_forms_of_csv_files_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        CsvForm.parse(given)
