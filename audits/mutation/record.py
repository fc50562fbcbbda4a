"""The record: what became of each mutant, and which survivors are known to be harmless.

Owns three places. `build/mutation/results.jsonl` is this machine's: what was found, as it is
found. `tried/` is everybody's, a file for each room: keys of the mutants of each module by what
became of them. A key holds for one text of a function, so that what was found stands until the
function changes. So is `survivors/`: each survivor that was looked at, with the reason why it
weakens no promise. One that does not stand there is new.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

from audits.mutation.listing import KEPT, ROOMS, listed, modules
from audits.mutation.mutants import Mutant
from audits.mutation.trial import Verdict

RESULTS = KEPT / "results.jsonl"
SURVIVORS = Path(__file__).parent / "survivors"
TRIED = Path(__file__).parent / "tried"
OUTCOMES = ("killed", "timeout", "survived")
KINDS = {
    "equivalent": "does the same for every input",
    "slack": "stays within what is paid for rounding errors, or gives privacy away for free",
    "accuracy": "costs accuracy or efficiency, and no privacy",
    "refusal": "refuses more, less or later what is refused anyhow, or with other words",
}
_HEAD = """\
# How many mutants each module of {room}/ has, and the keys of those that were tried.
# Written by `python -m audits.mutation`: see docs/mutation.md.
"""


@dataclass(frozen=True)
class Harmless:
    """Why a survivor weakens no promise."""

    kind: str
    reason: str


def known_survivors() -> dict[str, Harmless]:
    """Return the survivors that were looked at, by the names of their mutants."""
    known: dict[str, Harmless] = {}
    for path in sorted(SURVIVORS.glob("*.toml")):
        for group in tomllib.loads(path.read_text(encoding="utf-8")).get("survivors", []):
            if group["kind"] not in KINDS:
                raise SystemExit(f"{path.name}: kind must be one of {', '.join(KINDS)}.")
            known |= {name: Harmless(group["kind"], group["reason"]) for name in group["mutants"]}
    return known


def gone(known: Mapping[str, Harmless]) -> list[str]:
    """Return names of known survivors that are no mutants any more: their reasons can go."""
    names = {mutant.name for module in modules(["*"]) for mutant in listed(module)}
    return [name for name in known if name not in names]


def outcomes() -> dict[str, str]:
    """Return what became of mutants, by their keys; what this machine found last counts."""
    found: dict[str, str] = {}
    for path in sorted(TRIED.glob("*.toml")):
        for module in tomllib.loads(path.read_text(encoding="utf-8")).values():
            found |= {key: each for each in OUTCOMES for key in module[each].split()}
    return found | {key: verdict.outcome for key, (_, verdict) in results().items()}


def results() -> dict[str, tuple[str, Verdict]]:
    """Return names and verdicts of the mutants that this machine tried, by their keys."""
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


def write_tried() -> None:
    """Write what became of all mutants that there are."""
    found = outcomes()
    TRIED.mkdir(exist_ok=True)
    for room in ROOMS:
        lines = [_HEAD.format(room=room)]
        for module in modules([f"{room}.*"]):
            keys = [mutant.key for mutant in listed(module)]
            lines += [f'["{module}"]', f"mutants = {len(keys)}"]
            for each in OUTCOMES:
                own = " ".join(sorted(key for key in keys if found.get(key) == each))
                lines.append(
                    f'{each} = """\n{textwrap.fill(own, 100)}"""' if own else f'{each} = ""'
                )
            lines.append("")
        (TRIED / f"{room}.toml").write_text("\n".join(lines), encoding="utf-8")
