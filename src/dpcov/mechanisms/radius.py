"""A private radius: a clipping norm that is paid for instead of known.

Owns the choice by the exponential mechanism among public candidates: powers of 2^(1/16).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.noise import select_largest
from dpcov.parameters import check_number
from dpcov.sensitive.sums.norm_counts import NormCounts

__all__ = ["PrivateRadius", "choose_radius"]

_STEPS_PER_DOUBLING = 16
_SMALLEST, _LARGEST = 2.0**-60, 2.0**60
# With this probability at most the choice is one of the candidates that are far too large.
_FAILURE = 0.01
_RELIABLE = 50


@dataclass(frozen=True)
class PrivateRadius:
    """Ask `dpcov.release` to choose `row_norm` from the data, and to pay for it.

    Parameters
    ----------
    share : float, default 0.1
        The share of epsilon that the choice may use.
    quantile : float, optional
        About which share of the rows should stay unclipped. By default all but as many as make
        the choice reliable, between 0.9 and 0.99; the number of rows decides.
    low, high : float
        Public bounds between which the radius is sought, in working units. By default 2^−40
        and 2^40. A narrower range lets fewer rows suffice. In scales that were learned these
        bounds mean nothing, and the default ones are used.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(scale=700.0, size=(20_000, 4))
    >>> radius = dpcov.PrivateRadius(share=0.1)
    >>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=radius)
    >>> 1800 < release.provenance.row_norm < 2700
    True
    >>> [event.name for event in release.events]
    ['radius', 'moments']
    """

    share: float = 0.1
    quantile: float | None = None
    low: float = 2.0**-40
    high: float = 2.0**40

    def __post_init__(self) -> None:
        share = check_number(
            "share", self.share, low=1e-6, high=0.9, open_low=False, open_high=False
        )
        object.__setattr__(self, "share", share)
        if self.quantile is not None:
            quantile = check_number("quantile", self.quantile, low=0.0, high=1.0)
            object.__setattr__(self, "quantile", quantile)
        for name in ("low", "high"):
            bound = check_number(
                name,
                getattr(self, name),
                low=_SMALLEST,
                high=_LARGEST,
                open_low=False,
                open_high=False,
            )
            object.__setattr__(self, name, bound)
        if not self.low < self.high:
            raise ParameterError("low must be below high: the radius is sought between them.")

    def in_learned_scales(self) -> PrivateRadius:
        """Return the same wish for a second choice, in units that nobody stated."""
        return PrivateRadius(share=self.share, quantile=self.quantile)

    def candidates(self) -> npt.NDArray[np.float64]:
        """Return the radii among which one is chosen, rising."""
        first = math.ceil(math.log2(self.low) * _STEPS_PER_DOUBLING - 1e-9)
        last = math.floor(math.log2(self.high) * _STEPS_PER_DOUBLING + 1e-9)
        if first > last:
            raise ParameterError("low and high are so close that no radius lies between them.")
        return np.exp2(np.arange(first, last + 1) / _STEPS_PER_DOUBLING)

    def aim(self, n_rows: int, selection_range: float, rows_per_unit: int = 1) -> float:
        """Return the quantile to look for, from public facts alone.

        Clipping more rows than noise asks for biases variances; a radius that clips fewer than
        about 50 / range rows cannot be told from one that is far too large.
        """
        if self.quantile is not None:
            return self.quantile
        clipped = _RELIABLE * rows_per_unit / (selection_range * n_rows)
        return 1 - min(0.1, max(0.01, clipped))

    def check_rows(self, n_rows: int, selection_range: float, rows_per_unit: int = 1) -> None:
        """Refuse when there are so few rows that a radius far too large is likely.

        All radii beyond the longest row score alike, (1 − quantile) n below the best.
        """
        spare = math.log(len(self.candidates()) / _FAILURE)
        clipped = 1 - self.aim(n_rows, selection_range, rows_per_unit)
        needed = 2 * rows_per_unit * spare / (clipped * n_rows)
        if selection_range < needed:
            raise ParameterError(
                f"{n_rows} rows are too few to choose a radius with share={self.share:g}: a far "
                f"too large one would be likely. A share {needed / selection_range:.2g} times as "
                "large, a smaller quantile=, or a narrower range from low= to high= would do; or "
                "state row_norm= from knowledge."
            )


def choose_radius(
    counts: NormCounts,
    option: PrivateRadius,
    *,
    selection_range: float,
    stream: RandomStream,
    rows_per_unit: int = 1,
) -> float:
    """Choose a radius near the quantile of the row norms.

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
    wanted = math.floor(option.aim(n_rows, selection_range, rows_per_unit) * n_rows)
    before = np.concatenate([[0], within[:-1]])
    # Not the distance of `within` alone: beyond rows of one length all radii would be as good.
    scores = n_rows - np.maximum(0, np.maximum(wanted - within, before - wanted))
    scale = 2 * rows_per_unit / selection_range
    place = select_largest(lambda: [scores], count=1, scale=scale, stream=stream)
    return float(counts.radii[place[0]])
