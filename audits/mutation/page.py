"""The page: tables of docs/mutation.md, written from the record.

Owns what stands between the two marks of the page; the words around them are written by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from audits.mutation.listing import listed, modules
from audits.mutation.mutants import ROOT
from audits.mutation.record import KINDS, Harmless, known_survivors, outcomes

_PAGE = ROOT / "docs" / "mutation.md"
_BEGIN, _END = "<!-- tables begin -->", "<!-- tables end -->"


def write() -> None:
    """Write both tables of the page: modules, and reasons for which survivors are harmless."""
    text = _PAGE.read_text(encoding="utf-8")
    before, rest = text.split(_BEGIN)
    after = rest.split(_END)[1]
    known = known_survivors()
    tables = [*_modules(known), *_reasons(known)]
    whole = "\n".join([before + _BEGIN, "", *tables, "", _END + after])
    _PAGE.write_text(whole, encoding="utf-8")


def _modules(known: dict[str, Harmless]) -> list[str]:
    became = outcomes()
    lines = [
        f"| module | mutants | tried | killed | timeouts | {' | '.join(KINDS)} | not judged |",
        f"|---|{'---|' * (5 + len(KINDS))}",
    ]
    found: dict[str, Counter[str]] = {}
    for module in modules(["*"]):
        counts: Counter[str] = Counter()
        for mutant in listed(module):
            outcome = became.get(mutant.key, "untried")
            counts.update(["mutants", outcome] + ["tried"] * (outcome != "untried"))
            if outcome == "survived":
                harmless = known.get(mutant.name)
                counts[harmless.kind if harmless else "not judged"] += 1
        found[module] = counts
        lines.append(_line(f"`{module}`", counts))
    rooms = dict.fromkeys(module.split(".")[0] for module in found)
    for room in rooms:
        of_room = [each for module, each in found.items() if module.startswith(f"{room}.")]
        lines.append(_line(f"**{room}**", sum(of_room, Counter())))
    lines.append(_line("**all**", sum(found.values(), Counter())))
    return [*lines, "", _share(list(found.values()))]


def _line(title: str, counts: Counter[str]) -> str:
    columns = ("mutants", "tried", "killed", "timeout", *KINDS, "not judged")
    return f"| {title} | {' | '.join(f'{counts[each]:,}' for each in columns)} |"


def _share(found: Sequence[Counter[str]]) -> str:
    """Say which share survives, of modules of which all mutants were tried."""
    whole = [counts for counts in found if counts["tried"] == counts["mutants"]]
    together = sum(whole, Counter[str]())
    share = together["survived"] / max(1, together["mutants"])
    return (
        f"{len(whole)} of {len(found)} modules were tried whole. Of their "
        f"{together['mutants']:,} mutants {share:.1%} survive."
    )


def _reasons(known: dict[str, Harmless]) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for name, harmless in known.items():
        groups.setdefault((harmless.kind, harmless.reason), []).append(name)
    lines = []
    for kind, meaning in KINDS.items():
        of_kind = {reason: names for (own, reason), names in groups.items() if own == kind}
        if of_kind:
            mutants = sum(map(len, of_kind.values()))
            lines += ["", f"### {kind.capitalize()}: {meaning}", "", f"{mutants:,} mutants.", ""]
        for reason, names in sorted(of_kind.items(), key=lambda each: -len(each[1])):
            many = f" ({len(names)} mutants)" if len(names) > 1 else ""
            lines += [f"- {reason}{many}", f"  - {_shown(names[0])}"]
    return lines


def _shown(name: str) -> str:
    where, change = name.split(" | ", 1)
    was, becomes = change.split(" → ", 1) if " → " in change else (change, "")
    return f"`{where}`: `` {was} `` → `` {becomes} ``"
