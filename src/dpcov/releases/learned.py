"""What was learned of a table before its moments, and paid for.

Owns these values and what follows from them without a cost: radii at any quantile, how many
rows lie beyond one, and by how much. Never sees rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number
from dpcov.releases.sizes import MOST_ROWS, check_scale, check_sizes

__all__ = ["Known", "Learned", "NormHistogram"]

Array = npt.NDArray[np.float64]
_MOST_BINS = 4096
_SEEN = 2.0  # noise sd
_PEAK = 5  # bins that are added up to find where most rows are


class Known(IntEnum):
    """How a fact of a column is known."""

    STATED = 0
    LEARNED = 1
    NOT_SEEN = 2
    """It was looked for, and did not stand out of the noise: what is used is a guess."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NormHistogram:
    """Noisy counts of rows by their squared norm, in working units.

    `counts[k]` is of rows up to `edges[k]` and beyond the edge before; the last one is of all
    beyond the last edge. `noise` is the sd of each. Read-only.
    """

    edges: Array
    counts: Array
    noise: float
    n_rows: int

    def __post_init__(self) -> None:
        for name in ("edges", "counts"):
            vector = getattr(self, name)
            if vector.ndim != 1 or vector.dtype != np.float64 or len(vector) > _MOST_BINS:
                raise ParameterError(f"{name} of a histogram must be a list of numbers.")
            check_sizes(name, vector)
            vector.setflags(write=False)
        if len(self.counts) != len(self.edges) + 1 or len(self.edges) < 1:
            raise ParameterError("A histogram must have one count more than edges.")
        if not (self.edges[0] > 0 and (np.diff(self.edges) > 0).all()):
            raise ParameterError("The edges of a histogram must be positive and rise.")
        object.__setattr__(self, "noise", check_scale("noise of a histogram", self.noise))
        n_rows = check_count("n_rows", self.n_rows, low=1, high=MOST_ROWS)
        object.__setattr__(self, "n_rows", n_rows)

    @cached_property
    def shares(self) -> Array:
        """The shares of the bins, smoothed: they rise to one of them, and fall after it."""
        from scipy.optimize import isotonic_regression

        peak = int(np.argmax(np.convolve(self.counts, np.ones(_PEAK), mode="same")))
        rising = isotonic_regression(self.counts[: peak + 1]).x
        falling = isotonic_regression(self.counts[peak:], increasing=False).x
        for side in (rising, falling[::-1]):
            # What lies farthest out is noise, until a level stands out of it.
            levels, lengths = np.unique(side, return_counts=True)
            seen = levels * np.sqrt(lengths) >= _SEEN * self.noise
            side[side < levels[np.argmax(seen)]] = 0.0
        fit = np.concatenate([rising[:-1], [max(rising[-1], falling[0])], falling[1:]])
        shares: Array = np.maximum(fit, 0.0) / self.n_rows
        # Some rows may be of no length; there are none beyond the number of rows.
        shares /= max(1.0, float(shares.sum()))
        shares.setflags(write=False)
        return shares

    def radius(self, quantile: float) -> float:
        """Return the smallest edge, as a norm, within which this share of the rows seems to be.

        There is always one: if none is seen, it is the largest.
        """
        quantile = check_number("quantile", quantile, low=0.0, high=1.0)
        within = np.append(1 - self._beyond(), 1.0)
        place = int(np.argmax(within >= quantile))
        return float(np.sqrt(self.edges[min(place, len(self.edges) - 1)]))

    def share_beyond(self, radius: float) -> float:
        """Return which share of the rows seems to be longer than a radius."""
        share, _ = self._tail(radius)
        return float(share.sum())

    def mean_excess(self, radius: float) -> float:
        """Return the mean over all rows of how far the squared norm exceeds a squared radius."""
        share, middle = self._tail(radius)
        return float((share * np.maximum(middle - radius**2, 0.0)).sum())

    def _beyond(self) -> Array:
        """Return the share of the rows beyond each edge."""
        return np.cumsum(self.shares[::-1])[::-1][1:]

    def _tail(self, radius: float) -> tuple[Array, Array]:
        """Return shares of bins beyond a radius, and the middles of their parts beyond it."""
        radius = check_number("radius", radius, low=0.0, high=1e70)
        low = np.concatenate([[0.0], self.edges])
        # The open bin is taken to be as wide as the one before it.
        last = self.edges[-1] ** 2 / self.edges[-2] if len(self.edges) > 1 else 2 * self.edges[-1]
        high = np.append(self.edges, last)
        part = np.clip((high - radius**2) / (high - low), 0.0, 1.0)
        return self.shares * part, (np.maximum(low, radius**2) + high) / 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """How the cells of each column are read, and how that is known. Read-only arrays.

    A working cell is (clip(x, lower, upper) − center) / scale; all are in the data's own units.
    `beyond` is the noisy share of the rows whose cell is at or beyond a limit, and
    `beyond_error` the sd of its noise. `known_range`, `known_center` and `known_scale` say how
    each fact is known, as numbers of `Known`.
    """

    lower: Array
    upper: Array
    center: Array
    scale: Array
    beyond: Array
    beyond_error: float
    known_range: npt.NDArray[np.int8]
    known_center: npt.NDArray[np.int8]
    known_scale: npt.NDArray[np.int8]
    norms: NormHistogram

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "center", "scale", "beyond"):
            self._check_vector(name, np.float64)
            check_sizes(name, getattr(self, name), stated=True)
        for name in ("known_range", "known_center", "known_scale"):
            self._check_vector(name, np.int8)
            if not np.isin(getattr(self, name), list(Known)).all():
                raise ParameterError(f"{name} must hold numbers from 0 to 2.")
        ordered = (self.lower <= self.center) & (self.center <= self.upper)
        if not (ordered & (self.lower < self.upper)).all():
            raise ParameterError("lower, center and upper must rise.")
        if not (self.scale > 0).all():
            raise ParameterError("scale must be positive.")
        if not isinstance(self.norms, NormHistogram):
            raise ParameterError("norms must be a NormHistogram.")
        error = check_scale("beyond_error", self.beyond_error)
        object.__setattr__(self, "beyond_error", error)

    def _check_vector(self, name: str, kind: type[Any]) -> None:
        vector = getattr(self, name)
        if vector.ndim != 1 or vector.dtype != kind or len(vector) != len(self.lower):
            raise ParameterError(f"{name} must be one number for each column.")
        vector.setflags(write=False)
