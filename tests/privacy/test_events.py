"""Events and their written form, which files and ledgers keep for years."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import (
    Approximate,
    Concentrated,
    Gaussian,
    Pure,
    Selection,
    event_from_dict,
    event_to_dict,
    events_delta,
)

# The vector of docs/privacy.md. Files have been written with it: it may grow, never change.
VECTOR = """[
  {"kind": "gaussian", "name": "moments", "multiplier": 4.224788},
  {"kind": "selection", "name": "radius", "range": 0.1, "count": 1},
  {"kind": "selection", "name": "selection", "range": 0.0246, "count": 200},
  {"kind": "pure", "name": "report", "epsilon": 1.0},
  {"kind": "approximate", "name": "counts of another tool", "epsilon": 0.5, "delta": 1e-09},
  {"kind": "concentrated", "name": "tables of another tool", "rho": 0.05}
]"""
EVENTS = [
    Gaussian("moments", 4.224788),
    Selection("radius", 0.1),
    Selection("selection", 0.0246, 200),
    Pure("report", 1.0),
    Approximate("counts of another tool", 0.5, 1e-9),
    Concentrated("tables of another tool", 0.05),
]

names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20)
sizes = st.floats(1e-9, 1e9)
events = st.one_of(
    st.builds(Gaussian, names, sizes),
    st.builds(Selection, names, sizes, st.integers(1, 10**9)),
    st.builds(Pure, names, st.floats(1e-9, 1e6)),
    st.builds(Approximate, names, st.floats(1e-9, 1e6), st.floats(1e-300, 0.999)),
    st.builds(Concentrated, names, st.floats(1e-9, 1e6)),
)


def test_the_vector_is_read_as_it_was_written():
    assert [event_from_dict(facts) for facts in json.loads(VECTOR)] == EVENTS


def test_the_vector_is_written_as_it_is_read():
    assert [event_to_dict(event) for event in EVENTS] == json.loads(VECTOR)
    assert [list(event_to_dict(event)) for event in EVENTS] == [
        list(facts) for facts in json.loads(VECTOR)
    ]


def test_the_documentation_has_the_vector(request):
    text = (request.config.rootpath / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert VECTOR in text


@given(events)
def test_an_event_survives_json_to_the_bit(event):
    assert event_from_dict(json.loads(json.dumps(event_to_dict(event)))) == event


@pytest.mark.parametrize(
    "facts",
    [
        None,
        [],
        "gaussian",
        {},
        {"name": "moments", "multiplier": 4.0},
        {"kind": "laplace", "name": "moments", "scale": 4.0},
        {"kind": ["gaussian"], "name": "moments", "multiplier": 4.0},
        {"kind": "gaussian", "name": "moments"},
        {"kind": "gaussian", "multiplier": 4.0},
        {"kind": "gaussian", "name": "moments", "multiplier": 4.0, "rho": 0.03},
        {"kind": "gaussian", "name": "moments", "multiplier": "4"},
        {"kind": "gaussian", "name": "moments", "multiplier": True},
        {"kind": "gaussian", "name": "moments", "multiplier": None},
        {"kind": "gaussian", "name": "moments", "multiplier": math.inf},
        {"kind": "gaussian", "name": "moments", "multiplier": math.nan},
        {"kind": "gaussian", "name": "moments", "multiplier": 0.0},
        {"kind": "gaussian", "name": "moments", "multiplier": -4.0},
        {"kind": "gaussian", "name": "moments", "multiplier": 1e200},
        {"kind": "gaussian", "name": 7, "multiplier": 4.0},
        {"kind": "gaussian", "name": "", "multiplier": 4.0},
        {"kind": "gaussian", "name": "a\nb", "multiplier": 4.0},
        {"kind": "gaussian", "name": "a" * 201, "multiplier": 4.0},
        {"kind": "selection", "name": "radius", "range": 0.1},
        {"kind": "selection", "name": "radius", "range": 0.1, "count": 1.0},
        {"kind": "selection", "name": "radius", "range": 0.1, "count": 0},
        {"kind": "selection", "name": "radius", "range": 0.0, "count": 1},
        {"kind": "pure", "name": "report", "epsilon": 0.0},
        {"kind": "pure", "name": "report", "epsilon": 1e7},
        {"kind": "pure", "name": "report", "epsilon": 1.0, "delta": 0.0},
        {"kind": "approximate", "name": "counts", "epsilon": 1.0},
        {"kind": "approximate", "name": "counts", "epsilon": 0.0, "delta": 1e-9},
        {"kind": "approximate", "name": "counts", "epsilon": 1e7, "delta": 1e-9},
        {"kind": "approximate", "name": "counts", "epsilon": 1.0, "delta": 0.0},
        {"kind": "approximate", "name": "counts", "epsilon": 1.0, "delta": 1.0},
        {"kind": "concentrated", "name": "tables", "rho": 0.0},
        {"kind": "concentrated", "name": "tables", "rho": 1e7},
    ],
    ids=str,
)
def test_what_is_no_event_is_refused(facts):
    with pytest.raises(ParameterError):
        event_from_dict(facts)


@pytest.mark.parametrize(
    ("kind", "field", "last"),
    [
        ("gaussian", "multiplier", 1e100),
        ("selection", "range", 1e100),
        ("selection", "count", 10**15),
        ("pure", "epsilon", 1e6),
        ("approximate", "epsilon", 1e6),
        ("concentrated", "rho", 1e6),
    ],
)
def test_numbers_are_read_up_to_the_documented_ends_and_none_beyond(kind, field, last):
    facts = next(each for each in json.loads(VECTOR) if each["kind"] == kind)
    assert getattr(event_from_dict(facts | {field: last}), field) == last
    beyond = last + 1 if field == "count" else math.nextafter(last, math.inf)
    with pytest.raises(ParameterError, match=field):
        event_from_dict(facts | {field: beyond})


def test_a_name_may_have_two_hundred_letters():
    assert len(Pure("a" * 200, 1.0).name) == 200


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("name", ["", "a\nb", 7])
def test_no_kind_of_event_has_a_name_that_cannot_be_printed(event, name):
    with pytest.raises(ParameterError, match="name of an event"):
        dataclasses.replace(event, name=name)


@pytest.mark.parametrize("facts", json.loads(VECTOR), ids=str)
def test_no_event_can_be_changed_after_it_was_checked(facts):
    event = event_from_dict(facts)
    for field in dataclasses.fields(event):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, 1e9)


@pytest.mark.parametrize("facts", json.loads(VECTOR), ids=str)
def test_numbers_of_events_are_floats_whose_rounding_is_paid_for(facts):
    numbers = [name for name, value in facts.items() if isinstance(value, float)]
    event = event_from_dict(facts | {name: np.float32(facts[name]) for name in numbers})
    assert {type(getattr(event, name)) for name in numbers} == {float}


def test_counts_of_events_do_not_overflow():
    narrow, wide = Selection("selection", 0.1, np.int8(100)), Selection("selection", 0.1, 100)
    assert type(narrow.count) is int
    assert events_delta([narrow] * 2, epsilon=0.5) == events_delta([wide] * 2, epsilon=0.5)


def test_only_events_are_written():
    with pytest.raises(ParameterError, match="no event"):
        event_to_dict({"kind": "gaussian"})


def test_an_event_cannot_be_changed():
    with pytest.raises(AttributeError):
        EVENTS[0].multiplier = 1.0


def test_an_event_says_what_was_done_and_never_what_it_costs():
    assert [event.in_words for event in EVENTS] == [
        "Gaussian noise of 4.22479 sensitivities",
        "a choice with a privacy loss of range 0.1",
        "200 choices, each with a privacy loss of range 0.0246",
        "1-differential privacy",
        "(0.5, 1e-09)-differential privacy",
        "0.05-zero-concentrated differential privacy",
    ]
