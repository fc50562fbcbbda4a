"""`dpcov collect` on a folder: what a person types, with what is wrong, too."""

import hashlib
import json
import socket

import numpy as np
import pytest
from typer.testing import CliRunner

import dpcov
from dpcov import local
from dpcov.cli.app import app
from dpcov.collect import Collection

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


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    made = run("local", "plan", "--study", tmp_path / "study.toml", "--epsilon", 4)
    (tmp_path / "plan.json").write_text(made.stdout)
    return tmp_path / "plan.json"


def run(*words, code=0, **options):
    result = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert result.exit_code == code, result.output
    return result


def test_a_study_goes_from_made_up_people_to_a_folder(tmp_path, plan):
    pilot, out = tmp_path / "pilot", tmp_path / "out"
    said = run("collect", "simulate", plan, "--people", 3000, "--database", pilot)
    assert "3,000 made-up reports; open" in said.stdout
    assert f"close --database {pilot}" in said.stdout
    status = json.loads(run("collect", "status", "--database", pilot, "--json").stdout)
    assert (status["reports"], status["open"], status["minimum"]) == (3000, True, 50)
    run("collect", "release", "--database", pilot, "--out", out, code=1)
    assert "is closed, with 3,000" in run("collect", "close", "--yes", "--database", pilot).stdout
    assert "closed already" in run("collect", "close", "--database", pilot).stdout
    run("collect", "release", "--database", pilot, "--out", out, "--quiet")
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    assert card["identity"]["name"] == "Sleep"
    reports = tmp_path / "reports.bin"
    assert (
        "3,000 reports of 50 bytes"
        in run("collect", "export", "--database", pilot, "--out", reports).stdout
    )
    digest = hashlib.sha256(reports.read_bytes()).hexdigest()
    assert card["collection"]["digest"] == f"sha256:{digest}"
    assert card["collection"]["reports"] == 3000
    assert digest in (out / "page.html").read_text(encoding="utf-8")
    run("verify", out)
    again = run("collect", "export", "--database", pilot, "--out", reports, code=1)
    assert "State another name" in again.output


def test_collections_are_merged(tmp_path, plan):
    made = local.CollectionPlan.from_json(plan.read_text())
    for name, rows in (("a", [[30, 1]] * 3), ("b", [[40, 2]] * 2)):
        with Collection.create(tmp_path / name, made) as collection:
            collection.add_many([local.randomize(row, made) for row in rows])
    said = run("collect", "merge", tmp_path / "a", tmp_path / "b", "--into", tmp_path / "all")
    assert "5 reports; open" in said.stdout


def test_a_ledger_is_told_once(tmp_path, plan):
    book, place = tmp_path / "budget.db", tmp_path / "c"
    dpcov.Ledger.create(book, population="people", owner="me", epsilon=40.0, delta=1e-5)
    made = local.CollectionPlan.from_json(plan.read_text())
    with Collection.create(place, made) as collection:
        collection.add_many([local.randomize([30, 1], made) for _ in range(60)])
        collection.close()
    for number in range(2):
        told = run(
            *("collect", "release", "--database", place, "--out", tmp_path / f"o{number}"),
            *("--ledger", book, "--quiet"),
        )
        assert ("entered into the ledger" in told.output) == (number == 0)
    folder = tmp_path / "o0"
    digest = json.loads((folder / "card.json").read_text(encoding="utf-8"))["collection"]["digest"]
    assert digest.removeprefix("sha256:") in (folder / "card.md").read_text(encoding="utf-8")
    entries = [line for line in dpcov.Ledger(book).lines() if line.get("kind") == "entry"]
    assert [made.id in line["name"] for line in entries] == [True]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["status", "--database", "nowhere"], "There is no collection"),
        (["serve", "nothing.json"], "No such file"),
        (["serve", "PLAN", "--workers", "2"], "postgresql://"),
        (["serve", "PLAN", "--public-url", "http://x"], "https://"),
        (["serve", "PLAN", "--token-file", "nothing"], "token cannot be read"),
        (["serve", "PLAN", "--account", "x"], "--ledger"),
        (["simulate", "PLAN", "--people", "3"], "either --database or --url"),
        (["simulate", "PLAN", "--people", "3", "--url", "ftp://x"], "http://"),
        (["merge", "nowhere", "--into", "x"], "There is no collection"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, plan, monkeypatch, words, problem):
    monkeypatch.chdir(tmp_path)
    words = [str(plan) if word == "PLAN" else word for word in words]
    result = CliRunner().invoke(app, ["collect", *words])
    assert result.exit_code in (1, 2)
    assert problem in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_port_that_is_taken_is_found_before_anything_is_made(tmp_path, plan):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        place = tmp_path / "c"
        result = run("collect", "serve", plan, "--port", port, "--database", place, code=1)
    assert "another --port" in result.output
    assert not place.exists()


def test_answers_of_made_up_people_are_possible_ones():
    from dpcov.collect.simulation import answers

    study = local.Study(
        title="x",
        questions=[
            local.NumberQuestion("?", "n", low=-3, high=9, step=0.5),
            local.ScaleQuestion("?", "s", ["a", "b", "c"]),
            local.ChoiceQuestion("?", [local.Choice("p"), local.Choice("q", "q")]),
        ],
    )
    rows = answers(study.plan(epsilon=1.0), 4000, correlation=0.8, rng=np.random.default_rng(1))
    assert rows[:, 0].min() >= -3
    assert rows[:, 0].max() <= 9
    assert set(np.unique(rows[:, 1])) == {1.0, 2.0, 3.0}
    assert set(np.unique(rows[:, 2])) == {0.0, 1.0}
    assert np.corrcoef(rows[:, 0], rows[:, 1])[0, 1] > 0.6
