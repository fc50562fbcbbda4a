"""Files of public facts."""

import json
import sys

import pytest

from dpcov.columns import Columns
from dpcov.columns.template import TemplateColumn, column_template
from dpcov.errors import ParameterError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMES = ["age", "a b", 'quo"te', "back\\slash", "dot.ted", "tab\there", "Größe", "\x7f", "", "#"]


def test_toml_and_json_say_the_same(tmp_path):
    toml = tmp_path / "columns.toml"
    toml.write_text('[columns.age]\nlower = 0\nupper = 100\n\n[columns."b c"]\ncenter=1\nscale=2\n')
    other = tmp_path / "columns.json"
    facts = {"age": {"lower": 0, "upper": 100}, "b c": {"center": 1, "scale": 2}}
    other.write_text(json.dumps({"columns": facts}))
    assert Columns.load(toml) == Columns.load(str(other)) == Columns.from_mapping(facts)


def test_bounds_may_be_short_and_open_in_both(tmp_path):
    (tmp_path / "c.toml").write_text("[columns]\nage = [18, 110]\nincome = [0, inf]\nsex = {}\n")
    text = '{"columns": {"age": [18, 110], "income": [0, Infinity], "sex": {}}}'
    (tmp_path / "c.json").write_text(text)
    (tmp_path / "d.json").write_text(text.replace("Infinity", "null"))
    expected = Columns.from_mapping({"age": (18, 110), "income": (0, None), "sex": {}})
    assert all(Columns.load(path) == expected for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.toml", "[columns", r"not valid TOML: .*[^.]\.$"),
        ("c.json", "{", r"not valid JSON: .*[^.]\.$"),
        ("c.toml", "age = [18, 110]", r"one table, 'columns'.* a line \[columns\]"),
        ("c.toml", "columns = 3", "must be a mapping"),
        ("c.json", "[]", "one table, 'columns'.*{\"columns\": {…}}"),
        ("c.toml", "[columns.a]\nlower=2\nupper=1", "lower must be below upper"),
        ("c.toml", "[columns.a]\nlower=1\nupper=2\n[columns.a]\n", "not valid TOML"),
        ("c.yaml", "", "must be a .toml or .json"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        Columns.load(path)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="There is no file"):
        Columns.load(tmp_path / "no.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="not valid TOML"):
        Columns.load(tmp_path / "bytes.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ParameterError, match="cannot be opened"):
        Columns.load(tmp_path / "folder.toml")


def test_a_template_has_every_name_whatever_its_characters():
    text = column_template([TemplateColumn(name, "number") for name in NAMES], of="x\ny.csv")
    assert list(tomllib.loads(text)["columns"]) == NAMES


def test_a_template_states_nothing(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(column_template([TemplateColumn("age", "whole number")]))
    assert Columns.load(path) == Columns.from_mapping({"age": {}})
    filled = path.read_text().replace("# lower =", "lower = 1").replace("# upper =", "upper = 9")
    path.write_text(filled)
    column = Columns.load(path).facts[0]
    assert (column.lower, column.upper) == (1.0, 9.0)


def test_a_column_that_stands_twice_in_a_json_file_is_refused(tmp_path):
    file = tmp_path / "columns.json"
    file.write_text(
        '{"columns": {"age": {"lower": 0, "upper": 1}, "age": {"lower": 0, "upper": 9}}}'
    )
    with pytest.raises(ParameterError, match="stands twice"):
        Columns.load(file)
