"""What README and pages for certain readers keep to: their length, their links, their facts."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REVIEWERS = (ROOT / "docs" / "reviewers.md").read_text(encoding="utf-8")
COMPARISON = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
LINKED = ["README.md", *(f"docs/{name}.md" for name in ("comparison", "guide", "r", "reviewers"))]
LINKED += ["docs/glossary.md", "docs/when_not.md"]
LINKS = [
    pytest.param(ROOT / page, link, id=f"{page} {link}")
    for page in LINKED
    for link in sorted(set(re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text("utf-8"))))
    if not link.startswith("http")
]


def anchors(page):
    """Return the places of a page that can be linked to, as GitHub and MyST name them."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'(?:id="|^\()([\w-]+)(?:"|\)=)', text, flags=re.MULTILINE))


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_a_link_leads_somewhere(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    assert target.exists()
    assert not anchor or anchor in anchors(target)


def test_readme_is_short():
    assert len(README.splitlines()) <= 130


@pytest.mark.parametrize("command", ["demo", "test"])
def test_readme_names_a_command_that_there_is(command):
    assert f"\nmake {command} " in README
    assert f"\n{command}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_page_for_reviewers_fits_two_printed_sheets():
    # 970 words were two sheets of A4, printed by Chromium from the documentation.
    assert len(REVIEWERS.split()) <= 1000


def test_the_page_for_reviewers_has_no_formula():
    assert not re.search(r"[=$^√σεδ≤]", REVIEWERS)


def test_the_comparison_names_the_versions_that_are_installed():
    file = ROOT / "benchmarks" / "comparison" / "contestants.py"
    pinned = re.findall(r'\("[\w.-]+==([\d.]+)"', file.read_text(encoding="utf-8"))
    assert len(pinned) == 5
    assert [version for version in pinned if version not in COMPARISON] == []
