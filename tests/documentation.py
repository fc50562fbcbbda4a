"""What tests use of the documentation: its modules, its pages, and what stands in their boxes."""

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# One after the other, so that the end of a box is not taken for the beginning of the next.
_BOX = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def load(name):
    """Return a module that lies in docs/ and belongs to no package."""
    spec = importlib.util.spec_from_file_location(Path(name).name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look there
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[module.__name__]
    return module


def boxes_of(page):
    """Return all boxes of a page in their order, each with its language."""
    return _BOX.findall(page.read_text(encoding="utf-8"))


def boxes(language):
    """Return all boxes of code in a language, each with the page and its place in it."""
    found = []
    for page in PAGES:
        chosen = [text for marked, text in boxes_of(page) if marked == language]
        found += [(f"{page.name} {number}", text) for number, text in enumerate(chosen)]
    return found
