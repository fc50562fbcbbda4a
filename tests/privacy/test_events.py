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


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("name", ["", "a\nb", 7])
def test_no_kind_of_event_has_a_name_that_cannot_be_printed(event, name):
    with pytest.raises(ParameterError, match="name of an event"):
        dataclasses.replace(event, name=name)


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_no_event_can_be_changed_after_it_was_checked(event):
    for field in dataclasses.fields(event):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, 1e9)


@pytest.mark.parametrize(
    "number",
    [
        Gaussian("g", np.float32(4.1)).multiplier,
        Selection("s", np.float32(0.1)).range,
        Pure("p", np.float32(0.1)).epsilon,
        Approximate("a", np.float32(0.1), np.float32(1e-9)).epsilon,
        Approximate("a", np.float32(0.1), np.float32(1e-9)).delta,
        Concentrated("c", np.float32(0.1)).rho,
    ],
)
def test_numbers_of_events_are_floats_whose_rounding_is_paid_for(number):
    assert type(number) is float


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
