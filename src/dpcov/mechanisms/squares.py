"""Noisy sums of squares: private scales, and a private trace.

Owns what is released of the diagonal before the moments are. Both are exact in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.exact.grid import Grid, finest_grid
from dpcov.exact.randomness import RandomStream
from dpcov.exact.scales import scale_of
from dpcov.mechanisms.noise import add_noise
from dpcov.privacy import Neighbors, squared_unit_sensitivity
from dpcov.sensitive.sums.square_sums import SquareSums

__all__ = ["SquaresPlan", "plan_squares", "release_mean_squares", "release_trace", "scales_for"]

# A variance that does not stand out of its noise is taken to be this many sd of it.
_FLOOR_IN_NOISE = 2.0


@dataclass(frozen=True)
class SquaresPlan:
    """Grid and noise of the sums of squares. All of it is public.

    Parameters
    ----------
    grid : Grid
        Clipping norm and bits.
    scale : int
        Noise scale on the integer grid of the sums.
    """

    grid: Grid
    scale: int


def plan_squares(
    *,
    multiplier: float,
    neighbors: Neighbors,
    n_rows: int,
    row_norm: float,
    total: bool = False,
    rows_per_unit: int = 1,
) -> SquaresPlan:
    """Choose grid and noise.

    Parameters
    ----------
    multiplier : float
        Noise sd over sensitivity.
    neighbors : Neighbors
        Which tables are compared.
    n_rows, row_norm : int, float
        Public, or paid for.
    total : bool
        For the sum over all columns, and not for each.
    rows_per_unit : int
        How many rows one person has at most.

    Notes
    -----
    Claim P19. m rows of one person move the vector of sums by at most m √2 B or m B, B = 4^bits,
    and their total by m B. The scale is rounded up.
    """
    unit = 1 if total else squared_unit_sensitivity(neighbors)
    per_row = Fraction(multiplier) ** 2 * unit * rows_per_unit**2
    grid, needed = finest_grid(
        lambda bits: Grid(row_norm=row_norm, bits=bits),
        n_rows=n_rows,
        variance=lambda grid: per_row * grid.squared_norm**2,
    )
    return SquaresPlan(grid, scale_of(needed))


def release_mean_squares(
    sums: SquareSums, plan: SquaresPlan, stream: RandomStream
) -> tuple[npt.NDArray[np.float64], float]:
    """Return noisy mean squares of the columns, and the sd of their noise."""
    _check(sums, plan)
    noisy = add_noise(sums.sums, plan.scale, stream)
    cell = plan.grid.unit**2 / sums.n_rows
    return noisy.astype(np.float64) * cell, plan.scale * cell


def release_trace(sums: SquareSums, plan: SquaresPlan, stream: RandomStream) -> float:
    """Return the noisy mean squared norm of the clipped rows; positive."""
    _check(sums, plan)
    noisy = int(add_noise(sums.sums.sum(keepdims=True), plan.scale, stream)[0])
    cell = plan.grid.unit**2 / sums.n_rows
    return max(noisy, plan.scale) * cell


def scales_for(
    mean_squares: npt.NDArray[np.float64], noise: float, target: str
) -> npt.NDArray[np.float64]:
    """Return by what to divide the columns, given noisy mean squares. Costs no privacy.

    Parameters
    ----------
    mean_squares : ndarray
        Noisy; may be negative.
    noise : float
        The sd of their noise.
    target : {"covariance", "correlation"}
        √σ makes the error of the covariance small, σ that of the correlation.

    Examples
    --------
    >>> scales_for(np.array([16.0, 1.0, -0.2]), 0.005, "correlation").round(2)
    array([4. , 1. , 0.1])
    """
    deviation = np.sqrt(np.maximum(mean_squares, _FLOOR_IN_NOISE * noise))
    return deviation if target == "correlation" else np.sqrt(deviation)


def _check(sums: SquareSums, plan: SquaresPlan) -> None:
    if sums.grid != plan.grid:
        raise ParameterError("The sums were not made for this plan.")
