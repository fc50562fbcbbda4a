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
