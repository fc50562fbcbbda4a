"""The scripts for other people's auditors."""

import csv
import subprocess
import sys
from pathlib import Path

AUDITS = Path(__file__).parents[2] / "audits"


def test_scores_are_written_for_any_auditor(tmp_path):
    out = tmp_path / "scores.csv"
    command = [sys.executable, AUDITS / "scores.py", "--runs", "5", "--only", "stated", "local-cap"]
    result = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    text = out.read_text(encoding="utf-8").splitlines()
    assert text[:2] == [
        "# stated: epsilon 2, delta 0.1",
        "# local-cap: epsilon 2, delta 0",
    ]
    lines = list(csv.DictReader(text[2:]))
    assert len(lines) == 2 * 2 * 5
    assert {(each["name"], each["table"]) for each in lines} == {
        (name, table) for name in ("stated", "local-cap") for table in "01"
    }
    assert all(abs(float(each["score"])) < 100 for each in lines)
