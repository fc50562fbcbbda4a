"""The list: all mutants of each module, kept from run to run.

Owns what is kept in `build/mutation/mutants`. Making the mutants of all modules takes minutes,
since Cosmic Ray parses a file anew for each; a module is listed again when it has changed, or
what is changed in it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from audits.mutation import mutants
from audits.mutation.mutants import PACKAGE, ROOT, Mutant, path_of

KEPT = ROOT / "build" / "mutation"
ROOMS = ("privacy", "exact", "mechanisms", "sensitive")


def modules(patterns: list[str]) -> list[str]:
    """Return the modules below dpcov that have one of these names, as `exact.*`, in their order."""
    found = [
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    return list(dict.fromkeys(name for each in patterns for name in found if fnmatch(name, each)))


def digest(*paths: Path) -> str:
    """Return what tells the text of files from any other."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


@cache
def listed(module: str) -> tuple[Mutant, ...]:
    """Return all mutants of a module."""
    path, kept = path_of(module), KEPT / "mutants" / f"{module}.json"
    stamp = digest(path, Path(mutants.__file__))
    before: dict[str, Any] = {"stamp": ""}
    if kept.exists():
        before = json.loads(kept.read_text("utf-8"))
    source = path.read_text("utf-8")
    if before["stamp"] != stamp:
        made = [_short(mutant, source) for mutant in mutants.mutants_of(module)]
        before = {"stamp": stamp, "mutants": made}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(before, ensure_ascii=False), encoding="utf-8")
    return tuple(_whole(each, source) for each in before["mutants"])


def _short(mutant: Mutant, source: str) -> dict[str, Any]:
    """Write a mutant with what is new in it, and where its function is, instead of both texts."""
    changed = mutant.source
    first = _alike(source, changed)
    last = _alike(source[first:][::-1], changed[first:][::-1])
    new = changed[first : len(changed) - last]
    around = [source.index(mutant.around), len(mutant.around)]
    return {**asdict(mutant), "around": around, "source": [first, len(source) - last, new]}


def _alike(one: str, other: str) -> int:
    """Return how many characters are the same at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _whole(short: dict[str, Any], source: str) -> Mutant:
    first, last, new = short["source"]
    begins, length = short["around"]
    texts = {
        "around": source[begins : begins + length],
        "source": source[:first] + new + source[last:],
    }
    return Mutant(**{**short, **texts, "lines": tuple(short["lines"])})
