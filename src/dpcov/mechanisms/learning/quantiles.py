"""Quantiles of many columns at once, by bisection with noise.

Owns the bisection. How many steps there are is public; where each looks follows from noisy
answers alone. `window` says which bins are counted at a place; the windows of larger places
hold those of smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.noisy import Noise
from dpcov.privacy.sensitivity import squared_cell_sensitivity, squared_level_sensitivity
from dpcov.sensitive.sums.cell_counts import CellCounts

__all__ = ["Payment", "Quantile", "Questions", "Window", "count_noise"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Window = Callable[[Array], tuple[Integers, Integers]]


@dataclass(frozen=True, kw_only=True)
class Payment:
    """What a step may cost, and how many rows of one person it protects. All of it is public."""

    multiplier: float
    rows_per_unit: int = 1

    def noise(self, *, low: int, high: int, columns: int, n_rows: int, steps: int = 1) -> Noise:
        """Return the noise for sums over rows of integers from low to high, one for each cell."""
        squared = squared_cell_sensitivity(
            low=low, high=high, columns=columns, rows=self.rows_per_unit
        )
        largest = n_rows * max(abs(low), abs(high))
        return Noise.paying(self.multiplier, squared, largest=largest, steps=steps)

    def level_noise(self, *, categories: int, n_rows: int) -> Noise:
        """Return the noise for numbers of rows with each level of some categories."""
        squared = squared_level_sensitivity(categories=categories, rows=self.rows_per_unit)
        return Noise.paying(self.multiplier, squared, largest=n_rows)


@dataclass(frozen=True)
class Quantile:
    """The share `below` / `parts` of the cells that are not missing, of each column."""

    below: int
    parts: int


def count_noise(payment: Payment, columns: int, n_rows: int, steps: int) -> float:
    """Return the noise sd of a count of cells in each of some steps; no less than it will be."""
    return payment.noise(low=0, high=1, columns=columns, n_rows=n_rows, steps=steps).sd


class Questions:
    """How many cells of some columns lie in windows, more or fewer than a quantile asks for.

    Notes
    -----
    Claim P23. With the quantile a/d, every answer is d · #{cells in the window} − a · #{cells}
    with noise; `are_between` counts cells between two windows, d each. A cell adds d − a, −a, or 0
    if it is missing: d apart, whatever a is, so P22 says how far one person moves the k numbers.
    The noise is for `steps` answers, together one Gaussian step; there are no more.
    """

    def __init__(
        self,
        counts: CellCounts,
        window: Window,
        *,
        quantile: Quantile,
        columns: Integers,
        steps: int,
        payment: Payment,
        stream: RandomStream,
    ) -> None:
        self._noise = payment.noise(
            low=0,
            high=quantile.parts,
            columns=len(columns),
            n_rows=counts.n_rows,
            steps=steps,
        )
        self._counts, self._window, self._quantile = counts, window, quantile
        self._columns, self._left, self._stream = columns, steps, stream

    def are_between(self, inner: Array, outer: Array, clear: float) -> Mask:
        """Return whether clearly some cells lie in the larger window and not in the smaller one.

        Clearly is by so many noise sd.
        """
        near, far = self._window(inner)
        first, last = self._window(outer)
        count = self._counts.between(first, near - 1, self._columns)
        count += self._counts.between(far + 1, last, self._columns)
        return np.asarray(self._answer(self._quantile.parts * count) > clear * self._noise.sd)

    def surplus(self, place: Array) -> Array:
        """Return the noisy surplus of cells in the windows at a public place, in parts."""
        return self._surplus(self._counts.between(*self._window(place), self._columns))

    def _surplus(self, within: Integers) -> Array:
        observed = self._counts.observed(self._columns)
        exact = self._quantile.parts * within - self._quantile.below * observed
        return self._answer(exact)

    def _answer(self, exact: Integers) -> Array:
        if not self._left:
            raise ParameterError("No further answer was paid for.")
        self._left -= 1
        return self._noise.on(exact, self._stream)

    def bisect(
        self, low: Array, high: Array, *, steps: int, spare: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """Return the ends between which the quantile is seen, after some steps.

        It may lack so many `spare` parts.
        """
        for _ in range(steps):
            middle = (low + high) / 2
            short = self.surplus(middle) < -spare
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return low, high
