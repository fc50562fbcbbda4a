"""Lengthening: what clipping took away from second moments, made up for.

Owns the factor and its error. They follow from what was released, so they cost no privacy.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpcov.releases.learned import Learned
from dpcov.releases.release import Release

__all__ = ["lengthen", "stretch"]


def lengthen(release: Release, learned: Learned) -> Release:
    """Return the release with what clipping took away made up for. Costs no privacy.

    Clipped rows have a mean squared norm that is too small by a known excess. All moments
    are multiplied by one factor, which is right where rows of all lengths have alike
    directions; `NoiseModel` allows for the rest.
    """
    excess, error = learned.clipping.likely_excess(release.provenance.row_norm)
    matrix, mean = release.raw
    found = float(np.trace(matrix))
    found += 0.0 if mean is None else float(mean @ mean)
    unsure = 0.0
    if release.weights is not None:
        # Rows were measured with their weights, and with the constant beside their cells.
        found = release.weights.mean * (found + release.weights.constant**2)
        unsure = release.weights.error / release.weights.mean
    whole = max(found, excess, error)
    factor = 1 + excess / whole
    longer = stretch(release, factor)
    # An average weight that is off makes all moments off alike.
    spread = math.hypot(error / whole, unsure)
    return replace(longer, learned=learned, factor=factor, factor_error=spread)


def stretch(release: Release, factor: float) -> Release:
    """Return the release with all of its moments, and their noise, multiplied by a factor."""
    noise = replace(
        release.noise_scale,
        off_diagonal=release.noise_scale.off_diagonal * factor,
        diagonal=release.noise_scale.diagonal * factor,
    )
    if release.working is None:
        return replace(release, matrix=release.matrix * factor, noise_scale=noise)
    working = replace(release.working, matrix=release.working.matrix * factor)
    return release.with_working(working, noise_scale=noise)
