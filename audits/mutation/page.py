"""The page: tables of docs/mutation.md, written from the record.

Owns what stands between the two marks of the page; the words around them are written by hand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from audits.mutation.mutants import ROOT, mutants_of
from audits.mutation.record import KINDS, known_survivors, results

_PAGE = ROOT / "docs" / "mutation.md"
_ENOUGH = 10  # mutants of a module, before a share of it says something
_BEGIN, _END = "<!-- tables begin -->", "<!-- tables end -->"


def write(modules: Sequence[str]) -> None:
    """Write both tables of the page: modules, and survivors with their reasons."""
    text = _PAGE.read_text(encoding="utf-8")
    before, rest = text.split(_BEGIN)
    after = rest.split(_END)[1]
    tables = [*_modules(modules), "", *_survivors()]
    whole = "\n".join([before + _BEGIN, "", *tables, "", _END + after])
    _PAGE.write_text(whole, encoding="utf-8")


def _modules(modules: Sequence[str]) -> list[str]:
    done, known = results(), known_survivors()
    lines = [
        f"| module | mutants | tried | killed | timeouts | {' | '.join(KINDS)} | not judged |",
        f"|---|{'---|' * (5 + len(KINDS))}",
    ]
    begun = {name.split(" | ")[0].split(":")[0].split(" ")[0] for name in done}
    found = []
    for module in (each for each in modules if each in begun):
        names = [each.name for each in mutants_of(module)]
        tried = [name for name in names if name in done]
        counts = Counter(mutants=len(names), tried=len(tried))
        for name in tried:
            outcome = done[name].outcome
            if outcome == "survived":
                outcome = known[name].kind if name in known else "not judged"
            counts[outcome] += 1
        found.append(counts)
        lines.append(_line(f"`{module}`", counts))
    lines.append(_line("**all**", sum(found, Counter())))
    return [*lines, "", _share([counts for counts in found if counts["tried"] >= _ENOUGH])]


def _line(title: str, counts: Counter[str]) -> str:
    columns = ("mutants", "tried", "killed", "timeout", *KINDS, "not judged")
    return f"| {title} | {' | '.join(f'{counts[each]:,}' for each in columns)} |"


def _share(found: Sequence[Counter[str]]) -> str:
    """Say which share survives, and bound it where mutants were sampled (Hoeffding)."""
    whole = sum(found, Counter[str]())
    share, squares = 0.0, 0.0
    for counts in found:
        weight = counts["mutants"] / whole["mutants"]
        survived = sum(counts[each] for each in (*KINDS, "not judged"))
        share += weight * survived / counts["tried"]
        if counts["tried"] < counts["mutants"]:
            squares += weight**2 / counts["tried"]
    beyond = math.sqrt(math.log(20) / 2 * squares)
    return (
        f"Of the modules of which {_ENOUGH} mutants or more were tried, it was "
        f"{whole['tried'] / whole['mutants']:.0%} of all mutants, drawn at random. About "
        f"{share:.1%} of all survive; with 95 % confidence fewer than {share + beyond:.0%}."
    )


def _survivors() -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for name, harmless in known_survivors().items():
        groups.setdefault((harmless.kind, harmless.reason), []).append(name)
    lines = []
    for kind, meaning in KINDS.items():
        of_kind = {reason: names for (own, reason), names in groups.items() if own == kind}
        if of_kind:
            lines += ["", f"### {kind.capitalize()}: {meaning}", ""]
        for reason, names in of_kind.items():
            lines.append(f"- {reason}")
            lines += [f"  - {_shown(name)}" for name in names]
    return lines


def _shown(name: str) -> str:
    where, change = name.split(" | ", 1)
    was, becomes = change.split(" → ", 1) if " → " in change else (change, "")
    return f"`{where}`: `` {was} `` → `` {becomes} ``"
