"""A release in a notebook: its promise, and the columns with their means and limits.

Owns which of the published numbers are shown there. All of them are in the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcov.notebook import show

__all__ = ["release_view"]


def release_view(release: Any) -> str:
    """Return the HTML of a release of either kind."""
    limits = getattr(release, "limits", None)
    heading = ["column"]
    heading += ["mean"] if release.has_mean else []
    heading += ["lower limit", "upper limit"] if limits is not None else []
    return show(
        repr(release),
        [release.promise.in_words],
        heading,
        _rows(release, limits),
        n_rows=release.n_columns,
    )


def _rows(release: Any, limits: Any) -> Iterator[list[str]]:
    for place, name in enumerate(release.columns):
        numbers = [release.location[place]] if release.has_mean else []
        numbers += [] if limits is None else [end[place] for end in limits]
        yield [name, *(f"{number:.4g}" for number in numbers)]
