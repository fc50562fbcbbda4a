"""What is public can be told at sight: public functions list their parameters, others do not."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import dpcov

ROOMS = (
    "dpcov",
    "dpcov.answers",
    "dpcov.audit",
    "dpcov.collect",
    "dpcov.errors",
    "dpcov.local",
    "dpcov.norms",
    "dpcov.paper",
    "dpcov.plot",
    "dpcov.privacy",
    "dpcov.publication",
)
SOURCE = Path(dpcov.__file__).parent


def public():
    """Return the public functions and classes, and the classes that public ones are made of."""
    found = set()
    for room in map(importlib.import_module, ROOMS):
        for name in room.__all__:
            thing = getattr(room, name)
            parts = inspect.getmro(thing) if inspect.isclass(thing) else [thing]
            found |= {
                (part.__module__, part.__qualname__)
                for part in parts
                if inspect.isfunction(part) or inspect.isclass(part)
            }
    return found


PUBLIC = public()


def functions(path):
    """Yield every function of a file, and whether it is public."""
    module = ".".join(("dpcov", *path.relative_to(SOURCE).with_suffix("").parts))
    module = module.removesuffix(".__init__")

    def walk(node, names, within):
        for child in node.body:
            here = (*names, getattr(child, "name", ""))
            listed = (module, ".".join(here)) in PUBLIC
            if isinstance(child, ast.ClassDef):
                yield from walk(child, here, within or listed)
            elif isinstance(child, ast.FunctionDef):
                yield child, listed or (within and not child.name.startswith("_"))

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), (), False)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.name)
def test_functions_that_are_not_public_have_no_table_of_parameters(path):
    tables = [
        function.name
        for function, is_public in functions(path)
        if not is_public and "Parameters\n" in (ast.get_docstring(function) or "")
    ]
    assert tables == []


def test_public_functions_list_their_parameters():
    missing = [
        f"{room}.{name}"
        for room in ROOMS
        for name in importlib.import_module(room).__all__
        if inspect.isfunction(thing := getattr(importlib.import_module(room), name))
        and inspect.signature(thing).parameters
        and "Parameters\n" not in (inspect.getdoc(thing) or "")
    ]
    assert missing == []
