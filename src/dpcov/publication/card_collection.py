"""What a card says of the collection of reports that a release was added up from.

Owns these words. The digest lets anybody who keeps the reports show that these are the ones.
"""

from __future__ import annotations

from typing import Any

from dpcov.releases import AnyRelease, Release

__all__ = ["describe_collection"]


def describe_collection(release: AnyRelease) -> dict[str, Any] | None:
    """Return plan, number of reports and their digest; None if they were not kept."""
    made = release.provenance.collected if isinstance(release, Release) else None
    if made is None:
        return None
    ended = (
        "The collection was closed before: no report can be added."
        if made.final
        else "The collection was still open: a later release may have more reports."
    )
    return {
        "plan": made.plan,
        "reports": release.n_rows,
        "digest": f"sha256:{made.digest}",
        "final": made.final,
        "in_words": (
            f"{release.n_rows:,} reports of the collection plan {made.plan} were added up. All of "
            f"them, one after the other in the order of their ids, have the SHA-256 {made.digest}. "
            f"{ended}"
        ),
    }
