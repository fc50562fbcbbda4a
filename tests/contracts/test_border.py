"""The border and the public names."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpcov

ROOT = Path(__file__).parents[2]
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(dpcov.__path__, prefix="dpcov.")
    if not name.startswith("dpcov.cli")
]


def test_the_layers_and_the_border_hold():
    lint_imports = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


def test_every_public_name_can_be_loaded():
    for name in dpcov.__all__:
        assert getattr(dpcov, name) is not None
    assert sorted(dpcov.__all__) == dir(dpcov)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute estimat"):
        _ = dpcov.estimat


def test_release_stays_the_function_whatever_is_imported():
    for name in MODULES:
        importlib.import_module(name)
    assert callable(dpcov.release)


@pytest.mark.parametrize("name", ["dpcov", *MODULES])
def test_a_module_defines_what_it_exports(name):
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public)


def test_importing_dpcov_loads_nothing_heavy():
    heavy = ["scipy", "pandas", "polars", "pyarrow", "narwhals", "cryptography", "typer", "rich"]
    heavy += ["matplotlib", "jinja2", "dask"]
    code = f"import dpcov, sys; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
