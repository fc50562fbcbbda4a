"""The record: what became of each mutant, and which survivors are known to be harmless.

Owns two places. `build/mutation/results.jsonl` is this machine's, and lets a run go on where the
last one stopped. `survivors/`, a file for each room, is everybody's: each survivor that was looked
at, with the reason why it weakens no promise. A survivor that does not stand there is new.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

from audits.mutation.mutants import ROOT
from audits.mutation.trial import Verdict

RESULTS = ROOT / "build" / "mutation" / "results.jsonl"
SURVIVORS = Path(__file__).parent / "survivors"
KINDS = {
    "equivalent": "does the same for every input",
    "slack": "stays within what is paid for rounding errors, or gives privacy away for free",
    "accuracy": "costs accuracy or efficiency, and no privacy",
    "refusal": "refuses more, less or later what is refused anyhow, or with other words",
}


@dataclass(frozen=True)
class Harmless:
    """Why a survivor weakens no promise."""

    kind: str
    reason: str


def known_survivors() -> dict[str, Harmless]:
    """Return the survivors that were looked at, by the names of their mutants."""
    known = {}
    for path in sorted(SURVIVORS.glob("*.toml")):
        for group in tomllib.loads(path.read_text(encoding="utf-8")).get("survivors", []):
            if group["kind"] not in KINDS:
                raise SystemExit(f"{path.name}: kind must be one of {', '.join(KINDS)}.")
            known |= {name: Harmless(group["kind"], group["reason"]) for name in group["mutants"]}
    return known


def results() -> dict[str, Verdict]:
    """Return what became of mutants so far; the last word counts."""
    if not RESULTS.exists():
        return {}
    lines = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    return {line.pop("mutant"): Verdict(**line) for line in lines}


def note(name: str, verdict: Verdict) -> None:
    """Write down what became of a mutant."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"mutant": name, **asdict(verdict)}, ensure_ascii=False) + "\n")
