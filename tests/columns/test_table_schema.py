"""Facts from a schema that a publisher wrote."""

import json

import pytest

from dpcov.columns import Columns
from dpcov.columns.table_schema import read_schema
from dpcov.columns.template import TemplateColumn, column_template
from dpcov.errors import ParameterError

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 110}},
    {"name": "pay", "type": "number", "decimalChar": ",", "groupChar": "."},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
    {"name": "health", "categories": ["poor", "good"], "categoriesOrdered": True},
    {"name": "grade", "type": "integer", "categories": [{"value": 1, "label": "a"}, {"value": 2}]},
    {"name": "yes", "type": "boolean"},
    {"name": "born", "type": "date", "constraints": {"minimum": "1900-01-01"}},
    {"name": "name", "type": "string"},
    {"name": "own", "type": "integer", "missingValues": ["-1", ""]},
    {"name": "where", "type": "geopoint"},
]
EXPECTED = {
    "age": {"lower": 18, "upper": 110},
    "pay": {"text": "1.234,5"},
    "sex": {"levels": ["f", "m"], "complete": True},
    "health": {"levels": ["poor", "good"], "ordered": True},
    "grade": {"levels": [1, 2]},
    "yes": {"levels": [False, True], "numbers": [0, 1]},
    "born": {"unit": "days", "lower": "1900-01-01"},
    "name": {},
    "own": {"missing": [-1.0]},
    "where": {},
}


def write(folder, content):
    (folder / "schema.json").write_text(json.dumps(content))
    return folder / "schema.json"


@pytest.mark.parametrize("packed", [False, True])
def test_types_and_constraints_become_facts(packed, tmp_path):
    schema = {"fields": FIELDS, "missingValues": ["", "-9", "refused"]}
    content = {"resources": [{"schema": schema}]} if packed else schema
    found = read_schema(write(tmp_path, content))
    assert found.facts == EXPECTED
    assert found.missing == (-9.0, "refused")
    assert (found.kinds["age"], found.kinds["name"], found.kinds["where"]) == (
        "whole number",
        "text",
        "other",
    )


def test_a_template_of_a_schema_is_a_file_of_its_facts(tmp_path):
    found = read_schema(write(tmp_path, {"fields": FIELDS, "missingValues": ["-9"]}))
    listed = [TemplateColumn(name, kind, found.facts[name]) for name, kind in found.kinds.items()]
    (tmp_path / "c.toml").write_text(column_template(listed, defaults={"missing": [-9.0]}))
    known = {name: facts for name, facts in EXPECTED.items() if facts}
    expected = Columns.from_mapping(known, defaults={"missing": [-9]})
    assert Columns.load(tmp_path / "c.toml") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "is no Table Schema"),
        ({"fields": []}, "is no Table Schema"),
        ({"fields": [{"type": "string"}]}, "is no Table Schema"),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, "a name twice"),
        ({"resources": []}, "must have one resource"),
        ({"fields": [{"name": "a", "type": "number", "decimalChar": "!"}]}, "not known"),
        ({"fields": [{"name": "a", "constraints": {"enum": ["x", "x"]}}]}, "level 'x' twice"),
    ],
)
def test_what_is_no_schema_is_refused(content, message, tmp_path):
    with pytest.raises(ParameterError, match=message):
        read_schema(write(tmp_path, content))


def test_columns_that_need_a_decision_are_comments(tmp_path):
    kinds = {"a": "number", "b": "text", "c": "date", "person_id": "whole number", "d": "other"}
    text = column_template([TemplateColumn(*pair) for pair in kinds.items()])
    (tmp_path / "c.toml").write_text(text)
    assert Columns.load(tmp_path / "c.toml").names == ("a",)
    filled = text.replace('# [columns."b"]', '[columns."b"]').replace(
        '# levels = ["…", "…"]', 'levels = ["x", "y"]'
    )
    (tmp_path / "c.toml").write_text(filled)
    assert Columns.load(tmp_path / "c.toml").categories == ("b",)
