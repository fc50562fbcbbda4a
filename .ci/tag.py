"""Refuse a tag that is not the version: ``tag.py v0.2.0``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version() -> str:
    """Return the version of the code, without importing it."""
    text = (ROOT / "src" / "dpcov" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.M)
    if found is None:
        raise SystemExit("src/dpcov/version.py states no version.")
    return found[1]


def check(tag: str) -> None:
    """Compare the tag with the version, and the version with the changelog."""
    stated = version()
    if tag != f"v{stated}":
        raise SystemExit(f"The tag must be v{stated}, the version of the code; got {tag!r}.")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(stated)} \(\d{{4}}-\d{{2}}-\d{{2}}\)$", changes, re.M):
        raise SystemExit(f"CHANGELOG.md has no part '## {stated} (year-month-day)'.")


if __name__ == "__main__":
    check(sys.argv[1])
