"""The record: what became of each mutant, and which survivors are known to be harmless.

Owns three places. `build/mutation/results.jsonl` is this machine's, and lets a run go on where
the last one stopped. `standing.toml` is everybody's: how many mutants of each module were tried,
of which text of it, and what became of them. So is `survivors/`, a file for each room: each
survivor that was looked at, with the reason why it weakens no promise. One that does not stand
there is new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

from audits.mutation.listing import KEPT, digest, listed, modules
from audits.mutation.mutants import path_of
from audits.mutation.trial import Verdict

RESULTS = KEPT / "results.jsonl"
SURVIVORS = Path(__file__).parent / "survivors"
STANDING = Path(__file__).parent / "standing.toml"
KINDS = {
    "equivalent": "does the same for every input",
    "slack": "stays within what is paid for rounding errors, or gives privacy away for free",
    "accuracy": "costs accuracy or efficiency, and no privacy",
    "refusal": "refuses more, less or later what is refused anyhow, or with other words",
}
_HEAD = """\
# How many mutants of each module there are, how many were tried, and what became of them.
# `digest` is of the module's text. Written by `python -m audits.mutation`: see docs/mutation.md.
"""


@dataclass(frozen=True)
class Harmless:
    """Why a survivor weakens no promise."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Standing:
    """What became of the mutants of a module."""

    digest: str
    mutants: int
    tried: int = 0
    killed: int = 0
    timeouts: int = 0
    survived: int = 0

    @property
    def whole(self) -> bool:
        """Whether all were tried."""
        return self.tried == self.mutants


def module_of(name: str) -> str:
    """Return the module of a mutant."""
    return name.split(" | ")[0].split(" ")[0].split(":")[0]


def known_survivors() -> dict[str, Harmless]:
    """Return the survivors that were looked at, by the names of their mutants."""
    known: dict[str, Harmless] = {}
    for path in sorted(SURVIVORS.glob("*.toml")):
        for group in tomllib.loads(path.read_text(encoding="utf-8")).get("survivors", []):
            if group["kind"] not in KINDS:
                raise SystemExit(f"{path.name}: kind must be one of {', '.join(KINDS)}.")
            known |= {name: Harmless(group["kind"], group["reason"]) for name in group["mutants"]}
    return known


def results() -> dict[str, Verdict]:
    """Return what became of mutants of modules as they are now; the last word counts."""
    if not RESULTS.exists():
        return {}
    now = {module: digest_of(module) for module in modules(["*"])}
    found = {}
    for line in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines()):
        name, of = line.pop("mutant"), line.pop("digest")
        if now.get(module_of(name)) == of:
            found[name] = Verdict(**line)
    return found


def note(name: str, verdict: Verdict) -> None:
    """Write down what became of a mutant."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    line = {"mutant": name, "digest": digest_of(module_of(name)), **asdict(verdict)}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def digest_of(module: str) -> str:
    """Return what tells the text of a module from any other."""
    return digest(path_of(module))


def standing() -> dict[str, Standing]:
    """Return what is known of each module, whatever its text was."""
    if not STANDING.exists():
        return {}
    found = tomllib.loads(STANDING.read_text(encoding="utf-8"))
    return {module: Standing(**each) for module, each in found.items()}


def stand() -> None:
    """Write what is known of all modules, with what this machine found."""
    before, found, known = standing(), results(), known_survivors()
    lines = [_HEAD]
    for module in modules(["*"]):
        here = {each.name: found[each.name] for each in listed(module) if each.name in found}
        now = Standing(digest_of(module), len(listed(module)))
        old = before.get(module, now)
        if old.digest != now.digest or old.tried <= len(here):
            now = _counted(now, Counter(each.outcome for each in here.values()), len(here))
        else:
            now = _corrected(old, here, known)
        lines.append(f'["{module}"]')
        lines += [
            f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
            for key, value in asdict(now).items()
        ]
        lines.append("")
    STANDING.write_text("\n".join(lines), encoding="utf-8")


def _counted(empty: Standing, outcomes: Counter[str], tried: int) -> Standing:
    return Standing(
        empty.digest,
        empty.mutants,
        tried,
        outcomes["killed"],
        outcomes["timeout"],
        outcomes["survived"],
    )


def _corrected(
    old: Standing, here: Mapping[str, Verdict], known: Mapping[str, Harmless]
) -> Standing:
    """Correct what others found by what was tried again here."""
    counts = Counter(killed=old.killed, timeout=old.timeouts, survived=old.survived)
    for name, verdict in here.items():
        before = "survived" if name in known else "killed"
        counts[before] -= 1
        counts["killed" if verdict.outcome == "timeout" else verdict.outcome] += 1
    return _counted(old, counts, old.tried)
