"""Lengthening: what clipping took away from second moments, made up for.

Owns the factor and its error. They follow from what was released, so they cost no privacy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpcov.releases.learned import Learned
from dpcov.releases.release import Release

__all__ = ["lengthen"]


def lengthen(release: Release, learned: Learned) -> Release:
    """Return the release with what clipping took away made up for. Costs no privacy.

    Clipped rows have a mean squared norm that is too small by a known excess. All moments
    are multiplied by one factor, which is right where rows of all lengths have alike
    directions; `NoiseModel` allows for the rest.
    """
    excess, error = learned.clipping.likely_excess(release.provenance.row_norm)
    found = float(np.trace(release.matrix))
    found += 0.0 if release.mean is None else float(release.mean @ release.mean)
    whole = max(found, excess, error)
    factor, noise = 1 + excess / whole, release.noise_scale
    return replace(
        release,
        matrix=release.matrix * factor,
        noise_scale=replace(
            noise,
            off_diagonal=noise.off_diagonal * factor,
            diagonal=noise.diagonal * factor,
        ),
        learned=learned,
        factor=factor,
        factor_error=error / whole,
    )
