"""Squared lengths of vectors that were seen with noise: estimates, intervals, tests.

Owns that arithmetic. Measures of association are such lengths, and noise makes them too large:
if y = θ + noise with variances λ in its coordinates, |y|² exceeds |θ|² by Σλ on average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.parameters import check_number

__all__ = ["NoisyLength", "NoisyLengths"]

_STEPS = 36
"""Halvings of the range in which the end of an interval is sought."""

Array = npt.NDArray[np.float64]
Holds = Callable[[Array], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class NoisyLength:
    """What is known of a squared length ψ = |θ|².

    Parameters
    ----------
    found : float
        |y|², as seen.
    excess : float
        Σλ, by which it is too large on average.
    squares, cubes : float
        Σλ² and Σλ³.
    slope : float
        By what the variance of |y|² grows with ψ: 4 λ, averaged along θ.
    relative : float
        The variance of the error of ψ in relation to ψ itself: of what the coordinates were
        divided by.
    """

    found: float
    excess: float
    squares: float
    cubes: float
    slope: float
    relative: float = 0.0

    @classmethod
    def of(cls, seen: Array, variances: Array, *, relative: float = 0.0) -> NoisyLength:
        """Return what a noisy vector says, given the variances of its coordinates."""
        found, excess = float((seen**2).sum()), float(variances.sum())
        squares = float((variances**2).sum())
        # Along which coordinates θ lies is known the better, the more of it stands out.
        signal = max(found - excess, 0.0)
        along = max(float((variances * seen**2).sum()) - squares, 0.0)
        doubt = np.sqrt(2 * squares)
        mean = excess / variances.size
        slope = 4 * (along + doubt * mean) / (signal + doubt)
        return cls(found, excess, squares, float((variances**3).sum()), slope, relative)

    @property
    def estimate(self) -> float:
        """The length without what noise adds to it; not below zero."""
        return max(self.found - self.excess, 0.0)


class NoisyLengths:
    """Many of them, for answers that are computed at once."""

    def __init__(self, lengths: Sequence[NoisyLength]) -> None:
        self.found = np.array([each.found for each in lengths])
        self.excess = np.array([each.excess for each in lengths])
        self._squares = np.array([each.squares for each in lengths])
        self._cubes = np.array([each.cubes for each in lengths])
        self._slope = np.array([each.slope for each in lengths])
        self._relative = np.array([each.relative for each in lengths])

    @property
    def estimate(self) -> Array:
        """The lengths without what noise adds to them; not below zero."""
        return np.asarray(np.maximum(self.found - self.excess, 0.0))

    def _law(self, length: Array, seen: Array) -> tuple[Array, Array]:
        """Return the shape of a gamma law, and where in it |y|² is, were the lengths these.

        Three cumulants of |y|² are known, and so is the gamma law that has them (Pearson's third
        kind; exact for equal λ and ψ = 0).
        """
        second = 2 * self._squares + self._slope * length + self._relative * length**2
        third = 8 * self._cubes + 1.5 * self._slope**2 * length
        shape = 4 * second**3 / third**2
        scale = third / (2 * second)
        return shape, np.maximum((seen - self.excess - length) / scale + shape, 0.0)

    def p_values(self) -> Array:
        """Return the chance to see so much where there is nothing."""
        from scipy.special import gammaincc

        return np.asarray(gammaincc(*self._law(np.zeros_like(self.found), self.found)))

    def interval(self, confidence: float, *, most: Array) -> tuple[Array, Array]:
        """Return the ends of intervals in [0, most]: the lengths that the numbers do not refute.

        Where less was seen than noise alone gives, an upper end is that of noise alone: no
        interval is shorter for bad luck.
        """
        from scipy.special import gammainc, gammaincc

        tail = (1 - check_number("confidence", confidence, low=0.0, high=1.0)) / 2
        ordinary = np.maximum(self.found, self.excess)
        low = _last(most, lambda length: gammaincc(*self._law(length, self.found)) < tail)
        high = _last(most, lambda length: gammainc(*self._law(length, ordinary)) >= tail)
        return low, high


def _last(most: Array, holds: Holds) -> Array:
    """Return up to where in [0, most] a condition holds, that holds below and not above."""
    low, high = np.zeros_like(most), most.astype(np.float64)
    never, always = ~holds(low), holds(high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = holds(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(never, 0.0, np.where(always, most, low))
