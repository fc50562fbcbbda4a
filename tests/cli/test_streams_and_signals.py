"""The installed command with streams that are closed, full or left, and when it is stopped."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.publication import verify_folder, write_folder
from publication import releases

COMMAND = Path(sys.executable).with_name("dpcov")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(dpcov.__file__).parents[1]), "COLUMNS": "100"}
RELEASE = "release rows.npy --row-norm 4 --epsilon 1 --delta 0.1"  # such a delta is warned of
REPORTS = "local randomize t.csv --plan plan.json"  # which takes a third of the time
TIMEOUT = 600

pytestmark = pytest.mark.skipif(os.name == "nt", reason="speaks to a POSIX shell")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("user")
    np.save(place / "rows.npy", releases.table())
    (place / "t.csv").write_text("a,b\n" + "0.5,-0.5\n" * 40)
    plan = shell("local plan --columns a,b --row-norm 1 --epsilon 4", "> plan.json", place)
    assert plan.returncode == 0
    return place


def shell(arguments, redirection, cwd):
    return subprocess.run(
        [
            shutil.which("bash"),
            "-o",
            "pipefail",
            "-c",
            f"{shlex.quote(str(COMMAND))} {arguments} {redirection}",
        ],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@pytest.mark.parametrize(
    ("asked", "redirection"),
    [
        (RELEASE, ">&- 2>&- <&-"),
        (RELEASE, "| true"),
        (f"{RELEASE} --json", "2>&1 | true"),
        pytest.param(f"{RELEASE} --json", "> /dev/full 2> /dev/full", marks=needs_full),
        ("demo --people 2000", "| true"),
        (REPORTS, ">&-"),
        (REPORTS, "2>&-"),
        (REPORTS, "| true"),
        pytest.param(REPORTS, "2> /dev/full", marks=needs_full),
        pytest.param(REPORTS, "> /dev/full 2>&-", marks=needs_full),
    ],
)
def test_what_is_complete_is_a_success_wherever_the_output_goes(place, asked, redirection):
    out = f"out{len(list(place.iterdir()))}"
    done = shell(f"{asked} --out {out}", redirection, place)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert (place / out).is_file() or verify_folder(place / out).holds
    assert not list(place.glob(f".{out}*"))


@needs_full
def test_what_could_not_be_said_is_warned_of(place):
    done = shell(f"{RELEASE} --out warned", "> /dev/full", place)
    assert done.returncode == 0
    assert b"warned is complete, but not all of the output could be written" in done.stderr
    assert verify_folder(place / "warned").holds


@needs_full
def test_a_result_that_cannot_be_printed_is_still_a_failure(place):
    assert (
        shell(
            "plan --rows 99 --columns 3 --epsilon 1 --delta 1e-6", "> /dev/full", place
        ).returncode
        == 1
    )


@pytest.fixture(scope="module")
def read(place):
    """A folder that dpcov wrote."""
    release = releases.dense()
    write_folder(release, release.estimate(), place / "read")
    return place / "read"


@pytest.mark.parametrize("command", ["show", "verify", "verify --json", "card", "plan"])
def test_a_reader_that_leaves_is_no_failure(place, read, command):
    rest = "--rows 99 --columns 3 --epsilon 1 --delta 1e-6" if command == "plan" else "read"
    done = shell(f"{command} {rest}", "| true", place)
    assert (done.returncode, done.stderr.count(b"Error")) == (0, 0)


def test_a_reader_that_leaves_does_not_make_an_altered_folder_hold(place, read):
    shutil.copytree(read, place / "altered")
    (place / "altered" / "pairs.csv").write_text("")
    for command in ("show", "verify --json", "card"):
        assert shell(f"{command} altered", "| true", place).returncode == 1


@needs_full
def test_a_manual_that_has_nowhere_to_go_is_one_line(place):
    done = shell("--help", "> /dev/full", place)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1


def test_a_name_that_is_not_utf_8_is_refused_before_anything_is_spent(place):
    before = sorted(place.iterdir())
    done = shell(f"{RELEASE} --out $'caf\\xe9'", "", place)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"dpcov: 'caf\\udce9' is no name to write to")
    assert done.stderr.count(b"\n") == 1  # not even the warning of a delta that is spent
    assert sorted(place.iterdir()) == before


def start(place, *arguments, **options):
    return subprocess.Popen(
        [COMMAND, *arguments],
        cwd=place,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for(place, pattern):
    deadline = time.monotonic() + TIMEOUT
    while not list(place.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("number", "code", "force"),
    [
        (signal.SIGTERM, 143, ()),
        (signal.SIGHUP, 129, ()),
        (signal.SIGTERM, 143, ("--force",)),
        (signal.SIGINT, 130, ("--force",)),
    ],
)
def test_a_command_that_is_asked_to_stop_leaves_what_was_there(place, number, code, force):
    name = f"stopped{code}{len(force)}"
    if force:
        release = releases.dense()
        write_folder(release, release.estimate(), place / name)
    # Under nohup signals come ignored.
    heard = {"preexec_fn": lambda: signal.signal(number, signal.SIG_DFL)}
    process = start(place, *RELEASE.split(), "--out", name, *force, **heard)
    wait_for(place, f".{name}.????????????????")
    process.send_signal(number)
    _, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == code
    (line,) = [line for line in said.splitlines() if "Stopped" in line]
    assert line.startswith("dpcov: Stopped. Nothing was written, and nothing was published. ")
    assert line.endswith(("Nothing was spent.", "was not used.", "to do with the rows."))
    assert [path.name for path in place.glob(f"*{name}*")] == ([name] if force else [])
    if force:
        assert verify_folder(place / name).holds


def test_a_signal_that_is_ignored_stays_ignored(place):
    process = start(
        place,
        *RELEASE.split(),
        "--out",
        "ignored",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    wait_for(place, ".ignored.????????????????")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    assert verify_folder(place / "ignored").holds


def test_of_two_commands_at_the_same_time_one_is_refused(place):
    first = start(place, *RELEASE.split(), "--out", "shared")
    wait_for(place, ".shared.????????????????")
    second = start(place, *RELEASE.split(), "--out", "shared")
    _, refused = second.communicate(timeout=TIMEOUT)
    first.communicate(timeout=TIMEOUT)
    assert sorted([first.returncode, second.returncode]) == [0, 1]
    assert verify_folder(place / "shared").holds
    assert "is writing 'shared'" in refused or "not overwritten" in refused
    assert "delta" not in refused  # nothing was spent, so nothing is warned of


LATE = """
import atexit, os, signal, sys
from dpcov.cli import main
number = int(sys.argv.pop(1))
# Called while Python ends, long after the command returned.
atexit.register(os.kill, os.getpid(), number)
main()
"""


@pytest.mark.parametrize(
    ("asked", "number"),
    [
        (REPORTS, signal.SIGINT),
        (REPORTS, signal.SIGTERM),
        (REPORTS, signal.SIGHUP),
        (RELEASE, signal.SIGTERM),
        ("demo --people 2000", signal.SIGINT),
    ],
)
def test_a_signal_while_python_ends_does_not_undo_a_success(place, asked, number):
    out = f"late{len(list(place.iterdir()))}"
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(int(number)), *asked.split(), "--out", out],
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, b"Stopped" in done.stderr) == (0, False), done.stderr
    assert (place / out).exists()


LOADING = """
import builtins, os, signal, sys
from dpcov.cli import main
usual = builtins.__import__
def importing(name, *arguments, **more):
    if name == "numpy":
        os.kill(os.getpid(), signal.SIGINT)
    return usual(name, *arguments, **more)
builtins.__import__ = importing
main()
"""


def test_ctrl_c_while_a_command_is_loaded_is_said_in_one_line(place):
    done = subprocess.run(
        [sys.executable, "-c", LOADING, *RELEASE.split(), "--out", "unloaded"],
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    said = (done.returncode, done.stderr, done.stdout)
    assert said == (130, "dpcov: Stopped. Nothing was written.\n", "")
    assert not (place / "unloaded").exists()


ROOMS = """
import atexit, sys
from dpcov.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
main()
"""


def loaded_by(place, asked):
    """Return which modules a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", ROOMS, *asked.split()],
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("asked", ["--help", "--version", "nonsense"])
def test_what_needs_no_numbers_does_not_wait_for_numpy(place, asked):
    loaded = loaded_by(place, asked)
    assert "typer" in loaded
    assert not {"numpy", "pyarrow", "matplotlib"} & loaded


@pytest.mark.skipif(
    os.environ.get("DPCOV_TEST_LOWEST") == "1", reason="older pyarrow imports pandas by itself"
)
def test_a_release_of_a_file_does_not_wait_for_pandas(place):
    loaded = loaded_by(place, "release t.csv --row-norm 4 --epsilon 1 --delta 0.1 --out unframed")
    assert (place / "unframed").exists()
    assert {"numpy", "pyarrow", "matplotlib"} <= loaded
    assert not {"pandas", "dask", "dpcov.audit", "dpcov.collect"} & loaded
