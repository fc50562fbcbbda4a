"""What a card says of how a release was made: reading of cells, steps, noise, sampler.

Owns these words. Every number is public or was paid for.
"""

from __future__ import annotations

from typing import Any

from dpcov.privacy import Selection, event_to_dict
from dpcov.privacy.accounting import event_shares
from dpcov.releases import LOCAL_CAP, PairsProvenance, PairsRelease, Provenance, Release

__all__ = ["describe_mechanism", "describe_reading"]

_GAUSSIAN = "rounded Gaussian"
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
_PAID = "learned and paid for"
_SEEDED = "from a seed: a simulation, which protects nobody"


def describe_reading(release: Release | PairsRelease) -> dict[str, Any]:
    """Return what was done to cells and rows: centers, scales, clipping, grid, missing cells."""
    made, names = release.provenance, [event.name for event in release.events]
    scales = "none" if release.units.is_plain else "stated"
    norm_is = "not used" if made.row_norm is None else "stated"
    if any(name.startswith("radius") for name in names):
        norm_is = _PAID
    dense = made if isinstance(made, Provenance) else None
    return {
        "center": made.center,
        "scales": _PAID if "scales" in names else scales,
        "row_norm": made.row_norm,
        "row_norm_is": norm_is,
        "cell_bound": made.cell_bound if isinstance(made, PairsProvenance) else None,
        "sphere": dense is not None and dense.trace is not None,
        "grid_bits": None if dense is None else dense.bits,
        "signs_only": dense is None,
        "missing_cells": made.missing,
    }


def describe_mechanism(release: Release | PairsRelease) -> dict[str, Any]:
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
        "noise": _pair_noise(release) if isinstance(release, PairsRelease) else _noise(release),
        "sampler": _SEEDED if release.simulated else sampler,
        "floating_point": _CAP_EXACT if cap else _EXACT,
    }


def _noise(release: Release) -> list[dict[str, Any]]:
    noise = release.noise_scale
    law = "average of seeds" if release.provenance.mechanism == LOCAL_CAP else _GAUSSIAN
    units = "own" if release.units.is_plain else "working"
    listed = [("covariance", noise.off_diagonal), ("variance", noise.diagonal)]
    if noise.mean:
        listed.append(("mean", noise.mean))
    return [_one(of, law, "standard deviation", scale, units) for of, scale in listed]


def _pair_noise(release: PairsRelease) -> list[dict[str, Any]]:
    made = release.provenance
    result = []
    if made.selection_scale:
        result.append(_one("selection", "Gumbel", "scale", made.selection_scale, "counts"))
    deviation = "standard deviation"
    result.append(_one("mean co-movement", _GAUSSIAN, deviation, release.noise_scale, "own"))
    if release.variances is not None and release.variances.noise_scale:
        units = "own" if release.units.is_plain else "working"
        scale = release.variances.noise_scale
        result.append(_one("variance", _GAUSSIAN, deviation, scale, units))
    return result


def _one(of: str, law: str, measure: str, value: float, units: str) -> dict[str, Any]:
    return {"of": of, "law": law, "measure": measure, "value": value, "units": units}
