"""What a card says of what was released and how: reading of cells, events, noise, sampler.

Owns these words. Every number is public or was paid for.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dpcov.privacy import Selection, event_to_dict
from dpcov.privacy.accounting import event_shares
from dpcov.releases import LOCAL_CAP, AnyRelease, Release

__all__ = ["describe_mechanism", "describe_reading", "describe_released"]

_EXACT = (
    "Cells are integers before they are added, sums are exact, and noise is drawn and added in "
    "integers; the only conversion to floating point comes after the noise."
)
_CAP_EXACT = (
    "A report is a seed of 16 random bytes and holds no floating-point number; the calibration "
    "pays for the rounding of the decision which seeds are sent."
)
_SAMPLER = (
    "exact draws of round(σ N(0, 1)) in integers, from AES-256-CTR keyed by the operating system"
)
_TOP_K = "exact noisy top-k with Gumbel noise"
_CAP_SAMPLER = "rejection of random seeds, from AES-256-CTR keyed by the operating system"
_ABOUT = {
    "public": "about the stated centers",
    "private": "about a mean that was released with them",
}
_SIGNS = {
    "differences": "differences of rows",
    "learned": "cells about centers that were learned and paid for",
    "stated": "cells about a stated center",
}
_PAID = "learned and paid for"
_SEEDED = "from a seed: a simulation, which protects nobody"


def describe_released(release: AnyRelease) -> dict[str, Any]:
    """Return how many numbers were released, and what they are."""
    return {
        "number": release.n_released,
        "in_words": _released_in_words(release),
        "variances": release.variances_are,
    }


def _released_in_words(release: AnyRelease) -> str:
    center = release.provenance.center
    if release.particulars.signs_only:
        return (
            f"{release.n_released:,} of {release.n_pairs:,} pairs: how often two columns move "
            f"together, in signs of {_SIGNS[center]}"
        )
    stated = release.units.center.any() or center != "public"
    about = _ABOUT[center] if stated else "about zero"
    return f"{release.n_released:,} second moments{_of_what(release)}: averages of products {about}"


def _of_what(release: AnyRelease) -> str:
    """Say which numbers of a row are multiplied, where whether cells are there is among them."""
    if not isinstance(release, Release) or not release.design.n_gaps:
        return ""
    design = release.design
    return (
        f" of {design.n_working:,} numbers for each row, {design.n_gaps:,} of which "
        "say whether a cell is there"
    )


def describe_reading(release: AnyRelease) -> dict[str, Any]:
    """Return what was done to cells and rows: centers, scales, clipping, grid, missing cells."""
    made, names = release.provenance, [event.name for event in release.events]
    own = release.particulars
    learned = made.center == "learned"
    plain = release.units.is_plain or (learned and bool((release.units.scale == 1).all()))
    scales = "none" if plain else "stated"
    norm_is = "not used" if made.row_norm is None else "stated"
    if "radius" in names:
        norm_is = _PAID
    return {
        "center": made.center,
        "scales": _PAID if "scale" in names else scales,
        "row_norm": made.row_norm,
        "row_norm_is": norm_is,
        "cell_bound": own.cell_bound,
        "grid_bits": own.grid_bits,
        "signs_only": own.signs_only,
        "missing_cells": made.missing.value,
    }


def describe_mechanism(release: AnyRelease) -> dict[str, Any]:
    """Return the events with their shares, the noise, and where it came from."""
    made = release.provenance
    cap = made.mechanism == LOCAL_CAP
    selects = any(isinstance(event, Selection) for event in release.events)
    sampler = _CAP_SAMPLER if cap else _SAMPLER + (f"; {_TOP_K}" if selects else "")
    return {
        "name": made.mechanism,
        "events": [
            event_to_dict(event) | {"share": share}
            for event, share in zip(release.events, event_shares(release.events), strict=True)
        ],
        "noise": [asdict(fact) for fact in release.noise_facts],
        "constants": _constants(release),
        "sampler": _SEEDED if release.simulated else sampler,
        "floating_point": _CAP_EXACT if cap else _EXACT,
    }


def _constants(release: AnyRelease) -> dict[str, Any]:
    own = release.particulars
    return {
        "max_pairs": own.max_pairs,
        "mean_constant": own.mean_constant,
        "cap": None if own.cap is None else {"threshold": own.cap.threshold, "coin": own.cap.coin},
    }
