"""Advice names a command that can be typed as it stands: with the options that were given."""

import re
import shlex

import numpy as np
import pytest

import dpcov
from cli.runner import invoke
from dpcov.collect import Collection
from dpcov.collect.store import DATABASE_VARIABLE, database_option
from dpcov.ledger.database import command_about, how_created

STUDY = """
title = "Sleep"
minimum = 50
[[questions]]
text = "How old are you?"
column = "age"
low = 18
high = 110
[[questions]]
text = "Do you sleep badly?"
column = "bad"
points = ["never", "at times", "always"]
"""
FIRST, OTHER = "collection", "our pilot"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.delenv(DATABASE_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def two_collections(tmp_path):
    """Make the collection that commands find first, and another; both are open."""
    (tmp_path / "study.toml").write_text(STUDY)
    plan = invoke(["local", "plan", "--study", "study.toml", "--epsilon", 4]).stdout
    (tmp_path / "plan.json").write_text(plan)
    for place in (FIRST, OTHER):
        made = invoke(
            ["collect", "simulate", "plan.json", "--people", 60, "--database", place, "--quiet"]
        )
        assert made.exit_code == 0


def typed(line, **more):
    """Type a line that stands at the end of what was said, and return what becomes of it."""
    words = shlex.split(line[line.index("dpcov ") :])
    return invoke([*words[1:], *more.get("also", ())])


def is_closed(place):
    with Collection.open(place) as collection:
        return collection.state.closed


@pytest.mark.usefixtures("two_collections")
def test_the_collection_that_a_release_advises_to_close_is_the_one_it_was_asked_for():
    refused = invoke(["collect", "release", "--database", OTHER, "--out", "out"])
    assert refused.exit_code == 1
    advice = refused.stderr.strip()
    assert advice.endswith("dpcov collect close --database 'our pilot'")
    assert typed(advice[advice.index("dpcov collect") :], also=["--yes"]).exit_code == 0
    assert (is_closed(FIRST), is_closed(OTHER)) == (False, True)


@pytest.mark.usefixtures("two_collections")
def test_what_a_status_advises_is_about_the_same_collection():
    for command, done in (("close", ["--yes"]), ("release", ["--quiet"])):
        line = invoke(["collect", "status", "--database", OTHER]).stdout.splitlines()[-1]
        assert f"dpcov collect {command} " in line
        assert typed(line, also=done).exit_code == 0
    assert not is_closed(FIRST)


@pytest.mark.usefixtures("two_collections")
def test_the_collection_of_the_environment_needs_no_option_and_the_usual_one_then_does(monkeypatch):
    assert database_option(FIRST) == ""
    monkeypatch.setenv(DATABASE_VARIABLE, OTHER)
    assert database_option(OTHER) == ""
    assert database_option(FIRST) == " --database collection"
    line = invoke(["collect", "status"]).stdout.splitlines()[-1]
    assert line.endswith("dpcov collect close")
    assert typed(line, also=["--yes"]).exit_code == 0
    assert is_closed(OTHER)


def test_a_collection_that_is_not_there_is_served_at_the_place_that_was_given():
    said = invoke(["collect", "status", "--database", "no where"]).stderr
    assert said.strip().endswith("dpcov collect serve PLAN --database 'no where'")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("postgresql://db.example/study", " --database postgresql://db.example/study"),
        ("postgresql://local/study", " --database postgresql:///study"),
    ],
)
def test_a_database_on_a_server_is_named_without_a_password(name, option):
    assert database_option(name) == option


def test_a_ledger_that_is_not_there_is_made_at_the_place_that_was_given():
    said = invoke(["ledger", "show", "our budget.db"]).stderr
    line = re.search(r"`(.*)`", said)[1]
    facts = {"POPULATION": "'Panel 2026'", "OWNER": "Office", "LIMIT": "0.5"}
    for word, fact in facts.items():
        line = line.replace(word, fact)
    assert typed(line).exit_code == 0
    assert dpcov.Ledger("our budget.db").lines()


def test_a_ledger_is_named_as_a_shell_takes_it():
    assert command_about("show", "our budget.db") == "dpcov ledger show 'our budget.db'"
    assert command_about("show", "postgresql://local/p") == "dpcov ledger show postgresql:///p"
    assert how_created("b.db").startswith("`dpcov ledger create b.db --population")


@pytest.fixture
def folder():
    """Write the folder of a release, with a name that needs quotes."""
    rows = np.random.default_rng(1).normal(size=(3000, 3))
    np.savetxt("rows.csv", rows, delimiter=",", header="x0,x1,x2", comments="")
    made = invoke(["release", "rows.csv", "--epsilon", 4, "--delta", "1e-6", "--out", "a b"])
    assert made.exit_code == 0, made.stderr
    return "a b"


def test_a_folder_that_was_altered_is_verified_with_the_line_that_is_said(folder, tmp_path):
    (tmp_path / folder / "pairs.csv").write_text("altered")
    said = invoke(["regress", folder, "x0 ~ x1"]).stderr
    line = re.search(r"`(dpcov verify .*?)`", said)[1]
    assert line == "dpcov verify 'a b'"
    assert typed(line).exit_code == 1
