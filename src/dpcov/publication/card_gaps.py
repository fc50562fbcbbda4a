"""What a card says of missing cells: in which columns they are seen, and what goes with them.

Owns these words. What is found is listed at the false discovery rate that the card states.
"""

from __future__ import annotations

import math
from typing import Any

from dpcov.digits import name_some, percent, quoted, with_share_error
from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.gap_findings import GapFinding
from dpcov.postprocess.gaps import columns_with_gaps
from dpcov.releases import Release

__all__ = ["describe_gaps", "gap_sentence"]

_SUREST = 3
UNSEEN = (
    "Correlations of columns of which the gaps of one clearly go with the level of the other are "
    "marked, and so is what rests on them. Gaps that go with both ends of a column alike cannot be "
    'seen here: a release with missing="complete" is about the complete rows.'
)
"""What is said of all tables with gaps."""


def describe_gaps(estimate: AnyEstimate, fdr: float) -> dict[str, Any] | None:
    """Return which columns have gaps, and what goes with them; None if no gaps are seen."""
    if not isinstance(estimate, Estimate):
        return None
    seen = columns_with_gaps(estimate.release)
    if not seen:
        return None
    tested = estimate.gaps(1.0)
    found = [line for line in tested if line.q_value <= fdr]
    return {
        "columns": [estimate.release.design.fields[place].name for place in seen],
        "number": len(found),
        "n_tests": len(tested),
        "surest": [_facts(line) for line in found[:_SUREST]],
        "in_words": [
            _seen_in_words(estimate.release, seen),
            _found_in_words(found, percent(fdr)),
            UNSEEN,
        ],
    }


def gap_sentence(line: GapFinding) -> str:
    """Return the sentence of a finding, with names in quotes."""
    level = None if line.level is None else quoted(line.level)
    return line._replace(
        gaps_of=quoted(line.gaps_of), column=quoted(line.column), level=level
    ).in_words


def _facts(line: GapFinding) -> dict[str, Any]:
    named = {"gaps_of": line.gaps_of, "column": line.column, "measure": line.measure}
    error = None if math.isnan(line.standard_error) else line.standard_error
    numbers = ("low", "high", "q_value")
    return (
        named
        | {"value": float(line.value), "standard_error": error}
        | {name: float(getattr(line, name)) for name in numbers}
    )


def _seen_in_words(release: Release, seen: tuple[int, ...]) -> str:
    found = release.observed
    shares = 1 - found.share.diagonal(), found.standard_error.diagonal()
    most_first = sorted(seen, key=lambda place: -float(shares[0][place]))
    named = name_some(
        (
            f"{quoted(found.columns[place])} "
            f"({with_share_error(*(float(part[place]) for part in shares))})"
            for place in most_first
        ),
        most=5,
    )
    return (
        f"Cells are missing in {len(seen):,} of {len(found.columns):,} columns, as far as the "
        f"noise lets it be seen: {named}."
    )


def _found_in_words(found: list[GapFinding], rate: str) -> str:
    if not found:
        return (
            "Whether they are missing was not found to go with any other column. That is no "
            "evidence that they are missing at random."
        )
    told = " ".join(gap_sentence(line) for line in found[:_SUREST])
    number = len(found)
    start = (
        "1 thing is found to go with whether a cell is missing"
        if number == 1
        else f"{number:,} things are found to go with whether a cell is missing"
    )
    surest = "" if number == 1 else " The surest:"
    return (
        f"{start}, at a false discovery rate of {rate}: such cells are not missing completely at "
        f"random.{surest} {told}"
    )
