"""Table Schema: what a publisher says of a table's columns, as facts.

Owns the translation from a Frictionless Table Schema (a JSON file with ``fields``, alone or in
a data package of one resource): types, the constraints ``minimum``, ``maximum``, ``enum`` and
``required``, ``categories`` and ``missingValues``. It must be one that was written from
knowledge: a schema that a program inferred from the rows is data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.columns.codes import Code, check_codes, code_of_text
from dpcov.columns.moments import as_moment
from dpcov.columns.stated import column_of
from dpcov.columns.text import parse_file
from dpcov.columns.written import FORMS, MARKS, parse_number
from dpcov.errors import ParameterError

__all__ = ["TableSchema", "read_schema"]

_DEEPEST = 12  # a data package: resources, one, its schema, fields, one, constraints, enum, …
_KINDS = {
    "integer": "whole number",
    "year": "whole number",
    "number": "number",
    "boolean": "boolean",
    "string": "text",
    "date": "date",
    "datetime": "date",
}


@dataclass(frozen=True)
class TableSchema:
    """What a schema says: the kind and the facts of each column, and codes for all."""

    kinds: Mapping[str, str]
    facts: Mapping[str, Mapping[str, Any]]
    missing: tuple[Code, ...]


def read_schema(path: str | os.PathLike[str]) -> TableSchema:
    """Read a Table Schema, or refuse what is none."""
    file = Path(path)
    if file.suffix.lower() != ".json":
        raise ParameterError(f"{file.name} must be a .json file: a Table Schema.")
    schema = _find_schema(parse_file(file, most_deep=_DEEPEST))
    fields = schema.get("fields") if isinstance(schema, dict) else None
    named = isinstance(fields, list) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in fields
    )
    if not named or not fields:
        raise ParameterError(
            f"{file.name} is no Table Schema: it must have 'fields', a list of mappings with the "
            "name, the type and the constraints of each column."
        )
    kinds = {each["name"]: _KINDS.get(each.get("type", "string"), "other") for each in fields}
    if len(kinds) < len(fields):
        raise ParameterError(f"{file.name} has a name twice among its fields.")
    facts = {each["name"]: _facts_of(each) for each in fields}
    for name, stated in facts.items():
        column_of(name, stated)  # refuses what cannot be, with the name
    return TableSchema(kinds, facts, _codes(schema.get("missingValues")))


def _find_schema(content: Any) -> Any:
    """Return the schema itself, also from a data package of one resource."""
    if isinstance(content, dict) and isinstance(content.get("resources"), list):
        resources = content["resources"]
        if len(resources) != 1 or not isinstance(resources[0], dict):
            raise ParameterError(
                "A data package must have one resource here; save the schema of one as a file."
            )
        content = resources[0].get("schema")
    return content


def _facts_of(field: Mapping[str, Any]) -> dict[str, Any]:
    limits = field.get("constraints")
    limits = limits if isinstance(limits, Mapping) else {}
    kind = _KINDS.get(field.get("type", "string"), "other")
    facts: dict[str, Any] = {}
    levels = _levels(field, limits)
    if kind == "boolean" and levels is None:
        facts = {"levels": [False, True], "numbers": [0, 1]}
    elif levels is not None and kind != "date":
        facts["levels"] = levels
        if field.get("categoriesOrdered") is True:
            facts["ordered"] = True
    elif kind in ("number", "whole number"):
        facts = _bounds(limits)
        form = _form(field)
        if form is not None:
            facts["text"] = form
    elif kind == "date" and field.get("format", "default") in ("default", "any"):
        facts = {"unit": "days", **_dates(limits)}
    codes = _codes(field.get("missingValues"))
    if codes:
        facts["missing"] = list(codes)
    elif limits.get("required") is True and facts:
        facts["complete"] = True
    return facts


def _levels(field: Mapping[str, Any], limits: Mapping[str, Any]) -> list[Any] | None:
    listed = field.get("categories", limits.get("enum"))
    if not isinstance(listed, list) or len(listed) < 2:
        return None
    return [each.get("value") if isinstance(each, Mapping) else each for each in listed]


def _bounds(limits: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for fact, limit in (("lower", "minimum"), ("upper", "maximum")):
        value = limits.get(limit)
        number = parse_number(value) if isinstance(value, str) else value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            found[fact] = number
    return found


def _dates(limits: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for fact, limit in (("lower", "minimum"), ("upper", "maximum")):
        value = limits.get(limit)
        if isinstance(value, str) and as_moment(value) is not None:
            found[fact] = value
    return found


def _form(field: Mapping[str, Any]) -> str | None:
    """Return how numbers are written, if not in the plain form."""
    marks = (field.get("decimalChar", "."), field.get("groupChar", ""))
    if marks == (".", ""):
        return None
    form = next((form for form, known in FORMS.items() if known == marks), None)
    if form is None:
        raise ParameterError(
            f"Column {field['name']!r} of the schema has marks in numbers that are not known; "
            f"known forms are {', '.join(map(repr, FORMS))}."
        )
    return form


def _codes(listed: Any) -> tuple[Code, ...]:
    if not isinstance(listed, list):
        return ()
    texts = [each.get("value") if isinstance(each, Mapping) else each for each in listed]
    codes = [code_of_text(text) if isinstance(text, str) else text for text in texts]
    return check_codes("missingValues", [code for code in codes if code not in MARKS])
