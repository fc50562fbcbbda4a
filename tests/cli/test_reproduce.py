import subprocess
import sys

import pytest

from cli.runner import invoke

SMALL = ["--figure", "1", "--as", "printed", "--runs", "1", "--n", "300,1e3", "--jobs", "1"]


def run(*options):
    return invoke(["reproduce", *options])


def test_it_writes_what_it_lists(tmp_path):
    result = run(*SMALL, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    for name in ("results.csv", "results.parquet", "figure-1-printed.png", "figure-1-printed.svg"):
        assert name in result.output
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "5"], "figure must be 1, 2, 3, 4 or all"),
        (["--figure", "one"], "figure must be 1, 2, 3, 4 or all"),
        (["--runs", "0"], "runs must be a whole number of at least 1"),
        (["--n", "1"], "n must be a whole number"),
        (["--n", "many"], "n must be whole numbers with commas"),
        (["--n", "12.5"], "n must be a whole number"),
        (["--n", "inf"], "n must be a whole number"),
        (["--as", "holds", "--n", "1e7"], "every row is drawn"),
        (["--as", "claimed"], "claimed"),
        (["--jobs", "0"], "jobs must be"),
        (["--entries", "cauchy"], "cauchy"),
    ],
)
def test_bad_options_are_refused_with_a_reason(tmp_path, options, message):
    result = run("--out", str(tmp_path / "new"), *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "new" / "results.parquet").exists()


def test_an_unwritable_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(*SMALL, "--out", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "Cannot write into" in result.stderr


def test_the_folder_must_be_named():
    assert "--out" in run(*SMALL).stderr


def test_help_is_short_and_complete():
    text = subprocess.run(
        [sys.executable, "-m", "dpcov", "reproduce", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "100", "TERM": "dumb", "PATH": ""},
    ).stdout
    for option in ("--figure", "--as", "--runs", "--n", "--jobs", "--out", "--quick"):
        assert option in text
