"""Commands that write: what they refuse, and what they never lose. In this process."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import dpcov
from cli.runner import invoke
from dpcov.errors import FolderError
from dpcov.report import verify_folder, write_folder
from dpcov.report.ownership import is_whole
from dpcov.report.replacement import write_aside
from dpcov.writing import locate_target, reserve
from report import releases

PROMISE = ("--epsilon", "1", "--delta", "1e-6", "--row-norm", "4")


def run(*arguments):
    return invoke(arguments)


def contents(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A place with data, facts, a plan, reports and a published folder."""
    import pandas as pd

    place = tmp_path_factory.mktemp("user")
    (place / "d").mkdir()
    frame = pd.DataFrame(releases.table(), columns=list("abcde"))
    frame.to_parquet(place / "d" / "survey.parquet")
    frame.head(20).to_csv(place / "t.csv", index=False)
    facts = "".join(f'[columns."{name}"]\nlower = -5\nupper = 5\n' for name in "abcde")
    (place / "facts.toml").write_text(facts)
    release = releases.dense()
    write_folder(release, release.estimate(), place / "survey", name="Survey")
    stated = ("--columns", "a,b,c,d,e", "--row-norm", 1, "--epsilon", 2)
    (place / "plan.json").write_text(run("local", "plan", *stated).stdout)
    asked = ("local", "randomize", place / "t.csv", "--plan", place / "plan.json")
    assert run(*asked, "--out", place / "r.bin").exit_code == 0
    return place


@pytest.fixture
def place(tmp_path, monkeypatch, made):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def spent(monkeypatch):
    """What was spent: nothing, if a command is refused in time."""
    calls = []
    monkeypatch.setattr(dpcov, "release", lambda *_, **__: calls.append(1))
    monkeypatch.setattr(dpcov.local, "randomize", lambda *_, **__: calls.append(1))
    monkeypatch.setattr(dpcov.local.Collector, "release", lambda *_: calls.append(1))
    monkeypatch.setattr(dpcov.Release, "estimate", lambda *_, **__: calls.append(1))
    return calls


RELEASE = ("release", "d/survey.parquet", *PROMISE)
RANDOMIZE = ("local", "randomize", "t.csv", "--plan", "plan.json")
COLLECT = ("local", "collect", "r.bin", "--plan", "plan.json")


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
@pytest.mark.parametrize(
    "asked",
    [
        (*RELEASE, "--out", "d"),
        (*RELEASE, "--out", "../{name}/d"),
        (*RELEASE, "--out", "d/survey.parquet"),
        ("release", "d", *PROMISE, "--out", "d"),
        ("release", "d", *PROMISE, "--out", "d/new"),
        ("release", "t.csv", *PROMISE, "--columns", "facts.toml", "--out", "facts.toml"),
        ("release", "survey/covariance.parquet", *PROMISE, "--out", "survey"),
        ("release", "d/survey.parquet", "--columns", "survey/f.toml", *PROMISE, "--out", "survey"),
        (*RANDOMIZE, "--out", "t.csv"),
        (*RANDOMIZE, "--out", "plan.json"),
        (*COLLECT, "--out", "r.bin"),
        (*COLLECT, "--out", "plan.json"),
        ("local", "collect", "survey/r.bin", "--plan", "plan.json", "--out", "survey"),
        ("estimate", "survey/release.npz", "--out", "survey"),
        ("estimate", "survey", "--out", "survey"),
        ("estimate", "survey", "--out", "survey/soft"),
    ],
)
def test_what_is_written_stays_apart_from_what_is_read(place, spent, asked, force):
    before = contents(place)
    result = run(*(str(part).replace("{name}", place.name) for part in asked), *force)
    assert (result.exit_code, spent) == (1, [])
    assert "Write somewhere else" in result.stderr
    assert result.stderr.count("\n") == 1
    assert contents(place) == before


@pytest.mark.parametrize("asked", [RELEASE, COLLECT, ("estimate", "survey")], ids=lambda a: a[0])
def test_force_names_the_files_that_stand_in_the_way(place, spent, asked):
    shutil.copytree("survey", "target")
    (place / "target" / "notes.txt").write_text("dear")
    before = contents(place)
    result = run(*asked, "--out", "target", "--force")
    assert (result.exit_code, spent) == (1, [])
    assert "notes.txt" in result.stderr
    assert "Move these files, or choose another folder." in result.stderr
    assert contents(place) == before


@pytest.mark.parametrize(
    "out",
    [
        os.fsdecode(b"caf\xe9"),
        "a\nb",
        "x" * 240,
        "nowhere/new",
        "t.csv/new",
        "",
        ".",
        "..",
        "/",
        "/proc/new",
    ],
)
@pytest.mark.parametrize(
    "asked", [RELEASE, COLLECT, ("estimate", "survey"), RANDOMIZE, ("demo",)], ids=lambda a: a[0]
)
def test_a_place_that_cannot_be_written_to_is_refused_in_time(place, spent, asked, out):
    before = contents(place)
    result = run(*asked, "--out", out)
    assert (result.exit_code, spent) == (1, [])
    assert result.stderr.count("\n") == 1
    assert contents(place) == before


@pytest.mark.parametrize("asked", [RELEASE, COLLECT, ("estimate", "survey"), ("demo",)])
def test_a_second_writer_is_refused_before_it_spends(place, spent, asked):
    with write_aside("new"):
        for force in ((), ("--force",)):
            result = run(*asked, "--out", "new", *force)
            assert (result.exit_code, spent) == (1, [])
            assert "Another run of dpcov is writing 'new'" in result.stderr


def test_a_second_file_of_reports_is_refused_before_it_is_made(place, spent):
    with reserve(locate_target("new.bin")):
        result = run(*RANDOMIZE, "--out", "new.bin")
    assert (result.exit_code, spent) == (1, [])
    assert "Another run of dpcov is writing 'new.bin'" in result.stderr


@pytest.mark.parametrize("kind", ["table", "empty", "torn", "other plan", "folder", "link"])
def test_force_replaces_a_file_of_reports_for_this_plan_and_no_other(place, spent, kind):
    target = place / "target.bin"
    if kind == "table":
        target.write_text("a,b\n1,2\n")
    elif kind == "empty":
        target.write_bytes(b"")
    elif kind == "torn":
        target.write_bytes((place / "r.bin").read_bytes()[:-1])
    elif kind == "other plan":
        octets = (place / "r.bin").read_bytes()
        target.write_bytes(octets[:-50] + b"x" + octets[-49:])  # the plan's id of the last one
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(place / "r.bin")
    before = contents(place)
    result = run(*RANDOMIZE, "--out", target, "--force")
    assert (result.exit_code, spent) == (1, [])
    assert "is not a file of reports for this plan" in result.stderr
    assert contents(place) == before


def test_force_replaces_reports_and_warns(place):
    before = (place / "r.bin").read_bytes()
    result = run(*RANDOMIZE, "--out", "r.bin", "--force")
    assert result.exit_code == 0
    assert "second reports of the same people" in result.stderr
    after = (place / "r.bin").read_bytes()
    assert len(after) == len(before)
    assert after != before
    assert not list(place.glob(".r.bin*"))


def test_reports_that_a_killed_run_left_are_deleted(place):
    target = locate_target("new.bin")
    with reserve(target) as held:
        held.keep = True
        target.aside(held.token).write_bytes(b"half")
    assert run(*RANDOMIZE, "--out", "new.bin").exit_code == 0
    assert [path.name for path in place.glob("*new.bin*")] == ["new.bin"]


def test_a_fault_while_it_is_described_does_not_undo_a_folder(place, monkeypatch):
    def fail(*_):
        raise RuntimeError("somebody's row: 4711")

    monkeypatch.setattr("dpcov.cli.publishing.findings", fail)
    result = run(*RELEASE, "--out", "new")
    assert result.exit_code == 0
    assert verify_folder(place / "new").holds
    assert "warning: new is complete, but not all of the output" in result.stderr
    assert "4711" not in result.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_when_the_folder_is_complete_comes_too_late(place, monkeypatch, number):
    rename = os.rename

    def stopped(*arguments):
        rename(*arguments)
        signal.raise_signal(number)

    monkeypatch.setattr(os, "rename", stopped)
    result = run(*RELEASE, "--out", "new")
    assert (result.exit_code, "Stopped" in result.stderr) == (0, False)
    assert verify_folder(place / "new").holds
    assert not list(place.glob(".new*"))


def test_a_file_that_comes_into_being_while_reports_are_made_is_not_overwritten(place, monkeypatch):
    link = os.link

    def too_late(source, target):
        Path(target).write_text("dear")
        link(source, target)

    monkeypatch.setattr(os, "link", too_late)
    assert run(*RANDOMIZE, "--out", "new.bin").exit_code == 1
    assert (place / "new.bin").read_text() == "dear"
    assert not list(place.glob(".new*"))


def hide(place):
    target = locate_target(place / "survey")
    with reserve(target) as held:
        held.keep = True
        (place / "survey").rename(target.aside(held.token))
    return target.aside(held.token)


@pytest.mark.parametrize("command", ["verify", "show", "card"])
def test_a_hidden_folder_is_found_and_how_to_get_it_back_is_said(place, command):
    hidden = hide(place)
    result = run(command, "survey")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"left it complete as {str(hidden)!r}. Rename that to 'survey'" in result.stderr


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
def test_a_release_puts_a_hidden_folder_back_and_spends_nothing(place, spent, force):
    hide(place)
    result = run(*RELEASE, "--out", "survey", *force)
    assert (result.exit_code, spent) == (1, [])
    assert "It has its name again" in result.stderr
    assert is_whole(place / "survey")
    assert not list(place.glob(".survey*"))


def test_leftovers_are_said(place):
    (place / ".new.0123456789abcdef").mkdir()
    result = run(*RELEASE, "--out", "new")
    assert result.exit_code == 0
    assert "dpcov: warning: " in result.stderr
    assert ".new.0123456789abcdef' looks like what a run of dpcov leaves" in result.stderr


def test_a_study_is_not_written_over_other_files(tmp_path):
    (tmp_path / "figure-1-printed.png").write_bytes(b"dear")
    small = ("--figure", "1", "--as", "printed", "--runs", "1", "--n", "300", "--jobs", "1")
    result = run("reproduce", *small, "--out", tmp_path)
    assert result.exit_code == 2
    assert "figure-1-printed.png" in result.stdout + result.stderr
    assert contents(tmp_path) == {"figure-1-printed.png": b"dear"}


def test_a_folder_that_is_refused_is_refused_in_python_too(place):
    np.save(place / "survey" / "rows.npy", releases.table())
    release = releases.dense()
    with pytest.raises(FolderError, match=r"rows\.npy"):
        write_folder(release, release.estimate(), place / "survey", force=True)
    assert (place / "survey" / "rows.npy").exists()
