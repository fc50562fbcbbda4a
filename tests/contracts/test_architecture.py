"""The page about the tree shows every module, and the layers that are held."""

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_INDENTED = 12  # what stands further right is a second line


def listed():
    """Return the modules of the drawn tree, as paths."""
    tree = PAGE.split("src/dpcov/\n", 1)[1].split("\ntests/", 1)[0]
    folders, found = {}, set()
    for line in tree.split("\n"):
        indent = len(line) - len(line.lstrip())
        names = re.match(r"((\w+\.py|\w+/)\s+)+", line.lstrip() + " ")
        if names is None or indent > MOST_INDENTED:
            continue
        folders = {depth: name for depth, name in folders.items() if depth < indent}
        for name in names[0].split():
            if name.endswith("/"):
                folders[indent] = name
            else:
                found.add("".join([*folders.values(), name]))
    return found


def test_every_module_is_on_the_page_and_nothing_else():
    source = ROOT / "src" / "dpcov"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    inner = {name for name in modules if name.endswith("/__init__.py")}
    assert listed() == modules - inner


def test_the_layers_on_the_page_are_those_that_are_held():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    held = next(each for each in contracts if each.get("containers") == ["dpcov"])["layers"]
    drawn = re.search(r"room imports only from below it:\s`([^`]*)`", PAGE)
    assert [layer.strip() for layer in drawn[1].split(">")] == held[1:]  # __main__ is above all


@pytest.mark.parametrize("line", ["", "    nobody.py   nothing", "      a.py  b.py  two"])
def test_a_line_that_is_added_shows(monkeypatch, line):
    before = listed()
    changed = PAGE.replace("\ntests/", f"\n  anywhere/   a room\n{line}\ntests/", 1)
    monkeypatch.setattr(sys.modules[__name__], "PAGE", changed)
    expected = {"anywhere/" + name for name in re.findall(r"\w+\.py", line)}
    assert listed() - before == expected
