"""What pyproject.toml declares: one lowest version for each package, and it is kept."""

import os
import runpy
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LOWEST = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REQUIREMENTS = list(LOWEST["declared"](PROJECT))


def pinned():
    """Yield the constraints that hold for this Python."""
    for requirement in map(Requirement, map(LOWEST["constraint"], REQUIREMENTS)):
        if requirement.marker is None or requirement.marker.evaluate():
            (only,) = requirement.specifier
            yield requirement.name, Version(only.version)


def test_every_requirement_has_one_lower_bound():
    assert len(REQUIREMENTS) > 20
    for requirement in map(Requirement, REQUIREMENTS):
        assert [each.operator for each in requirement.specifier] == [">="], requirement


def test_a_package_has_the_same_lower_bound_wherever_it_is_asked_for():
    assert len(set(pinned())) == len({name for name, _ in pinned()})


def test_a_requirement_without_a_lower_bound_is_refused():
    with pytest.raises(SystemExit, match="needs one lower bound"):
        LOWEST["constraint"]("numpy")


def test_what_is_installed_is_what_was_declared():
    # `make test-lowest` says so, and has exactly the lowest versions.
    lowest = os.environ.get("DPCOV_TEST_LOWEST") == "1"
    compared = 0
    for name, bound in pinned():
        try:
            installed = Version(version(name))
        except PackageNotFoundError:
            continue
        assert installed == bound if lowest else installed >= bound, name
        compared += 1
    assert compared > 15
