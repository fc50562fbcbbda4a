"""The page for users of R, run as it stands: set DPCOV_TEST_R=1, or `make test-r`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "r.md"
R = shutil.which("Rscript")
pytestmark = pytest.mark.skipif(
    os.environ.get("DPCOV_TEST_R") != "1" or R is None,
    reason="needs R with lavaan, and DPCOV_TEST_R=1",
)


def run(command, folder):
    """Run a command in a folder and return what it printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return what R and the commands print when a reader follows the page from top to bottom."""
    folder = tmp_path_factory.mktemp("page")
    program, found = "", ""
    for language, block in re.findall(r"```(r|sh)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        if language == "sh":
            (folder / "page.R").write_text(program)
            run([R, "--vanilla", "page.R"], folder)
            for line in block.splitlines():
                run(line.split(), folder)
        elif block.startswith("model <- "):
            exported = folder / "survey-lavaan" / "model.R"
            before, _, rest = exported.read_text().partition("model <- '\n")
            exported.write_text(before + block + rest.split("\n'\n", 1)[1])
        else:
            program += block
    (folder / "page.R").write_text(program)
    found += run([R, "--vanilla", "page.R"], folder)
    return found + run([R, "--vanilla", "survey-lavaan/model.R"], folder)


def test_r_prints_what_the_page_shows(printed):
    shown = re.findall(r"```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    lines = [line.rstrip() for block in shown for line in block.splitlines() if line.strip("… ")]
    seen = {line.rstrip() for line in printed.splitlines()}
    assert len(lines) > 30
    assert [line for line in lines if line not in seen] == []
