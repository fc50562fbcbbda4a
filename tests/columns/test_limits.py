"""Files of facts, and plans, that would fill the memory or the stack of a parser."""

import json
import subprocess
import sys

import pytest

from dpcov import local
from dpcov.columns import Columns
from dpcov.columns.limits import MOST_BYTES, json_problem, toml_problem
from dpcov.errors import CollectionPlanError, ParameterError

DEEP_TOML = {
    "a dotted key": "a" + ".a" * 200_000 + " = 1",
    "a dotted heading": "[a" + ".a" * 200_000 + "]",
    "spaces around points": "[a" + " . a" * 100_000 + "]",
    "parts in quotes": "[a" + '."a"' * 100_000 + "]",
    "empty parts": '[""' + ".''" * 100_000 + "]",
    "tables in tables": "a = " + "{a=" * 100_000,
    "lists in lists": "a = " + "[" * 100_000,
    "closed before they are opened": "a = " + "]" * 100_000 + "[" * 1000,
    "behind a string of several lines": 'a = [""" " """, {b' + ".b" * 100_000 + "=1}]",
    "behind another": "a = [''' ' ''', {b" + ".b" * 100_000 + "=1}]",
    "tables without end": "[[a]]\n" * 700_000,
    "a list without end": "a=[" + "1," * 700_000 + "]",
    "escapes without end": '"' + '\\"' * 700_000,
    "a long number": "a = " + "9" * 4_000_000,
    "a long word": "a" * 4_000_000,
}
DEEP_JSON = {
    "lists in lists": "[" * 100_000,
    "tables in tables": '{"a":' * 100_000,
    "a list without end": "[" + "[]," * 700_000 + "[]]",
    "a long number": "9" * 4_000_000,
}
LOAD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
from dpcov.columns import Columns
from dpcov.errors import ParameterError
for path in sys.argv[1:]:
    try:
        Columns.load(path)
    except ParameterError as error:
        print(str(error)[:300])
"""


def in_small_memory(*paths):
    """Load files with at most 2 GiB of addresses, and return what was said of each."""
    command = [sys.executable, "-c", LOAD, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.splitlines()


def test_deep_and_endless_files_are_refused_before_they_are_parsed(tmp_path):
    paths = []
    for ending, texts in ((".toml", DEEP_TOML), (".json", DEEP_JSON)):
        for place, text in enumerate(texts.values()):
            paths.append(tmp_path / f"{place}{ending}")
            paths[-1].write_text(text)
    said = in_small_memory(*paths)
    assert len(said) == len(paths)
    assert all("cannot be read as a file of columns. It " in line for line in said)


@pytest.mark.parametrize("kind", DEEP_TOML)
def test_the_scan_of_toml_says_what_is_too_much(kind):
    assert toml_problem(DEEP_TOML[kind], most_deep=3).startswith("It ")


@pytest.mark.parametrize("kind", DEEP_JSON)
def test_a_deep_plan_is_refused_before_it_is_parsed(kind, monkeypatch):
    monkeypatch.setattr("dpcov.local.plan_json.json.loads", None)
    with pytest.raises(CollectionPlanError, match=r"cannot be read as a collection plan\. It "):
        local.CollectionPlan.from_json(DEEP_JSON[kind])


def test_a_plan_of_any_length_is_refused():
    with pytest.raises(CollectionPlanError, match="at most 16 MiB"):
        local.CollectionPlan.from_json(" " * (MOST_BYTES + 1))


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_file_that_is_too_large_is_refused(tmp_path, ending):
    path = tmp_path / f"c.{ending}"
    path.write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(ParameterError, match="more than 16 MiB"):
        Columns.load(path)


def test_fifty_thousand_columns_with_all_facts_are_within_the_limits():
    facts = {"lower": -1000.25, "upper": 1000.25, "center": 10.5, "scale": 20.5}
    columns = {f"a name of some {place} letters": facts for place in range(50_000)}
    text = json.dumps({"columns": columns}, indent=1)
    assert len(text) < MOST_BYTES
    assert json_problem(text, most_deep=3) == ""
    lines = "".join(f"{fact} = {value}\n" for fact, value in facts.items())
    text = "".join(f'[columns."{name}"]   # whole number\n{lines}\n' for name in columns)
    assert len(text) < MOST_BYTES
    assert toml_problem(text, most_deep=3) == ""


@pytest.mark.parametrize(
    "text",
    [
        '[columns."a.b.c.d.e.f"]\nlower = 0.5\nupper = 1.5\n',
        "columns = {a = {lower = 0.5, upper = 1.5}, b.lower = 0.5, b.upper = 1.5}",
        "columns.a.lower = 0.5 # a.b.c.d.e.f [[[[[\ncolumns.a.upper = 1.5",
        "columns.'[[[[{{{{'.lower = 0.5\ncolumns.'[[[[{{{{'.upper = 1.5",
        'columns."\\"[[[[".lower = 0.5\ncolumns."\\"[[[[".upper = 1.5',
    ],
)
def test_points_and_brackets_in_names_and_notes_are_no_nesting(tmp_path, text):
    (tmp_path / "c.toml").write_text(text)
    column = Columns.load(tmp_path / "c.toml").facts[0]
    assert (column.lower, column.upper) == (0.5, 1.5)


LONG = MOST_BYTES - 100
LONG_STRINGS = {
    ".json": {
        "a string": '{"columns": {"' + "x" * LONG + '": 1}}',
        "an open string": '{"' + "x" * LONG,
        "escapes": '{"' + "\\n" * 500_000 + "x" * (LONG - 1_000_000),
    },
    ".toml": {
        "a string": '"' + "x" * LONG + '" = 1',
        "an open string": '"' + "x" * LONG,
        "escapes": '"' + "\\n" * 500_000 + "x" * (LONG - 1_000_000),
    },
}
SCAN = """
import resource, sys
from dpcov.columns.limits import json_problem, toml_problem
text = open(sys.argv[1]).read()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28),) * 2)
(json_problem if sys.argv[1].endswith("json") else toml_problem)(text, most_deep=3)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as on Linux")
@pytest.mark.parametrize("kind", ["a string", "an open string", "escapes"])
@pytest.mark.parametrize("ending", [".json", ".toml"])
def test_a_long_string_is_scanned_in_little_memory(ending, kind, tmp_path):
    path = tmp_path / f"long{ending}"
    path.write_text(LONG_STRINGS[ending][kind])
    command = [sys.executable, "-c", SCAN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
