"""Public facts of columns."""

import math
from itertools import combinations

import numpy as np
import pytest

from dpcov.columns import Column, Columns, Units
from dpcov.errors import ParameterError


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"lower": 2, "upper": 1}, "lower must be below upper"),
        ({"lower": 1, "upper": 1}, "nothing can vary"),
        ({"center": 0, "scale": 0}, "scale of column 'age'"),
        ({"center": 0, "scale": -1}, "scale of column 'age'"),
        ({"lower": math.nan, "upper": 1}, "lower of column 'age'"),
        ({"lower": math.inf}, "lower of column 'age'"),
        ({"upper": -math.inf}, "upper of column 'age'"),
        ({"center": math.inf}, "center of column 'age'"),
        ({"lower": 5, "center": 4}, "not between its bounds"),
        ({"upper": 5, "center": 6, "scale": 1}, "not between its bounds"),
        ({"lower": "0", "upper": 1}, "must be a number"),
        ({"lower": True, "upper": 2}, "must be a number"),
    ],
)
def test_an_impossible_fact_is_refused_with_the_column(facts, message):
    with pytest.raises(ParameterError, match=message):
        Column("age", **facts)


def test_bounds_give_center_and_scale_unless_these_are_stated():
    bounds = Column("a", lower=10, upper=30)
    assert (bounds.known_center, bounds.known_scale) == (20.0, 10.0)
    both = Column("a", lower=10, upper=30, center=15, scale=5)
    assert (both.known_center, both.known_scale) == (15.0, 5.0)


KNOWN = {"lower": 10.0, "upper": 30.0, "center": 15.0, "scale": 5.0}


@pytest.mark.parametrize(
    "stated", [dict(part) for k in range(5) for part in combinations(KNOWN.items(), k)]
)
def test_any_facts_may_be_stated_alone_or_together_and_stay_as_they_are(stated):
    column = Column("a", **stated)
    assert {name: getattr(column, name) for name in KNOWN} == dict.fromkeys(KNOWN) | stated


def test_an_infinite_bound_is_none():
    assert Column("a", -math.inf, math.inf) == Column("a")
    assert Column("a", 0, math.inf) == Column("a", lower=0)


@pytest.mark.parametrize(
    ("stated", "known", "working"),
    [
        ({}, (None, None), (0.0, 1.0)),
        ({"lower": 10}, (None, None), (10.0, 1.0)),
        ({"upper": 30}, (None, None), (30.0, 1.0)),
        ({"lower": 10, "upper": 30}, (20.0, 10.0), (20.0, 10.0)),
        ({"lower": 10, "upper": 30, "center": 15}, (15.0, 10.0), (15.0, 10.0)),
        ({"lower": 10, "scale": 2}, (None, 2.0), (10.0, 2.0)),
        ({"center": 15}, (15.0, None), (15.0, 1.0)),
    ],
)
def test_what_follows_from_facts_is_apart_from_them(stated, known, working):
    column = Column("a", **stated)
    assert (column.known_center, column.known_scale) == known
    assert (column.working_center, column.working_scale) == working


def test_an_open_end_is_no_limit():
    columns = Columns([Column("a", lower=10, scale=5), Column("b", upper=10, center=0)])
    lower, upper = columns.bounds
    assert lower.tolist() == [10.0, -math.inf]
    assert upper.tolist() == [math.inf, 10.0]


def test_what_cannot_learn_refuses_what_is_not_known():
    columns = Columns.from_mapping({"age": (0, 100), "sex": {"center": 0}})
    columns.check_known("center")
    with pytest.raises(ParameterError, match="Column 'sex' needs a scale: state scale, or lower"):
        columns.check_known("center", "scale")


def test_bounds_in_short_are_bounds():
    short = Columns.from_mapping({"age": (18, 110), "income": [0, None], "sex": {}})
    assert short == Columns([Column("age", 18, 110), Column("income", lower=0), Column("sex")])


def test_the_largest_norm_is_that_of_the_farthest_corner():
    columns = Columns([Column("a", lower=-1, upper=1), Column("b", lower=0, upper=4)])
    assert columns.largest_norm == pytest.approx(2**0.5)
    assert columns.largest_norm >= 2**0.5
    assert Columns([Column("a", center=0, scale=1)]).largest_norm is None
    assert Columns([Column("a", lower=0, scale=1)]).largest_norm is None


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([], "at least one"),
        (["age"], "at least one"),
        ([Column("a", lower=0, upper=1)] * 2, "stated twice"),
    ],
)
def test_impossible_columns_are_refused(facts, message):
    with pytest.raises(ParameterError, match=message):
        Columns(facts)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"age": {"low": 1}}, "unknown fact 'low'"),
        ({"age": 3}, "must be a mapping"),
        ({"age": (1,)}, "two bounds, lower and upper; got 1"),
        ({"age": (1, 2, 3)}, "two bounds, lower and upper; got 3"),
        ({"age": "12"}, "must be a mapping, or two bounds"),
        ({"age": ("1", 2)}, "lower of column 'age' must be a number"),
        ([], "must be a mapping"),
        ({}, "at least one"),
        ({3: {"lower": 0, "upper": 1}}, "must be a string"),
    ],
)
def test_an_impossible_mapping_is_refused(mapping, message):
    with pytest.raises(ParameterError, match=message):
        Columns.from_mapping(mapping)


def test_units_go_there_and_back():
    units = Units(np.array([1.0, 2.0]), np.array([10.0, 0.5]))
    matrix = np.array([[2.0, 1.0], [1.0, 4.0]])
    assert np.array_equal(units.to_own(matrix), [[200.0, 5.0], [5.0, 1.0]])
    assert np.allclose(units.to_working(units.to_own(matrix)), matrix)
    rows = slice(1, 2)
    assert np.array_equal(units.to_own(matrix[rows], rows), units.to_own(matrix)[rows])


@pytest.mark.parametrize(
    ("center", "scale"),
    [([0.0], [0.0]), ([0.0], [-1.0]), ([np.nan], [1.0]), ([0.0, 1.0], [1.0]), ([0.0], [1e200])],
)
def test_impossible_units_are_refused(center, scale):
    with pytest.raises(ParameterError):
        Units(np.array(center), np.array(scale))


class CountedName(str):
    """A name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        CountedName.compared += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_columns_compare_each_name_a_few_times_however_many_there_are():
    CountedName.compared = 0
    size = 2000
    Columns([Column(CountedName(f"c{place}"), lower=0, upper=1) for place in range(size)])
    assert CountedName.compared <= 10 * size


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "\u202eb", "\ud800", "a\x00"])
def test_a_name_with_hidden_characters_is_refused_and_not_repeated(name):
    with pytest.raises(ParameterError, match="has a line break") as caught:
        Column(name, lower=0, upper=1)
    assert name not in str(caught.value)


@pytest.mark.parametrize("name", ["Größe (cm)", "می\u200cخواهم", "年龄", "a\u00a0b", ""])
def test_a_name_of_any_language_is_accepted(name):
    assert Column(name, lower=0, upper=1).name == name
