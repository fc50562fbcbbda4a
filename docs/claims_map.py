"""The map from each claim to its proof, the code that makes it, tests, and planted bugs.

Owns how the map is read off the sources; `conf.py` writes the page at every build, so that it is
never older than they are, and tests/contracts holds what it must have. A bug of tests/wiring
belongs to the claims of the function in whose lines it is planted, or of its file; a test whose
name says that a bug is found, to its own claims or else to the only one of its file; a bug of
`dpcov audit`, to those of its pair of tables.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BUG = re.compile(
    r"planted_bug|with_the_bug|bug_leaves|fails_the_same|(half|third)_of_the_noise|found_out"
    r"|half_the_cost|half_its_cost|would_be_found"
)
_WIRING = "P13"  # the claim of the wiring, where a file states none of its own


@dataclass
class Claim:
    """Where a claim is proved, made, attacked, and broken on purpose."""

    name: str
    title: str
    code: list[str] = field(default_factory=list)
    tests: dict[str, list[str]] = field(default_factory=dict)
    bugs: dict[str, list[str]] = field(default_factory=dict)


def read_claims() -> dict[str, Claim]:
    """Return all claims of docs/privacy.md, with what the sources say of them."""
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    claims = {name: Claim(name, title) for name, title in re.findall(r"\n### (P\d+) — (.*)", text)}
    for file, name, place in _stated():
        if name in claims:
            claims[name].code.append(f"{file}: {place}" if place else file)
    for file, name, test, plants in _marked():
        if name in claims:
            kept = claims[name].bugs if plants else claims[name].tests
            kept.setdefault(file, []).append(test)
    for file, name, bug in (*_wired(), *_audited()):
        if name in claims:
            claims[name].bugs.setdefault(file, []).append(bug)
    return claims


def heading_slug(title: str) -> str:
    """Return the anchor of a heading: that of a claim is its id, as in ``privacy.md#p1``.

    Other headings have GitHub's: pages are read there as well.

    Examples
    --------
    >>> heading_slug("P1 — One person moves the sum"), heading_slug("The release card")
    ('p1', 'the-release-card')
    """
    claim = re.match(r"(P\d+) — ", title)
    return claim[1].lower() if claim else re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def write_page(path: Path) -> None:
    """Write the map as a page of the documentation, if it is not the same already."""
    text = page(read_claims())
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def page(claims: dict[str, Claim]) -> str:
    """Return the text of the page."""
    lines = [
        "# Claims: proof, code, tests, planted bugs",
        "",
        "Read off the sources when this page was built. A *planted bug* breaks the claim on "
        "purpose, and a test finds it; `dpcov audit` catches its own ([audit.md](../audit.md)). "
        "Bugs of `tests/wiring` stand with the claims of the function in whose lines they are "
        "planted, or, if it makes none, with all claims of its file.",
        "",
        "| claim | docstrings | tests | planted bugs |",
        "|---|---|---|---|",
    ]
    for claim in claims.values():
        link = f"[{claim.name}](../privacy.md#{claim.name.lower()}) {claim.title}"
        counts = (len(claim.code), _count(claim.tests), _count(claim.bugs))
        lines.append(f"| {link} | {' | '.join(str(each) for each in counts)} |")
    for claim in claims.values():
        lines += ["", f"## {claim.name}: {claim.title}", ""]
        lines += [f"[Proof](../privacy.md#{claim.name.lower()}).", "", "Code:", ""]
        lines += [f"- `{each}`" for each in claim.code]
        for heading, kept in (("Tests", claim.tests), ("Planted bugs", claim.bugs)):
            if kept:
                lines += ["", f"{heading}:", ""]
                lines += [f"- `{file}`: {_words(names)}" for file, names in sorted(kept.items())]
    return "\n".join(lines) + "\n"


def _count(kept: dict[str, list[str]]) -> int:
    return sum(map(len, kept.values()))


def _words(names: list[str]) -> str:
    return "; ".join(name.removeprefix("test_").replace("_", " ") for name in names)


def _stated() -> Iterator[tuple[str, str, str]]:
    """Yield each docstring of src that makes a claim: its file, the claim, and whose it is."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for place, text in _docstrings(ast.parse(path.read_text(encoding="utf-8")), ()):
            for name in re.findall(r"Claim (P\d+)\.", text):
                yield file, name, place


def _docstrings(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        yield ".".join(names), ast.get_docstring(node) or ""
        for child in node.body:
            yield from _docstrings(child, (*names, getattr(child, "name", "")))


def _marked() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each test of a claim: its file, the claim, its name, and whether it plants a bug."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        everywhere = [
            name
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "pytestmark"
            for name in _claims_in(node.value)
        ]
        whole = sorted(set(_claims_in(tree)))
        for test in ast.walk(tree):
            if not (isinstance(test, ast.FunctionDef) and test.name.startswith("test_")):
                continue
            own = [name for mark in test.decorator_list for name in _claims_in(mark)]
            # What finds a bug belongs to the one claim of its file, if it says nothing else.
            alone = whole if len(whole) == 1 and _is_bug(test) else ()
            for name in sorted({*own, *everywhere} or alone):
                yield file, name, test.name, _is_bug(test)


def _is_bug(test: ast.FunctionDef) -> bool:
    """Whether a test plants a bug: by its name; if something is noticed, by what it is given."""
    given = {argument.arg for argument in test.args.args}
    noticed = test.name.endswith("_noticed") and bool(given & {"monkeypatch", "wrong"})
    return noticed or _BUG.search(test.name) is not None


def _claims_in(tree: ast.AST) -> list[str]:
    """Return the claims of all marks in a piece of code."""
    return [
        str(argument.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "claim"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    ]


def _wired() -> Iterator[tuple[str, str, str]]:
    """Yield bugs in the library's own lines: their file, the claims of those lines, a name."""
    stated = list(_stated())
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        for module in ("planted_bugs", "test_learning"):
            found = importlib.import_module(f"wiring.{module}")
            for listed in ("BUGS", "RARE_BUGS", "MEANS_BUGS"):
                for bug, (where, *_) in getattr(found, listed, {}).items():
                    for name in _claims_at(where, stated):
                        yield f"tests/wiring/{module}.py", name, bug
    finally:
        sys.path.remove(str(ROOT / "tests"))


def _claims_at(where: str, stated: list[tuple[str, str, str]]) -> list[str]:
    """Return the claims that a function or its class makes, or else those of its file."""
    module, place = where.split(":")
    file = f"src/dpcov/{module.replace('.', '/')}.py"
    here = [(name, own) for in_file, name, own in stated if in_file == file]
    near = {name for name, own in here if own and f"{place}.".startswith(f"{own}.")}
    return sorted(near or {name for name, _ in here} or {_WIRING})


def _audited() -> Iterator[tuple[str, str, str]]:
    """Yield bugs that `dpcov audit` plants: the claims of their pair of tables, and a name."""
    from dpcov.audit import neighbors
    from dpcov.audit.controls import controls

    for pair in neighbors():
        for control in controls(pair):
            for name in pair.claims:
                yield "dpcov audit", name, f"{pair.title}: {control.bug}"
