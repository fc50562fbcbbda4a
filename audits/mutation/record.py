"""The record: what became of each mutant on this machine.

It is `build/mutation/results.jsonl`, a line for each trial as it ends, and is not committed. A key
stands for one change of one text of a function, so that a result holds until the function changes.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from audits.mutation.listing import KEPT
from audits.mutation.mutants import Mutant
from audits.mutation.trial import Verdict

RESULTS = KEPT / "results.jsonl"


def results() -> dict[str, tuple[str, Verdict]]:
    """Return names and verdicts of the mutants that were tried, by their keys."""
    if not RESULTS.exists():
        return {}
    lines = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    return {line.pop("key"): (line.pop("mutant"), Verdict(**line)) for line in lines}


def note(mutant: Mutant, verdict: Verdict) -> None:
    """Write down what became of a mutant."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    line = {"mutant": mutant.name, "key": mutant.key, **asdict(verdict)}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
