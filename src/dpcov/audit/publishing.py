"""The numbers in what is published, for a test that does not stand at the noise door.

Owns what an adversary reads from a release: if a number found another way out than the noise door,
it shows here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.errors import ForeignReportError
from dpcov.local import CollectionPlan
from dpcov.local.integers import unpack
from dpcov.local.report import parse_report
from dpcov.releases import PairsRelease, Release

__all__ = ["covariances", "pairs_of", "reported"]

Numbers = npt.NDArray[np.float64]


def covariances(release: Release) -> Numbers:
    """Return moments, means, and what was learned of columns."""
    upper = np.triu_indices(len(release.matrix))
    parts = [release.matrix[upper], release.mean, release.location, release.units.scale]
    parts += [] if release.limits is None else [*release.limits]
    # Numbers for which there is nothing to say are infinite in some releases, whatever the rows.
    numbers: Numbers = np.concatenate([each for each in parts if each is not None])
    return np.asarray(np.nan_to_num(numbers))


def pairs_of(release: PairsRelease) -> Numbers:
    """Return which pairs were chosen, and what is said of them."""
    size = release.n_columns
    chosen = np.zeros((size, size))
    first, second = np.asarray(release.pairs).T
    chosen[first, second], chosen[second, first] = 1.0, release.co_movement
    return np.concatenate([chosen.ravel(), release.location])


def reported(plan: CollectionPlan, report: bytes) -> Numbers:
    """Return the entries of a Gaussian report, whether it was recorded or not."""
    try:
        parsed = parse_report(report, plan)
    except ForeignReportError:
        parsed = parse_report(report, plan, simulated=True)
    entries: Numbers = unpack(parsed.payloads, plan.noise)[0].astype(np.float64)
    return entries
