"""The JavaScript client, as Python's tests reach it: built, and run by node."""

import json
import shutil
import subprocess
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "clients" / "javascript"
MODULE = CLIENT / "dist" / "dpcov.js"
NODE = shutil.which("node")
MISSING = (
    "needs node"
    if NODE is None
    else "needs the built client: make test-js builds it"
    if not (MODULE.exists() and (CLIENT / "build" / "report.js").exists())
    else ""
)


def make_reports(plan, rows, count, **options):
    """Return the bytes of reports, one after the other."""
    asked = {"plan": plan.to_json(), "rows": rows, "count": count, **options}
    return _run("make_reports.js", asked)


def answer_many(plan_path, lines, *, answers=False):
    """Return the reports of many people, one JSON value each: a row, or answers to questions."""
    flags = ["--answers"] if answers else []
    made = subprocess.run(
        [NODE, str(CLIENT / "test" / "answer_many.js"), str(plan_path), *flags],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        check=True,
        timeout=300,
    )
    return made.stdout


def read_plans(texts):
    """Return the ids of the texts that the client reads as plans, None for the others."""
    return json.loads(_run("read_plans.js", texts))


def _run(script, asked):
    made = subprocess.run(
        [NODE, str(CLIENT / "test" / script)],
        input=json.dumps(asked).encode(),
        capture_output=True,
        check=True,
        timeout=300,
    )
    return made.stdout
