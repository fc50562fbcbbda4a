"""Sentences that stand under every answer: of whom it is, and what it is about.

Owns these texts, once for all answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpcov.digits import name_some, percent, with_error, with_share_error
from dpcov.postprocess.suppression import marks_of
from dpcov.releases import AnyRelease, Release

__all__ = ["caveats", "compared_levels", "whom"]


def whom(release: AnyRelease, columns: Sequence[str], about: str, confidence: float) -> str:
    """Return of whom an answer about these columns is, and how often its intervals hold."""
    rows = f"{release.n_rows:,} rows{_pairwise(release, columns)}"
    ends = f"{rows}. Intervals hold with {percent(confidence)}"
    if about == "table":
        return f"{ends}, and are about these very rows: privacy noise alone is counted."
    return f"{ends}: privacy noise and, as for Gaussian rows, sampling are counted."


def _pairwise(release: AnyRelease, columns: Sequence[str]) -> str:
    """Return that not all rows have all cells, and which column has fewest, if any lacks some."""
    if not isinstance(release, Release):
        return ""
    weights = release.weights
    if release.provenance.missing == "complete" and weights is not None:
        if not weights.may_count:  # rows have weights of their own, too
            return ", complete ones alone"
        rows, off = (part * release.n_rows for part in (weights.mean, weights.error))
        return f", of which the {with_error(rows, off)} complete ones count"
    design, found = release.design, release.observed
    fields = design.field_of[[design.names.index(name) for name in columns]]
    least = int(fields[np.argmin(found.share.diagonal()[fields])])
    share, error = (float(each[least, least]) for each in (found.share, found.standard_error))
    if share >= 1:
        return ""
    there = with_share_error(share, error)
    return (
        f", computed pairwise, since {found.columns[least]} is there in {there} of them (complete "
        "rows alone would tell something else where gaps go with other columns)"
    )


def caveats(release: AnyRelease, columns: Sequence[str]) -> list[str]:
    """Return that cells were limited, if they were, and what is marked of these columns."""
    limited = isinstance(release, Release) and release.limits is not None
    said = ["Cells beyond the published limits count as if they were at the limit."]
    return said * limited + marks_of(release).sentences(columns)


def compared_levels(references: Mapping[str, str]) -> list[str]:
    """Return with which levels others are compared, if there are any."""
    if not references:
        return []
    named = (f"{level!r} of {name}" for name, level in references.items())
    return [f"Levels are compared with {name_some(named)}."]
