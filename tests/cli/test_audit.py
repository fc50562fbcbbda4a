"""``dpcov audit``: its table, its files and its exit codes."""

import json

import pytest

from cli.runner import invoke
from dpcov.audit import findings
from dpcov.mechanisms.learning import budget
from dpcov.privacy import gaussian_scale

QUICK = ["audit", "--only", "local-gaussian", "--confidence", 0.99999, "--runs"]


def test_a_table_shows_the_mechanism_and_its_planted_bug():
    result = invoke([*QUICK, 200])
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0] == list(findings.HEADER)
    assert lines[2][-1] == "holds"
    assert lines[3][-1] == "caught"
    assert "every planted bug was caught" in " ".join(result.stdout.split())
    assert result.stderr == ""


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_the_table_is_broken_in_a_terminal(monkeypatch, width):
    from io import StringIO

    from rich.console import Console

    from dpcov import audit
    from dpcov.audit.controls import controls
    from dpcov.cli import audit as command

    said = StringIO()
    monkeypatch.setattr(command, "new_console", lambda: Console(file=said, width=width))
    result = findings.Audit(
        tuple(
            findings.Finding(
                pair.name, each, bug, pair.relation, pair.claims, 2.0, 0.1,
                {"clopper-pearson": 10.5}, None if bug else 2.0, 12_345, 123.4,
            )
            for pair in audit.neighbors()
            for each, bug in [(pair.title, None), *((c.bug, c.bug) for c in controls(pair))]
        ),
        2.0, 0.1, 0.95, 300.0,
    )  # fmt: skip
    command._show(result)
    shown = said.getvalue()
    for each in result.findings:
        assert any(each.title in line and each.verdict in line for line in shown.splitlines())
    assert max(map(len, shown.splitlines())) <= width


def test_an_audit_that_misses_a_planted_bug_says_so():
    # So few runs cannot see exact means: a test that is always right has errors below a half.
    result = invoke(["audit", "--only", "stated", "--runs", 12, "--confidence", 0.99999])
    assert result.exit_code == 4
    assert "too short" in result.stderr


def test_a_broken_claim_is_said_loudly(monkeypatch):
    monkeypatch.setattr(budget, "gaussian_scale", lambda **facts: gaussian_scale(**facts) / 2)
    facts = ["--runs", 200, "--confidence", 0.99999]
    result = invoke(["audit", "--only", "stated-add-remove", *facts])
    assert result.exit_code == 1
    assert "A CLAIM IS BROKEN" in result.stderr
    assert "BROKEN" in result.stdout


def test_json_goes_to_the_output_and_to_a_file(tmp_path):
    out = tmp_path / "audit.json"
    result = invoke([*QUICK, 200, "--json", "--out", out])
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert json.loads(out.read_text(encoding="utf-8")) == printed
    assert printed["verdict"] == "holds"
    assert [each["verdict"] for each in printed["findings"]] == ["holds", "caught"]


def test_a_file_that_is_there_is_refused_before_anything_runs(tmp_path):
    out = tmp_path / "audit.json"
    out.write_text("mine")
    result = invoke([*QUICK, 10**7, "--out", out])
    assert result.exit_code == 1
    assert out.read_text() == "mine"


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(tmp_path):
    result = invoke([*QUICK, 10**7, "--out", tmp_path / "nowhere" / "audit.json"])
    assert result.exit_code == 1
    assert "is not there" in result.stderr


@pytest.mark.parametrize(
    "wrong",
    [["--only", "nothing"], ["--minutes", "0"], ["--runs", "3"], ["--delta", "2"]],
)
def test_options_that_cannot_be_meant_are_refused(wrong):
    result = invoke(["audit", *wrong])
    assert result.exit_code == 1
    assert "must" in result.stderr
