"""Noise for sums of integers, from their sensitivity and a multiplier.

Owns the choice of the integer grid on which that noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.grid import MAX_SUM_BITS
from dpcov.exact.randomness import RandomStream
from dpcov.exact.scales import SCALE_BITS, scale_of
from dpcov.mechanisms.noise import add_noise

__all__ = ["Noise", "Noisy"]


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy numbers, one for each column, and the sd of their noise."""

    values: npt.NDArray[np.float64]
    sd: float


@dataclass(frozen=True)
class Noise:
    """Gaussian noise of a known scale on a grid of 1/2^bits. All of it is public.

    Make it with `paying`.
    """

    scale: int
    bits: int

    @classmethod
    def paying(
        cls, multiplier: float, squared_sensitivity: int, *, largest: int, steps: int = 1
    ) -> Noise:
        """Return the noise of each of some steps that are together one of this multiplier.

        No sum is larger than `largest`; the grid is as fine as it and the scale let it be.

        Notes
        -----
        Claim P23. Steps whose noise is √k multipliers each are together one Gaussian step of
        one multiplier, also when each is chosen by the answers before: distances Δ/(σ√k) add
        up in squares to that of Δ/σ. The variance is an exact fraction; its root is rounded up.
        """
        variance = Fraction(multiplier) ** 2 * squared_sensitivity * steps
        room = min(
            SCALE_BITS - scale_of(variance).bit_length(), MAX_SUM_BITS - largest.bit_length()
        )
        bits = max(0, room)
        return cls(scale_of(variance * 4**bits), bits)

    @property
    def sd(self) -> float:
        """The standard deviation, in units of the sums."""
        return self.scale * 2.0**-self.bits

    def on(
        self, sums: npt.NDArray[np.integer[Any]], stream: RandomStream
    ) -> npt.NDArray[np.float64]:
        """Return the sums with noise, converted to floats once."""
        noisy = add_noise(sums << self.bits, self.scale, stream)
        return noisy.astype(np.float64) * 2.0**-self.bits
