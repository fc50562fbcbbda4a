"""Every claim has its id in a docstring, a proof in docs/privacy.md, and a test."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def ids(pattern, folder, suffix):
    texts = [path.read_text() for path in (ROOT / folder).rglob(f"*{suffix}")]
    return {match for text in texts for match in re.findall(pattern, text)}


def test_claims_stand_in_docstrings_proofs_and_tests():
    proved = ids(r"\n### (P\d+) ", "docs", "privacy.md")
    stated = ids(r"Claim (P\d+)\.", "src", ".py")
    tested = ids(r'mark\.claim\("(P\d+)"\)', "tests", ".py")
    assert proved
    assert stated == proved
    assert tested == proved
