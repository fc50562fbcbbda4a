"""Shares of the levels of categories, with errors and intervals in [0, 1].

Owns these answers. A share is that among the cells that are there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.inference import interval_width
from dpcov.postprocess.joint import JointMoments, check_about
from dpcov.postprocess.listing import Listing

__all__ = ["LevelShare", "find_shares"]

Array = npt.NDArray[np.float64]


class LevelShare(NamedTuple):
    """The share of one level among the cells of a category that are there."""

    column: str
    level: str
    share: float
    standard_error: float
    low: float
    high: float

    @property
    def in_words(self) -> str:
        """The share and its interval, in percent."""
        ends = f"{100 * self.low:.1f} % to {100 * self.high:.1f} %"
        return f"{self.column}={self.level}: {100 * self.share:.1f} % ({ends})"


def find_shares(
    moments: JointMoments | None, *, confidence: float, about: str
) -> Listing[LevelShare]:
    """Return the shares of all levels, in the order of the table."""
    sampled, width = check_about(about), interval_width(confidence)
    if moments is None:
        return Listing((), LevelShare._fields)
    lines = [
        LevelShare(field.name, level, *numbers)
        for place, field in enumerate(moments.design.fields)
        if field.levels is not None
        for level, numbers in zip(
            field.levels, _numbers(moments, place, width, sampled), strict=True
        )
    ]
    return Listing(tuple(lines), LevelShare._fields)


def _numbers(moments: JointMoments, place: int, width: float, sampled: bool) -> list[list[float]]:
    """Return share, standard error and interval of each level of a category."""
    own, found, units = moments.values(place), moments.pairwise, moments.release.units
    share = moments.release.location[own]
    noise = (units.scale[own] * found.mean_error[own]) ** 2
    n_rows = moments.release.n_terms * float(found.observed[own.start, own.start])
    sampling = 1 / n_rows if sampled else 0.0
    # As released, before shares were made to be possible; beyond [0, 1] is bad luck.
    seen = units.center[own] + units.scale[own] * found.mean_with[own, own.start]
    low, high = _score_interval(np.clip(seen, 0.0, 1.0), noise, sampling, width)
    # What is shown has a place in its interval, which then holds the truth no less often.
    low, high = np.minimum(low, share), np.maximum(high, share)
    error = np.sqrt(noise + sampling * share * (1 - share))
    numbers: list[list[float]] = np.column_stack([share, error, low, high]).tolist()
    return numbers


def _score_interval(
    seen: Array, noise: Array, sampling: float, width: float
) -> tuple[Array, Array]:
    """Return the shares π with (π̂ − π)² ≤ z² (noise + π (1 − π)/n).

    Without noise they are Wilson's.
    """
    square = width**2 * sampling
    middle = (seen + square / 2) / (1 + square)
    reach = width * np.sqrt(
        noise * (1 + square) + sampling * seen * (1 - seen) + square * sampling / 4
    )
    reach /= 1 + square
    return np.clip(middle - reach, 0.0, 1.0), np.clip(middle + reach, 0.0, 1.0)
