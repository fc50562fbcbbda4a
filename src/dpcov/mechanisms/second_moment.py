"""The second-moment mechanism: an exact Gram matrix goes in, a Release comes out.

Owns the calibration that binds grid, noise and promise together, so that they cannot be
mismatched, and the addition of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.columns.design import Design
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.grid import Grid, finest_grid
from dpcov.exact.randomness import RandomStream
from dpcov.exact.scales import frobenius_scales
from dpcov.exact.triangle import Triangle
from dpcov.mechanisms.noise import add_noise
from dpcov.privacy import ApproxDP, Event, Gaussian, gaussian_scale, squared_moment_sensitivity
from dpcov.privacy.sensitivity import moments_relation
from dpcov.releases import SECOND_MOMENT, NoiseScale, Provenance, Release
from dpcov.releases.weights import Weights
from dpcov.releases.working import WorkingMoments
from dpcov.sensitive.sums.gram import Gram
from dpcov.version import __version__

__all__ = ["MomentsCalibration", "calibrate_moments", "release_gram"]

_DRAWS_AT_A_TIME = 1 << 20
# The constant of a row has a 16th of its squared norm: for means of some tenths of the norm.
_INVERSE_SQUARED_CONSTANT = 16


@dataclass(frozen=True)
class MomentsCalibration:
    """Everything that is decided before a row is read. All of it is public.

    Parameters
    ----------
    promise : ApproxDP
        What the noise pays for.
    n_rows : int
        The number of rows.
    grid : Grid
        Clipping norm and bits.
    off_diagonal, diagonal : int
        Noise scales on the integer grid of the sums.
    rows_per_unit : int, default 1
        How many rows one person has at most.
    """

    promise: ApproxDP
    n_rows: int
    grid: Grid
    off_diagonal: int
    diagonal: int
    rows_per_unit: int = 1

    @property
    def noise_scale(self) -> NoiseScale:
        """The noise scales of the released average, in working units."""
        return NoiseScale(
            self.off_diagonal * self.step,
            self.diagonal * self.step,
            mean=self.off_diagonal * self.mean_step if self.grid.constant else 0.0,
        )

    @property
    def step(self) -> float:
        """What one step of the integer sums is worth in the released average."""
        return self.grid.step**2 / self.n_rows

    @property
    def mean_step(self) -> float:
        """What one step of the products with the constant is worth in the released mean."""
        return self.grid.step / (self.grid.constant * self.n_rows)

    def for_rows(self, n_rows: int) -> MomentsCalibration:
        """Return the calibration for a table that turned out to have another number of rows.

        Noise does not depend on it, and the Gram matrix refuses rows that the grid has no
        room for.
        """
        return replace(self, n_rows=n_rows)


def calibrate_moments(
    *,
    promise: ApproxDP,
    n_rows: int,
    row_norm: float,
    multiplier: float | None = None,
    with_mean: bool = False,
    rows_per_unit: int = 1,
    leaves_traces: bool = False,
) -> MomentsCalibration:
    """Choose grid and noise from facts that are public or were paid for.

    `leaves_traces` says that a row without cells is not zero: see `moments_relation`.

    Notes
    -----
    Claim P5. On the grid a row has squared norm at most B = 4^bits, so by P1 the sums
    move by at most Δ = √2 B (replace) or B (add-remove), and by what P17 says if rows have
    a constant cell or a person several rows. In the basis of the symmetric
    matrices that is orthonormal for the Frobenius norm (diagonal entries, and √2 times
    the entries above it) noise of sd τ off the diagonal and √2 τ on it has the same
    sd √2 τ in every direction. It is the Gaussian mechanism with √2 τ ≥ σ₀ Δ. Both
    scales are rounded up, which adds independent noise, that is, post-processing.

    Examples
    --------
    >>> promise = ApproxDP(1.0, 1e-5, "replace")
    >>> calibration = calibrate_moments(promise=promise, n_rows=1000, row_norm=1.0)
    >>> round(calibration.noise_scale.off_diagonal * 1000, 3), calibration.grid.bits
    (3.731, 20)
    """
    if multiplier is None:
        multiplier = gaussian_scale(epsilon=promise.epsilon, delta=promise.delta)

    def grid_of(bits: int) -> Grid:
        constant = isqrt(4**bits // _INVERSE_SQUARED_CONSTANT) if with_mean else 0
        return Grid(row_norm=row_norm, bits=bits, constant=constant)

    def variance(grid: Grid) -> Fraction:
        # (σ₀ Δ)², exactly: a float is a fraction.
        return Fraction(multiplier) ** 2 * squared_moment_sensitivity(
            moments_relation(promise.neighbors, leaves_traces=leaves_traces),
            squared_norm=grid.squared_norm,
            constant=grid.constant,
            rows=rows_per_unit,
        )

    grid, needed = finest_grid(grid_of, n_rows=n_rows, variance=variance)
    off_diagonal, diagonal = frobenius_scales(needed)
    return MomentsCalibration(
        promise=promise,
        n_rows=n_rows,
        grid=grid,
        off_diagonal=off_diagonal,
        diagonal=diagonal,
        rows_per_unit=rows_per_unit,
    )


def release_gram(
    gram: Gram,
    calibration: MomentsCalibration,
    *,
    design: Design,
    stream: RandomStream,
    observed: npt.NDArray[np.float64] | None = None,
    weights: Weights | None = None,
    events: tuple[Event, ...] = (),
    units: Units | None = None,
    missing: Missing = Missing.REFUSE,
) -> Release:
    """Add the calibrated noise to a Gram matrix: a place where rows leave the house.

    `observed` is what the indicators of gaps are about, if there are any. With `weights` the last
    column is their constant.
    """
    if (
        gram.grid != calibration.grid
        or gram.n_rows != calibration.n_rows
        or gram.n_columns != design.n_working + (weights is not None)
    ):
        raise ParameterError("The Gram matrix was not made for this calibration.")
    center, noise = "public", calibration.noise_scale
    matrix, mean = _noisy_average(gram.triangle, calibration, stream), None
    if weights is not None:
        center, noise = "private", weights.noise_scale(noise)
        matrix, mean = _take_out_weights(matrix, noise, weights)
    elif calibration.grid.constant:
        center = "private"
        matrix, mean = _take_out_mean(matrix, calibration)
    size = design.n_values
    made = Release(
        matrix=matrix[:size, :size].copy(),
        noise_scale=noise,
        n_rows=calibration.n_rows,
        columns=design.names,
        provenance=Provenance(
            version=__version__,
            mechanism=SECOND_MOMENT,
            row_norm=calibration.grid.row_norm,
            bits=calibration.grid.bits,
            calibrated_for=calibration.promise,
            center=center,
            constant=calibration.grid.constant,
            missing=missing,
            rows_per_unit=calibration.rows_per_unit,
            events=events or (_only_event(calibration.promise),),
        ),
        simulated=stream.simulated,
        units=Units.plain(size) if units is None else units,
        mean=None if mean is None else mean[:size].copy(),
        weights=weights,
    )
    if design.is_plain or mean is None:
        return made
    there = np.ones(design.n_gaps) if observed is None else observed
    return made.with_working(
        WorkingMoments(design=design, matrix=matrix, mean=mean, observed=there)
    )


def _only_event(promise: ApproxDP) -> Gaussian:
    return Gaussian("moments", gaussian_scale(epsilon=promise.epsilon, delta=promise.delta))


def _take_out_mean(
    matrix: npt.NDArray[np.float64], calibration: MomentsCalibration
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return second moments about the noisy mean, and that mean. Costs no privacy.

    The square of a noisy mean is too large by its noise variance, on the diagonal alone.
    """
    mean = matrix[:-1, -1] * (calibration.mean_step / calibration.step)
    moments = matrix[:-1, :-1].copy()
    moments -= np.outer(mean, mean)
    moments[np.diag_indices(len(mean))] += calibration.noise_scale.mean**2
    return moments, mean


def _take_out_weights(
    matrix: npt.NDArray[np.float64], noise: NoiseScale, weights: Weights
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return weighted moments about the weighted mean, and that mean. Costs no privacy.

    Sums of weighted products are divided by the released average weight. Products with the
    constant hold the mean.
    """
    scaled = matrix / weights.mean
    mean = scaled[:-1, -1] / weights.constant
    moments = scaled[:-1, :-1].copy()
    moments -= np.outer(mean, mean)
    moments[np.diag_indices(len(mean))] += noise.mean**2
    return moments, mean


def _noisy_average(
    sums: Triangle, calibration: MomentsCalibration, stream: RandomStream
) -> npt.NDArray[np.float64]:
    """Add noise on and above the diagonal, convert to float, once, and mirror.

    The noise of the diagonal is drawn first, then that of the other entries, row by row.
    """
    size = sums.size
    matrix = np.empty((size, size))
    stream.begin("moments")
    diagonal = add_noise(sums.diagonal(), calibration.diagonal, stream)
    matrix[np.diag_indices(size)] = diagonal * calibration.step
    band = max(1, _DRAWS_AT_A_TIME // size)
    for top in range(0, size - 1, band):
        bottom = min(top + band, size - 1)
        exact = np.concatenate([sums.row(row)[1:] for row in range(top, bottom)])
        noisy = add_noise(exact, calibration.off_diagonal, stream)
        start = 0
        for row in range(top, bottom):
            stop = start + size - 1 - row
            matrix[row, row + 1 :] = noisy[start:stop] * calibration.step
            matrix[row + 1 : bottom, row] = matrix[row, row + 1 : bottom]
            start = stop
        matrix[bottom:, top:bottom] = matrix[top:bottom, bottom:].T
    return matrix
