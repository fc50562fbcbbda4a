"""Every claim has its id in a docstring, a proof in docs/privacy.md, tests, and planted bugs."""

import re
from functools import cache
from pathlib import Path

import pytest

from documentation import load

ROOT = Path(__file__).parents[2]


def ids(pattern, folder, suffix):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob(f"*{suffix}")]
    return {match for text in texts for match in re.findall(pattern, text)}


@cache
def claims():
    """Return the map that the documentation shows."""
    module = load("claims_map")
    found = module.read_claims()
    return found, module.page(found)


def test_claims_stand_in_docstrings_proofs_and_tests():
    proved = ids(r"\n### (P\d+) ", "docs", "privacy.md")
    stated = ids(r"Claim (P\d+)\.", "src", ".py")
    tested = ids(r'mark\.claim\("(P\d+)"\)', "tests", ".py")
    assert proved
    assert stated == proved
    assert tested == proved


def test_the_map_has_every_claim():
    assert set(claims()[0]) == ids(r"\n### (P\d+) ", "docs", "privacy.md")


@pytest.mark.parametrize("what", ["code", "tests"])
def test_the_map_leads_from_each_claim_to_code_and_tests(what):
    assert [each.name for each in claims()[0].values() if not getattr(each, what)] == []


def test_the_map_leads_from_each_claim_to_a_planted_bug():
    assert [each.name for each in claims()[0].values() if not each.bugs] == []


def test_every_claim_that_the_audit_names_is_one():
    from dpcov.audit import neighbors

    named = {name for pair in neighbors() for name in pair.claims}
    assert named <= set(claims()[0])


def test_the_page_lists_what_the_map_has():
    found, page = claims()
    for each in found.values():
        assert f"## {each.name}: {each.title}" in page
        assert all(f"- `{place}`" in page for place in each.code)
