"""Whether the pages of the gallery are older than the code that made them.

Owns one question. sphinx-gallery runs a script again when the script changes; it does not see
that the library did, and a broken example would wait for a new machine to be noticed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = (ROOT / "src" / "dpcov", ROOT / "docs" / "gallery")


def code_digest(*parts: Path) -> str:
    """Return a digest of all Python files in `parts`, or of library and gallery."""
    total = hashlib.sha256()
    for part in parts or PARTS:
        for file in sorted(part.rglob("*.py")):
            name = file.relative_to(part).as_posix()
            total.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    return total.hexdigest()


def ran_with(kept: Path, digest: str) -> bool:
    """Return whether the last build that was finished ran the code with this digest."""
    return kept.exists() and kept.read_text(encoding="utf-8") == digest
