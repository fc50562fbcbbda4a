import subprocess
import sys

import pytest

import dpcov
from cli.runner import invoke
from dpcov.cli import main
from dpcov.publication.verification import verify_folder


def run(*arguments):
    return invoke(arguments)


def test_the_demo_says_what_was_promised_and_what_was_learned():
    result = run("demo", "--people", "3000")
    assert result.exit_code == 0
    assert "(1, 1e-06)-differential privacy" in result.output
    assert "Learned:" in result.output


def test_the_demo_writes_a_folder_that_holds(tmp_path):
    out = tmp_path / "demo"
    assert run("demo", "--people", "3000", "--out", str(out)).exit_code == 0
    assert verify_folder(out).holds
    assert (out / "page.html").stat().st_size > 10_000
    assert run("demo", "--people", "3000", "--out", str(out)).exit_code == 1
    assert run("demo", "--people", "3000", "--out", str(out), "--force").exit_code == 0


@pytest.mark.parametrize(
    "arguments", [("--epsilon", "0"), ("--delta", "1"), ("--people", "1"), ("--epsilon", "x")]
)
def test_an_impossible_demo_is_refused(arguments):
    result = run("demo", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_the_version_is_shown():
    assert run("--version").output.strip() == f"dpcov {dpcov.__version__}"


def test_no_arguments_show_the_help():
    assert "demo" in run().output


def test_the_installed_command_runs():
    code = "import sys; sys.argv = ['dpcov', '--version']; from dpcov.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("dpcov ")


def test_without_typer_the_command_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "dpcov.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"pip install 'dpcov\[cli\]'"):
        main()
