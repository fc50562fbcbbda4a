"""Sentences that stand under every answer: of whom it is, and what it is about.

Owns these texts, once for all answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpcov.digits import name_some, percent
from dpcov.releases import AnyRelease, Release

__all__ = ["compared_levels", "limited_cells", "whom"]


def whom(n_rows: int, about: str, confidence: float) -> str:
    """Return of whom intervals are, and how often they hold."""
    ends = f"{n_rows:,} rows. Intervals hold with {percent(confidence)}"
    if about == "table":
        return f"{ends}, and are about these very rows: privacy noise alone is counted."
    return f"{ends}: privacy noise and, as for Gaussian rows, sampling are counted."


def limited_cells(release: AnyRelease) -> list[str]:
    """Return that cells were limited, if they were."""
    if not isinstance(release, Release) or release.limits is None:
        return []
    return ["Cells beyond the published limits count as if they were at the limit."]


def compared_levels(references: Mapping[str, str]) -> list[str]:
    """Return with which levels others are compared, if there are any."""
    if not references:
        return []
    named = (f"{level!r} of {name}" for name, level in references.items())
    return [f"Levels are compared with {name_some(named)}."]
