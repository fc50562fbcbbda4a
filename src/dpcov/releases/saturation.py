"""Saturation: a release that shows that its bound clipped nearly everything.

Owns that warning. It reads the release alone, so it costs no privacy.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from dpcov.errors import SaturationWarning
from dpcov.releases.release import Release

__all__ = ["warn_of_saturation"]

_NEARLY = 0.97
_SHARP = 0.005  # with more noise than this, a trace near the bound says nothing


def warn_of_saturation(release: Release) -> None:
    """Warn when the mean squared norm of the clipped rows is nearly the largest possible.

    Examples
    --------
    >>> import dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 5))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=0.5)
    >>> caught[0].category.__name__
    'SaturationWarning'
    """
    made = release.provenance
    if made.trace is not None:
        return
    trace = float(np.trace(release.matrix))
    trace += 0.0 if release.mean is None else float(release.mean @ release.mean)
    noise = release.noise_scale.diagonal * math.sqrt(release.n_columns)
    bound = made.row_norm**2
    if noise < _SHARP * bound and trace - 2 * noise > _NEARLY * bound:
        warnings.warn(
            f"Nearly all rows are as long as row_norm = {made.row_norm:g} allows: most were "
            "clipped to it, and variances are too small. This was read from the release, for "
            "free. Unless all rows are meant to have this norm, state a larger row_norm from "
            "knowledge, or use dpcov.PrivateRadius().",
            SaturationWarning,
            stacklevel=4,
        )
