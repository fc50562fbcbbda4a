"""What the package says of itself: one version everywhere, its Pythons, its extras, its types."""

import json
import re
import runpy
import shutil
import subprocess
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import dpcov

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
NEWEST = 14
VERSIONED = re.compile(r"^## ([0-9.]+) \((\d{4}-\d{2}-\d{2})\)$", re.M)


def text(*parts):
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def newest_change():
    return VERSIONED.search(text("CHANGELOG.md"))


def test_the_installed_package_has_the_version_of_the_code():
    # An editable installation of an older version says an older one: make clean, then make test.
    assert version("dpcov") == dpcov.__version__


def test_the_command_tells_the_version():
    from typer.testing import CliRunner

    from dpcov.cli.app import app

    assert CliRunner().invoke(app, ["--version"]).output.strip().endswith(dpcov.__version__)


def test_the_newest_part_of_the_changelog_is_about_this_version():
    assert newest_change()[1] == dpcov.__version__


def test_what_is_not_released_yet_stands_first_in_the_changelog():
    headings = re.findall(r"^## (.*)$", text("CHANGELOG.md"), re.M)
    assert headings[0] == "Unreleased"


def test_the_citation_is_of_this_version_and_its_day():
    lines = text("CITATION.cff").splitlines()
    assert f"version: {dpcov.__version__}" in lines
    assert f"date-released: {newest_change()[2]}" in lines


@pytest.mark.parametrize("name", ["package.json", "package-lock.json"])
def test_the_client_has_the_version_of_the_library(name):
    assert json.loads(text("clients", "javascript", name))["version"] == dpcov.__version__


def test_a_tag_on_this_commit_is_the_version():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("there is no history here")
    tags = subprocess.run(
        [git, "tag", "--points-at", "HEAD", "--list", "v*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert set(tags) <= {f"v{dpcov.__version__}"}


def test_every_python_from_the_lowest_to_the_newest_is_declared():
    stated = {each for each in PROJECT["classifiers"] if re.search(r"3\.\d+$", each)}
    lowest = int(PROJECT["requires-python"].removeprefix(">=3."))
    assert stated == {
        f"Programming Language :: Python :: 3.{minor}" for minor in range(lowest, NEWEST + 1)
    }


def test_the_workflow_tries_every_python_that_is_declared():
    workflow = text(".github", "workflows", "checks.yml")
    for minor in range(10, NEWEST + 1):
        assert f'"3.{minor}"' in workflow


def test_every_extra_is_tried_in_an_environment_of_its_own():
    install = runpy.run_path(str(ROOT / ".ci" / "install.py"))
    uses = set(re.findall(r"^def (\w+)\(\) -> None:", text(".ci", "smoke.py"), re.M)) | {"all"}
    assert set(install["extras"]()) == EXTRAS
    assert uses >= EXTRAS


def test_a_missing_extra_is_always_called_by_a_name_that_exists():
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        for some in re.findall(r"dpcov\[([\w,]+)\]'", path.read_text(encoding="utf-8")):
            named |= set(some.split(","))
    assert named <= EXTRAS
    assert len(named) >= 9


def test_all_has_every_extra_but_those_that_are_said_not_to_be_in_it():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    inside = set(everything.removeprefix("dpcov[").rstrip("]").split(","))
    assert EXTRAS - inside - {"all"} == {"fast", "spark"}


def test_types_come_with_the_package():
    assert (Path(dpcov.__file__).parent / "py.typed").is_file()
    assert "Typing :: Typed" in metadata("dpcov").get_all("Classifier")


def test_no_address_is_invented():
    assert "urls" not in PROJECT


def test_a_tag_that_is_another_version_is_refused():
    check = runpy.run_path(str(ROOT / ".ci" / "tag.py"))["check"]
    check(f"v{dpcov.__version__}")
    for tag in (dpcov.__version__, "v0.1.0", f"v{dpcov.__version__}.1", ""):
        with pytest.raises(SystemExit, match="must be v"):
            check(tag)
