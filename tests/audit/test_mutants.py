"""What is broken on purpose, and the list of what no test notices."""

import sys
from collections import Counter
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
KINDS = {"equivalent", "slack", "accuracy", "refusal"}


def survivors():
    files = sorted((ROOT / "audits" / "mutation" / "survivors").glob("*.toml"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return tomllib.loads(text).get("survivors", [])


def test_every_survivor_has_a_kind_and_a_reason():
    assert all(each["kind"] in KINDS and len(each["reason"]) > 10 for each in survivors())


def test_no_survivor_is_listed_twice():
    names = [name for each in survivors() for name in each["mutants"]]
    assert len(set(names)) == len(names)


def test_every_reason_is_on_the_page():
    page = (ROOT / "docs" / "mutation.md").read_text(encoding="utf-8")
    assert all(each["reason"] in page for each in survivors())


def standing():
    path = ROOT / "audits" / "mutation" / "standing.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_every_module_of_the_four_rooms_stands_in_the_record():
    package = ROOT / "src" / "dpcov"
    found = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for room in ("privacy", "exact", "mechanisms", "sensitive")
        for path in (package / room).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert set(standing()) == found


def test_mutants_that_were_tried_were_killed_ran_out_of_time_or_survived():
    for each in standing().values():
        assert each["killed"] + each["timeouts"] + each["survived"] == each["tried"]
        assert each["tried"] <= each["mutants"]


def test_no_module_has_more_known_survivors_than_survived():
    names = [name for each in survivors() for name in each["mutants"]]
    known = Counter(name.split(" | ")[0].split(" ")[0].split(":")[0] for name in names)
    survived = {module: each["survived"] for module, each in standing().items()}
    assert {module for module in known if known[module] > survived.get(module, 0)} == set()


def test_the_page_has_the_numbers_of_the_record():
    page = (ROOT / "docs" / "mutation.md").read_text(encoding="utf-8")
    for module, each in standing().items():
        numbers = (each[key] for key in ("mutants", "tried", "killed", "timeouts"))
        assert f"| `{module}` | {' | '.join(f'{number:,}' for number in numbers)} |" in page


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
