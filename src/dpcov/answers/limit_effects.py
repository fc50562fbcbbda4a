"""What different limits of cells do to a comparison.

Owns that estimate. The numbers of a release are those of its table with cells limited. Two
releases that learned their limits have different ones, and a cell beyond the narrower limit
counts for less in one of them. How far that reaches depends on how far apart the limits are and
on how many cells lie beyond, of which a release knows a noisy share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.answers.compared import Compared

__all__ = ["LimitEffects", "limit_effects"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Measured on halves of real tables: see docs/answers.md.
_PER_SHARE = 2.0
"""By how much of itself a standard deviation moves for each unit of share beyond times shift."""
_USUAL_SHARE = 0.02
"""The share of cells beyond limits of real columns: about zero, with this sd."""
_MOST = 0.1
"""A column is not compared if limits alone may move its standard deviation by a larger share."""
_UNLIMITED = 2.0
"""How far cells reach beyond limits in sd, both sides together, where the other has none."""


@dataclass(frozen=True, eq=False)
class LimitEffects:
    """How far limits alone may make two releases differ, for each column: an sd.

    Parameters
    ----------
    deviation : ndarray
        Of the standard deviation, as a share of it.
    mean : ndarray
        Of the mean, in own units.
    """

    deviation: Array
    mean: Array

    @property
    def forbid(self) -> Mask:
        """Which columns are hardly the same in both releases."""
        return np.asarray(self.deviation > _MOST)


def limit_effects(first: Compared, second: Compared) -> LimitEffects:
    """Return what the limits of two releases make of the same columns."""
    deviation = np.sqrt(first.deviations.values * second.deviations.values)
    shift = _shift(first, second) / deviation
    shift = np.where(np.isfinite(shift), shift, _UNLIMITED)
    share = _share_beyond(first, second)
    return LimitEffects(_PER_SHARE * share * shift, share * shift * deviation)


def _shift(first: Compared, second: Compared) -> Array:
    """Return how far the limits are apart, both ends together; infinite if only one has any."""
    size = len(first.places)
    ends = []
    for side in (first, second):
        limits = side.release.limits
        none = (np.full(size, -np.inf), np.full(size, np.inf))
        chosen = none if limits is None else tuple(end[side.places] for end in limits)
        ends.append(chosen)
    apart = np.zeros(size)
    for one, other in zip(*ends, strict=True):
        with np.errstate(invalid="ignore"):  # two that are infinite are not apart
            apart += np.where(one == other, 0.0, np.abs(one - other))
    return apart


def _share_beyond(first: Compared, second: Compared) -> Array:
    """Return the likely share of cells beyond limits, its error counted in (root mean square).

    What the releases say is weighed with what real columns have.
    """
    precision, total = 1 / _USUAL_SHARE**2, np.zeros(len(first.places))
    for side in (first, second):
        learned = side.release.learned
        if learned is not None and learned.beyond_error > 0:
            precision += learned.beyond_error**-2
            total += learned.beyond[side.places] / learned.beyond_error**2
    likely = np.maximum(total / precision, 0.0)
    return np.asarray(np.sqrt(likely**2 + 1 / precision))
