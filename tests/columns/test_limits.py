"""Plans and files of facts that would fill the memory or the stack of a parser."""

import json
import subprocess
import sys

import pytest

from dpcov import local
from dpcov.columns import Columns
from dpcov.columns.limits import MOST_BYTES, json_problem
from dpcov.errors import CollectionPlanError, ParameterError

DEEP_JSON = {
    "lists in lists": "[" * 100_000,
    "tables in tables": '{"a":' * 100_000,
    "a list without end": "[" + "[]," * 700_000 + "[]]",
    "a long number": "9" * 4_000_000,
}


@pytest.mark.parametrize("kind", ["lists in lists", "tables in tables"])
@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_deep_file_is_refused(tmp_path, ending, kind):
    path = tmp_path / f"c.{ending}"
    path.write_text("a = " + "[" * 100_000 if ending == "toml" else DEEP_JSON[kind])
    with pytest.raises(ParameterError, match="is not valid"):
        Columns.load(path)


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


LONG = MOST_BYTES - 100
LONG_STRINGS = {
    "a string": '{"columns": {"' + "x" * LONG + '": 1}}',
    "an open string": '{"' + "x" * LONG,
    "escapes": '{"' + "\\n" * 500_000 + "x" * (LONG - 1_000_000),
}
SCAN = """
import resource, sys
from dpcov.columns.limits import json_problem
text = open(sys.argv[1]).read()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28),) * 2)
json_problem(text, most_deep=3)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as on Linux")
@pytest.mark.parametrize("kind", LONG_STRINGS)
def test_a_long_string_is_scanned_in_little_memory(kind, tmp_path):
    path = tmp_path / "long.json"
    path.write_text(LONG_STRINGS[kind])
    command = [sys.executable, "-c", SCAN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
