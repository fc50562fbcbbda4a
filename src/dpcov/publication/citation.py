"""How a release is cited: who, when, what, and which bytes.

Owns that line. The identifier is the digest of the release, of which all else in a folder follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["cite"]

_TITLE = "Private covariance"


def cite(card: Mapping[str, Any]) -> str:
    """Return the citation of a card's release.

    Examples
    --------
    >>> identity = {"name": "Sleep", "curator": "Office", "date": "2026-02-03", "description": ""}
    >>> guarantee = {"holds": True, "statement": "(1, 1e-06)-differential privacy"}
    >>> card = {"identity": identity, "guarantee": guarantee, "library": {"version": "0.2.0"}}
    >>> cite(card | {"files": {"release.npz": "sha256:ab"}}).partition(": ")[0]
    'Office (2026). Sleep'
    """
    identity, guarantee = card["identity"], card["guarantee"]
    author = identity["curator"].strip() or "Anonymous"
    title = identity["name"].strip() or _TITLE
    what = guarantee["statement"] if guarantee["holds"] else "no promise (a simulation)"
    digest = card["files"].get("release.npz")
    identifier = "" if digest is None else f" Release {digest}."
    return (
        f"{author} ({identity['date'][:4]}). {title}: covariances with {what}, released with dpcov "
        f"{card['library']['version']}.{identifier}"
    )
