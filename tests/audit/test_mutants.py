"""What is broken on purpose, and how it gets into functions that are loaded."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def mutants(monkeypatch):
    # Only `make test-mutants` installs it.
    pytest.importorskip("cosmic_ray")
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from audits.mutation import mutants

    return mutants


def changes(mutants, source, tmp_path, monkeypatch):
    (tmp_path / "shown.py").write_text(source + "\n", encoding="utf-8")
    monkeypatch.setattr(mutants, "PACKAGE", tmp_path)
    return [each.becomes for each in mutants.mutants_of("shown")]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x = max(a, b)", ["x = min(a, b)"]),
        ("x = a < b", ["x = a <= b", "x = a >= b"]),
        ("x = 4", ["x = 5", "x = 3"]),
        ("check(x)", ["pass"]),
        ("x: int | None = y", []),
        ("raise ValueError(f'{1 + 1}')", ["pass"]),
    ],
)
def test_these_changes_are_made_and_no_others(mutants, source, wanted, tmp_path, monkeypatch):
    assert sorted(changes(mutants, source, tmp_path, monkeypatch)) == sorted(wanted)


def test_mutants_keep_their_names_when_lines_are_moved(mutants, tmp_path, monkeypatch):
    source = "def f(a):\n    if a:\n        return a + 1\n    return a + 1\n"
    names = []
    for before in ("", "import math\n\n\n"):
        (tmp_path / "shown.py").write_text(before + source, encoding="utf-8")
        monkeypatch.setattr(mutants, "PACKAGE", tmp_path)
        names.append([each.name for each in mutants.mutants_of("shown")])
    assert names[0] == names[1]
    assert len(set(names[0])) == len(names[0])


def test_what_became_of_a_mutant_stands_until_its_function_changes(mutants, tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "PACKAGE", tmp_path)
    keys = []
    for first, second in (("a", "b"), ("a", "2 * b"), ("3 * a", "2 * b")):
        text = (
            f"def f(a):\n    return {first} + 1\n\ndef g(b):\n    c = b\n    return {second} + c\n"
        )
        (tmp_path / "shown.py").write_text(text, encoding="utf-8")
        found = mutants.mutants_of("shown")
        keys.append([{each.key for each in found if each.place == place} for place in "fg"])
    assert keys[0][0] == keys[1][0] != keys[2][0]
    assert keys[0][1].isdisjoint(keys[1][1])
    assert keys[1][1] == keys[2][1]


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """A module with functions of many kinds, loaded from a file."""
    monkeypatch.setattr(sys, "path", [str(ROOT), str(tmp_path), *sys.path])
    (tmp_path / "shown_to_be_patched.py").write_text(_SHOWN, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "shown_to_be_patched", raising=False)
    import shown_to_be_patched

    return shown_to_be_patched


_SHOWN = """
from functools import cached_property, lru_cache

def plain(x):
    return x + 1

@lru_cache
def remembered(x):
    return x + 2

def outer(y):
    def inner(x):
        return x + y + 3
    return inner

made = outer(0)

class Kind:
    def method(self, x):
        return x + 4
    @property
    def owned(self):
        return 0 + 5
    @cached_property
    def kept(self):
        return 0 + 6
    @staticmethod
    def static(x):
        return [x + 7 for _ in range(1)][0]

CONSTANT = 0 + 8
"""


@pytest.mark.parametrize(
    ("number", "call"),
    [
        (1, lambda module: module.plain(0)),
        (2, lambda module: module.remembered(0)),
        (3, lambda module: module.outer(0)(0)),
        (3, lambda module: module.made(0)),
        (4, lambda module: module.Kind().method(0)),
        (5, lambda module: module.Kind().owned),
        (6, lambda module: module.Kind().kept),
        (7, lambda module: module.Kind.static(0)),
    ],
)
def test_a_patch_is_run_by_functions_that_are_loaded(shown, number, call):
    from audits.mutation.patch import Loaded

    path = Path(shown.__file__)
    loaded = Loaded(path.parent)
    assert call(shown) == number
    assert loaded.patch(path, _SHOWN.replace(f"+ {number}", f"+ 1{number}"))
    assert call(shown) == 10 + number


def test_a_patch_keeps_other_functions_where_lines_are_moved(shown):
    from audits.mutation.patch import Loaded

    path = Path(shown.__file__)
    assert Loaded(path.parent).patch(path, _SHOWN.replace("return x + 1", "pass\n\n    return x"))
    assert (shown.plain(0), shown.remembered(0), shown.Kind().method(0)) == (0, 2, 4)


def test_a_constant_cannot_be_patched(shown):
    from audits.mutation.patch import Loaded

    path = Path(shown.__file__)
    assert not Loaded(path.parent).patch(path, _SHOWN.replace("0 + 8", "0 + 9"))
