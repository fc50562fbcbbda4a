"""What a card says of what was learned before the moments, in numbers and in sentences.

Owns these words. Every number was paid for.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from dpcov.digits import name_some, with_error, with_share_error
from dpcov.releases import AnyRelease, Release
from dpcov.releases.learned import Known, Learned
from dpcov.releases.tails import Tails, tails_by_column

__all__ = ["describe_learned"]

_KNOWN = {Known.STATED: "stated", Known.LEARNED: "learned", Known.NOT_SEEN: "not seen"}
_CLEARLY, _ROUGH = 3.0, 0.05  # so many noise sd, and a share of cells that should be told from none
_LIMITED = (
    "Means and covariances are those of the table with its cells limited to the limits of their "
    "columns: a cell beyond a limit counts as the limit. Of long tails, as amounts have them, "
    "those of the whole cells may be others."
)


def describe_learned(release: AnyRelease) -> dict[str, Any] | None:
    """Return what was learned, or None if nothing was."""
    learned = release.learned if isinstance(release, Release) else None
    if learned is None or not isinstance(release, Release):
        return None
    return {
        "in_words": _in_words(release, learned),
        "beyond_error": learned.beyond_error,
        "clipping": asdict(learned.clipping),
        "factor": release.factor,
        "factor_error": release.factor_error,
        "columns": _columns(release, learned),
    }


def _columns(release: Release, learned: Learned) -> list[dict[str, Any]]:
    known = (learned.known_range, learned.known_center, learned.known_scale)
    vectors = (learned.lower, learned.upper, learned.beyond, *known)
    return [
        {
            "name": name,
            "lower": lower,
            "upper": upper,
            "beyond": beyond,
            "range_is": _KNOWN[Known(in_range)],
            "center_is": _KNOWN[Known(center)],
            "scale_is": _KNOWN[Known(scale)],
        }
        for name, lower, upper, beyond, in_range, center, scale in zip(
            release.columns, *(vector.tolist() for vector in vectors), strict=True
        )
    ]


def _in_words(release: Release, learned: Learned) -> list[str]:
    clipping, error = learned.clipping, release.factor_error
    clipped = with_share_error(clipping.share, clipping.share_error)
    factor = with_error(release.factor, error)
    sentences = [
        *([_LIMITED] if release.design.is_number.any() else []),
        _what_was_learned(release, learned),
        f"{clipped} of the rows were longer than the row norm and were shortened to it. To make up "
        f"for that, all variances and covariances were multiplied by {factor}. The factor follows "
        "from how much longer they were, which was measured with noise of its own, and from what "
        "is usual in real tables: it may be above 1 where the share is about zero."
        f"{' Noise may bring a share below zero.' if clipping.share < 0 else ''}",
    ]
    return sentences + _unseen(release, learned) + _rough(learned) + _tails(release, learned)


def _what_was_learned(release: Release, learned: Learned) -> str:
    is_number, steps = release.design.is_number, {event.name for event in release.events}
    known = {
        "range": learned.known_range,
        "center": learned.known_center,
        "scale": learned.known_scale,
    }
    asked = {fact: int((codes[is_number] != Known.STATED).sum()) for fact, codes in known.items()}
    parts = [
        f"the {fact} of {_count(number, 'column', 'columns')}"
        for fact, number in asked.items()
        if number
    ]
    stated = "" if parts else "Centers and scales of all columns were stated. "
    if not is_number.any():
        stated = ""
    if "levels" in steps:
        number = _count(len(release.design.categories), "category", "categories")
        parts.append(f"the shares of the levels of {number}")
    if release.provenance.missing == "complete":
        parts.append("how many rows are complete")
    elif "observed" in steps:
        # Where missing cells are read as centers, which columns may have some is not in the file.
        n_gaps = release.design.n_gaps
        whose = _count(n_gaps, "column", "columns") if n_gaps else "each column"
        parts.append(f"which share of the cells of {whose} is missing")
    if release.weights is not None and release.provenance.missing != "complete":
        parts.append("how much rows weigh")
    beyond = " and beyond the limits" if is_number.any() else ""
    parts.append(f"the row norm, and how much lies beyond it{beyond}")
    return (
        f"{stated}Learned from the table with noise, and paid for out of the promise: "
        f"{', '.join(parts)}."
    )


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


def _unseen(release: Release, learned: Learned) -> list[str]:
    unseen = (learned.known_range == Known.NOT_SEEN) | (learned.known_scale == Known.NOT_SEEN)
    unseen &= release.design.is_number
    if not unseen.any():
        return []
    bounded = learned.known_range == Known.STATED
    asked = {
        "bounds, or center and scale,": unseen & ~bounded,
        "center and scale": unseen & bounded,
    }
    wishes = [
        f"{what} for {name_some(repr(release.columns[place]) for place in np.flatnonzero(which))}"
        for what, which in asked.items()
        if which.any()
    ]
    return [
        "Too little stood out of the noise to learn a range or a scale at this budget, and a guess "
        f"is used: state {'; '.join(wishes)}."
    ]


def _rough(learned: Learned) -> list[str]:
    within = _CLEARLY * learned.beyond_error
    if within <= _ROUGH:
        return []
    return [
        "For so many columns these are few rows: limits were learned roughly, and how many cells "
        f"lie beyond them is known to within ± {100 * within:.2g} % only. Long tails, and columns "
        "most of whose cells are equal, may be cut. A center and a scale that are stated are not "
        "learned, and cost nothing."
    ]


def _tails(release: Release, learned: Learned) -> list[str]:
    named: dict[Tails, list[str]] = {tails: [] for tails in Tails}
    for place, tails in tails_by_column(release).items():
        beyond = with_share_error(float(learned.beyond[place]), learned.beyond_error)
        share = f" ({beyond})" if tails is Tails.CUT else ""
        named[tails].append(f"{release.columns[place]!r}{share}")
    sentences = []
    if named[Tails.CUT]:
        sentences.append(
            "More than 1 % of the cells seem to lie beyond the limits of "
            f"{name_some(named[Tails.CUT])}: tails are cut. Means and standard deviations of the "
            "whole cells may be far from those of the limited ones, and none is shown. Covariances "
            "and correlations are those of the limited cells."
        )
    if named[Tails.UNKNOWN]:
        sentences.append(
            f"No mean and no standard deviation is shown of {name_some(named[Tails.UNKNOWN])}: the "
            "range is guessed, or learned from so few rows that it may lie anywhere, and more than "
            "1 % of the cells may lie beyond it."
        )
    return sentences
