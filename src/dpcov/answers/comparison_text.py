"""A comparison in words: the tables of what changed, and what to know of them.

Owns these texts. Terminal, notebook and files show the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcov.answers.comparison import TABLES, Comparison
from dpcov.answers.differences import Differences
from dpcov.answers.text_table import align
from dpcov.digits import in_digits_of, percent, probability_text
from dpcov.postprocess.pairs_table import TOO_NOISY

__all__ = ["HEADING", "found", "lines_of", "listed", "sentences", "summarize", "tabulate"]

HEADING = ("", "before", "after", "difference", "std. error", "from", "to", "q-value")
_SHOWN = 20
_TITLES = {
    "correlations": "correlations",
    "covariances": "covariances",
    "deviations": "standard deviations",
    "means": "means",
    "coefficients": "coefficients",
}


def summarize(comparison: Comparison) -> str:
    """Return a comparison as a text."""
    rows = [f"{each.n_rows:,}" for each in (comparison.first, comparison.second)]
    parts = [f"Before: {rows[0]} rows. After: {rows[1]} rows. Differences are after minus before."]
    for of in TABLES:
        if not len(getattr(comparison, of)):
            continue
        lines = listed(comparison, of)
        said = found(comparison, of)
        parts.append(f"{said}\n\n{align(HEADING, lines)}" if lines else said)
    parts.append("\n".join(sentences(comparison)))
    return "\n\n".join(parts)


def tabulate(table: Differences) -> str:
    """Return all differences of a table, in its order."""
    return align(HEADING, lines_of(table, range(len(table))))


def found(comparison: Comparison, of: str) -> str:
    """Return how many numbers of one kind changed, as a sentence."""
    table: Differences = getattr(comparison, of)
    told = int(table.told.sum())
    number = len(table.changed(comparison.fdr))
    which = f"{number:,} of {told:,} {_TITLES[of]}" if number else f"None of {told:,} {_TITLES[of]}"
    said = f"{which} changed, at a false discovery rate of {percent(comparison.fdr)}"
    said += f"; the {_SHOWN} surest:" if number > _SHOWN else "." if not number else ":"
    noisy = len(table) - told
    return f"{said[:-1]} ({noisy:,} are {TOO_NOISY}){said[-1]}" if noisy else said


def listed(comparison: Comparison, of: str) -> list[list[str]]:
    """Return the lines of what changed, the surest first."""
    table: Differences = getattr(comparison, of)
    place = {names: number for number, names in enumerate(table.names)}
    chosen = [place[change.names] for change in table.changed(comparison.fdr)]
    return lines_of(table, chosen[:_SHOWN])


def lines_of(table: Differences, places: Sequence[int]) -> list[list[str]]:
    """Return some lines of a table, as `HEADING` names their cells."""
    lines = []
    for place in places:
        name = " – ".join(table.names[place])
        error = float(table.standard_error[place])
        before, after = float(table.before[place]), float(table.after[place])
        if not table.told[place]:
            lines.append([name, "", "", TOO_NOISY, "", "", "", ""])
            continue
        digits = [in_digits_of(error, each) for each in (before, after)]
        ends = [in_digits_of(error, float(end[place])) for end in (table.low, table.high)]
        difference = float(table.difference[place])
        numbers = [f"{'+' if difference > 0 else ''}{in_digits_of(error, difference)}"]
        numbers.append(in_digits_of(error, error))
        q_value = probability_text(float(table.q_value[place]))
        lines.append([name, *digits, *numbers, *ends, q_value])
    return lines


def sentences(comparison: Comparison) -> list[str]:
    """Return what to know of a comparison."""
    said = [_whom(comparison)]
    if np.any(comparison.shared.limits.deviation > 0):
        said.append(
            "The two releases limit cells to other limits. What that may change is counted as an "
            "error."
        )
    if not comparison.first.has_mean:
        said.append("Means were not released, and are not compared.")
    said += [each.in_words for each in comparison.left_out]
    return said + list(comparison.shared.notes)


def _whom(comparison: Comparison) -> str:
    ends = f"Intervals hold with {percent(comparison.confidence)}"
    if comparison.about == "table":
        return f"{ends}, and are about these very rows: privacy noise alone is counted."
    return (
        f"{ends} if the two tables are independent samples: privacy noise and, as for Gaussian "
        "rows, sampling of both are counted. If the same people are in both, intervals are too "
        "long where that makes the tables alike; about='table' asks how these very rows differ."
    )
