"""A row norm that is learned, and paid for.

Owns the choice by the exponential mechanism among public candidates: powers of 2^(1/16).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.noise import select_largest
from dpcov.sensitive.sums.norm_counts import NormCounts

__all__ = ["RADIUS_SHARE", "candidates", "check_rows", "choose_radius"]

RADIUS_SHARE = 0.1
"""The share of epsilon that the choice uses."""

_STEPS_PER_DOUBLING = 16
_DOUBLINGS = 40  # from 2^-40 to 2^40 in working units
# With this probability at most the choice is one of the candidates that are far too large.
_FAILURE = 0.01
_RELIABLE = 50


def candidates() -> npt.NDArray[np.float64]:
    """Return the radii among which one is chosen, rising."""
    reach = _DOUBLINGS * _STEPS_PER_DOUBLING
    return np.exp2(np.arange(-reach, reach + 1) / _STEPS_PER_DOUBLING)


def _quantile(n_rows: int, selection_range: float, rows_per_unit: int) -> float:
    """Return which share of the rows should stay unclipped, from public facts alone.

    Clipping more rows than noise asks for biases variances; a radius that clips fewer than
    about 50 / range rows cannot be told from one that is far too large.
    """
    clipped = _RELIABLE * rows_per_unit / (selection_range * n_rows)
    return 1 - min(0.1, max(0.01, clipped))


def check_rows(n_rows: int, selection_range: float, rows_per_unit: int = 1) -> None:
    """Refuse when there are so few rows that a radius far too large is likely.

    All radii beyond the longest row score alike, (1 − quantile) n below the best.
    """
    spare = math.log(len(candidates()) / _FAILURE)
    clipped = 1 - _quantile(n_rows, selection_range, rows_per_unit)
    if selection_range < 2 * rows_per_unit * spare / (clipped * n_rows):
        raise ParameterError(
            f"{n_rows} rows are too few to learn a row norm at this epsilon: a far too large one "
            "would be likely. State row_norm=, or columns= with lower and upper for every column, "
            "from knowledge."
        )


def choose_radius(
    counts: NormCounts, *, selection_range: float, stream: RandomStream, rows_per_unit: int = 1
) -> float:
    """Choose a radius near a high quantile of the row norms.

    Notes
    -----
    Claim P18. A radius is right if no more rows than wanted are within the next smaller one,
    and no fewer within itself; its score is minus the number of rows by which that fails: an
    integer that one person moves by at most m, the number of their rows. Choosing with
    probabilities proportional to exp(η score / 2m), exactly (P11), has a privacy loss whose
    range is η.
    """
    within = counts.cumulative()
    n_rows = counts.n_rows
    wanted = math.floor(_quantile(n_rows, selection_range, rows_per_unit) * n_rows)
    before = np.concatenate([[0], within[:-1]])
    # Not the distance of `within` alone: beyond rows of one length all radii would be as good.
    scores = n_rows - np.maximum(0, np.maximum(wanted - within, before - wanted))
    scale = 2 * rows_per_unit / selection_range
    place = select_largest(lambda: [scores], count=1, scale=scale, stream=stream)
    return float(counts.radii[place[0]])
