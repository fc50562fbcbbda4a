"""Commands that write: what they refuse, and what they never lose. In this process."""

import errno
import os
import shutil
import signal
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcov
from cli.runner import invoke
from dpcov.cli import report_files
from dpcov.errors import FolderError
from dpcov.publication import verify_folder, write_folder
from dpcov.publication.ownership import is_whole
from dpcov.publication.replacement import write_aside
from dpcov.writing import locate_target, reserve
from dpcov.writing.signals import STOPPING
from publication import releases

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

    def too_late(source, target, **options):
        Path(target).write_text("dear")
        link(source, target, **options)

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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("asked", [RELEASE, RANDOMIZE, ("demo", "--people", "2000")])
def test_a_signal_after_all_was_said_comes_too_late(place, monkeypatch, asked, number):
    class Streams:
        """The last that a command does is to flush: the signal comes then."""

        def __getattr__(self, name):
            return getattr(sys, name)

        @property
        def stdout(self):
            signal.raise_signal(number)
            return sys.stdout

    monkeypatch.setattr("dpcov.cli.terminal.sys", Streams())
    before = signal.getsignal(number)
    result = run(*asked, "--out", "new")
    assert (result.exit_code, "Stopped" in result.stderr) == (0, False)
    assert signal.getsignal(number) is before


def test_a_caller_in_the_same_process_gets_their_handlers_back(place):
    before = [signal.getsignal(number) for number in STOPPING]
    assert run(*RELEASE, "--out", "new").exit_code == 0
    assert [signal.getsignal(number) for number in STOPPING] == before


def test_a_file_that_takes_the_name_of_reports_is_not_replaced(place, monkeypatch):
    check = report_files._check_target
    checks = []

    def too_late(target, *rest):
        check(target, *rest)
        checks.append(1)
        if len(checks) == 3:  # the last look at it
            (place / "thesis").write_text("dear")
            (place / "thesis").replace(target.path)

    monkeypatch.setattr(report_files, "_check_target", too_late)
    result = run(*RANDOMIZE, "--out", "r.bin", "--force")
    assert result.exit_code == 1
    assert "is not a file of reports for this plan" in result.stderr
    assert (place / "r.bin").read_text() == "dear"
    assert not list(place.glob(".r.bin*"))


def test_reports_that_lost_their_name_and_could_not_be_replaced_are_said(place, monkeypatch):
    link = os.link
    before = (place / "r.bin").read_bytes()

    def too_late(source, target, **options):
        Path(target).write_text("dear")
        link(source, target, **options)

    monkeypatch.setattr(os, "link", too_late)
    result = run(*RANDOMIZE, "--out", "r.bin", "--force")
    (kept,) = place.glob(".r.bin.*.old")
    assert (result.exit_code, kept.name in result.stderr) == (1, True)
    assert (place / "r.bin").read_text() == "dear"
    assert kept.read_bytes() == before


def test_reports_that_a_killed_run_took_the_name_from_get_it_back(place):
    target = locate_target("r.bin")
    before = (place / "r.bin").read_bytes()
    with reserve(target) as held:
        held.keep = True
        target.aside(held.token).write_bytes(before)
        (place / "r.bin").rename(target.old(held.token))
    assert run(*RANDOMIZE, "--out", "r.bin").exit_code == 1
    assert (place / "r.bin").read_bytes() == before
    assert [path.name for path in place.glob("*r.bin*")] == ["r.bin"]


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EPERM])
def test_a_folder_that_cannot_lose_its_name_is_refused_before_anything_is_spent(
    place, spent, monkeypatch, number
):
    def refuse(source, _):
        raise OSError(number, os.strerror(number), str(source))

    monkeypatch.setattr(os, "rename", refuse)
    before = contents(place)
    result = run(*RELEASE, "--out", "survey", "--force")
    assert (result.exit_code, spent) == (1, [])
    assert os.strerror(number).lower() in result.stderr
    assert contents(place) == before


def test_a_mount_point_is_refused_before_anything_is_spent(place, spent, monkeypatch):
    lstat = os.lstat

    def mounted(path, **options):
        about = lstat(path, **options)
        if Path(path) != place / "survey":
            return about
        fields = list(about)
        fields[stat.ST_DEV] += 1
        return os.stat_result(fields)

    monkeypatch.setattr(os, "lstat", mounted)
    result = run(*RELEASE, "--out", "survey", "--force")
    assert (result.exit_code, spent) == (1, [])
    assert "where another file system begins" in result.stderr


def test_a_place_without_room_is_refused_before_anything_is_spent(place, spent, monkeypatch):
    def full(path, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    result = run(*RELEASE, "--out", "new")
    assert (result.exit_code, spent) == (1, [])
    assert "no space left on device. Nothing was spent" in result.stderr
    assert not list(place.glob("*new*"))


@pytest.mark.skipif(os.name == "nt", reason="file modes are a POSIX matter")
def test_a_folder_can_be_filled_whatever_new_folders_are_allowed(tmp_path):
    before = os.umask(0o377)
    try:
        with write_aside(tmp_path / "new") as aside:
            mode = stat.S_IMODE(aside.folder.stat().st_mode)
    finally:
        os.umask(before)
    assert mode == 0o700


def test_what_was_spent_and_could_not_be_published_is_said(place, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dpcov.cli.publishing.fill_folder", full)
    result = run(*RELEASE, "--out", "new")
    assert result.exit_code == 1
    assert "noise had been drawn" in result.stderr
    assert "Nothing was published, and the budget counts as spent" in result.stderr
    free = run("estimate", "survey", "--out", "new")
    assert (free.exit_code, "noise" in free.stderr) == (1, False)


def test_a_name_is_said_to_be_one(place):
    release = releases.dense()
    write_folder(release, release.estimate(), place / "sly", name="Promised: epsilon = 0.001.")
    said = run("show", "sly").stdout.splitlines()
    assert said[0] == "Name: Promised: epsilon = 0.001."
    assert sum(line.startswith("Promised:") for line in said) == 1
