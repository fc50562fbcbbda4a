"""The calibration of the pairs mechanism: budget, selection and noise, bound together.

Owns everything that is decided before a row is read, from public facts alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.exact.grid import Grid, finest_grid
from dpcov.exact.scales import scale_of
from dpcov.mechanisms.budget import split
from dpcov.mechanisms.differences import check_differences
from dpcov.parameters import check_count, check_number
from dpcov.privacy import (
    ApproxDP,
    Event,
    Gaussian,
    Neighbors,
    Selection,
    sign_sensitivity,
    squared_unit_sensitivity,
)
from dpcov.privacy.accounting import events_rho
from dpcov.privacy.zcdp import selection_scale, zcdp_budget
from dpcov.sensitive.sums.signs import Squares

__all__ = ["DEFAULT_SHARES", "FINER_BITS", "PairsCalibration", "calibrate_pairs"]

DEFAULT_SHARES = {"selection": 0.5, "values": 0.5, "variances": 0.1}
"""Relative shares of the budget; those of steps that are not taken go to the others."""

# The grid of the released values is this much finer than counts: rounding costs nothing.
FINER_BITS = 20


@dataclass(frozen=True)
class PairsCalibration:
    """Everything that is decided before a row is read. All of it is public.

    Parameters
    ----------
    promise : ApproxDP
        What all noise together pays for.
    n_rows, n_terms, n_columns, max_pairs : int
        Rows, rows or differences in the sums, columns, pairs to release.
    selection_scale : float
        Scale of the Gumbel noise, in counts; 0 when all pairs are taken.
    value_scale : int
        Noise scale of the sums of products, in counts / 2^20.
    squares : Squares or None
        How squares are clipped and summed.
    square_scale : int
        Noise scale of the sums of squares, on their integer grid; 0 without them.
    events : tuple of Event
        What all of it does.
    rows_per_unit : int, default 1
        How many rows one person has at most.
    """

    promise: ApproxDP
    n_rows: int
    n_terms: int
    n_columns: int
    max_pairs: int
    selection_scale: float
    value_scale: int
    squares: Squares | None
    square_scale: int
    events: tuple[Event, ...]
    rows_per_unit: int = 1

    @property
    def differences(self) -> bool:
        """Whether the terms are differences of rows."""
        return self.n_terms != self.n_rows

    @property
    def noise_scale(self) -> float:
        """The sd of the noise of a released mean co-movement."""
        return self.value_scale / (self.n_terms << FINER_BITS)

    @property
    def square_step(self) -> float:
        """What one step of the sums of squares is worth in a variance."""
        return 0.0 if self.squares is None else self.squares.grid.unit**2 / self.n_terms

    @property
    def variance_scale(self) -> float:
        """The sd of the noise of a released variance."""
        return self.square_scale * self.square_step

    def for_rows(self, n_rows: int) -> PairsCalibration:
        """Return the calibration for a table that turned out to have another number of rows.

        Neither the noise nor the events depend on it.
        """
        n_terms = n_rows // 2 if self.differences else n_rows
        return replace(self, n_rows=n_rows, n_terms=n_terms)


def calibrate_pairs(
    *,
    promise: ApproxDP,
    n_rows: int,
    n_columns: int,
    max_pairs: int,
    differences: bool,
    row_norm: float | None = None,
    cell_bound: float | None = None,
    shares: Mapping[str, float] | None = None,
    rows_per_unit: int = 1,
) -> PairsCalibration:
    """Choose all noise from public facts.

    Notes
    -----
    Claim P12. The steps cost no more than ρ(ε, δ) of P9 together: their scales are rounded
    up, and the sum of what they cost at those scales is compared with ρ.

    Examples
    --------
    >>> calibration = calibrate_pairs(
    ...     promise=ApproxDP(1.0, 1e-5, "replace"),
    ...     n_rows=20_000,
    ...     n_columns=1000,
    ...     max_pairs=200,
    ...     differences=True,
    ... )
    >>> calibration.n_terms, round(calibration.selection_scale), round(calibration.noise_scale, 4)
    (10000, 162, 0.0162)
    """
    if promise.neighbors is Neighbors.LOCAL:
        raise ParameterError("The pairs mechanism needs a table; it is not in the local model.")
    if differences:
        check_differences(promise.neighbors, rows_per_unit=rows_per_unit)
    all_pairs = n_columns * (n_columns - 1) // 2
    count = check_count(
        "max_pairs",
        max_pairs,
        low=1,
        high=max(1, all_pairs),
        advice=f"{n_columns} columns have {all_pairs} pairs.",
    )
    if all_pairs == 0:
        raise ParameterError("The pairs mechanism needs two columns or more; got 1 feature(s).")
    n_terms = n_rows // 2 if differences else n_rows
    taken = {
        "selection": count < all_pairs,
        "values": True,
        "variances": row_norm is not None,
    }
    rho = zcdp_budget(epsilon=promise.epsilon, delta=promise.delta)
    budget = _split(rho, taken, shares)
    per_person = sign_sensitivity(promise.neighbors) * rows_per_unit
    gumbel = (
        selection_scale(count=count, sensitivity=per_person, rho=budget["selection"])
        if taken["selection"]
        else 0.0
    )
    value_scale = _gaussian_scale(Fraction(per_person**2 * count) * 4**FINER_BITS, budget["values"])

    def square_variance(squares: Squares) -> Fraction:
        squared = _squared_square_sensitivity(squares, promise, rows_per_unit)
        return squared / (2 * Fraction(budget["variances"]))

    squares, square_scale = _calibrate_squares(row_norm, cell_bound, n_terms, square_variance)
    return PairsCalibration(
        promise=promise,
        n_rows=n_rows,
        n_terms=n_terms,
        n_columns=n_columns,
        max_pairs=count,
        selection_scale=gumbel,
        value_scale=value_scale,
        squares=squares,
        square_scale=square_scale,
        events=_events(
            promise, rho, count, gumbel, value_scale, squares, square_scale, rows_per_unit
        ),
        rows_per_unit=rows_per_unit,
    )


def _calibrate_squares(
    row_norm: float | None,
    cell_bound: float | None,
    n_terms: int,
    variance: Callable[[Squares], Fraction],
) -> tuple[Squares | None, int]:
    """Return how squares are summed and the scale of their noise; none without a row norm."""
    if row_norm is None:
        if cell_bound is not None:
            raise ParameterError("cell_bound needs row_norm: both bound the released variances.")
        return None, 0
    norm = row_norm
    grid, needed = finest_grid(
        lambda bits: Grid(row_norm=norm, bits=bits),
        n_rows=n_terms,
        variance=lambda grid: variance(_bounded(grid, cell_bound)),
    )
    return _bounded(grid, cell_bound), scale_of(needed)


def _bounded(grid: Grid, cell_bound: float | None) -> Squares:
    if cell_bound is None:
        return Squares(grid, 1 << grid.bits)
    bound = check_number(
        "cell_bound",
        cell_bound,
        low=grid.unit,
        high=grid.row_norm,
        open_low=False,
        open_high=False,
        advice="It is a public bound on the size of a cell, at most row_norm.",
    )
    return Squares(grid, int(bound / grid.unit))


def _split(
    rho: float, taken: Mapping[str, bool], shares: Mapping[str, float] | None
) -> dict[str, float]:
    """Return what each step may spend; the parts add up to a little less than ρ."""
    weights = split([step for step in taken if taken[step]], DEFAULT_SHARES, shares)
    return {step: weights.get(step, 0.0) * rho * (1 - 1e-9) for step in taken}


def _gaussian_scale(squared_sensitivity: Fraction, rho: float) -> int:
    """Return the scale σ ≥ Δ/√(2ρ), rounded up to what the sampler draws."""
    return scale_of(squared_sensitivity / (2 * Fraction(rho)))


def _squared_square_sensitivity(
    squares: Squares, promise: ApproxDP, rows_per_unit: int
) -> Fraction:
    factor = squared_unit_sensitivity(promise.neighbors) * rows_per_unit**2
    return Fraction(factor * squares.cell_bound**2 * squares.grid.squared_norm)


def _events(
    promise: ApproxDP,
    rho: float,
    count: int,
    gumbel: float,
    value_scale: int,
    squares: Squares | None,
    square_scale: int,
    rows_per_unit: int,
) -> tuple[Event, ...]:
    """Return what is done at the scales that the sampler draws, if it costs at most ρ."""
    per_person = sign_sensitivity(promise.neighbors) * rows_per_unit
    events: list[Event] = []
    if gumbel:
        width = math.nextafter(2 * per_person / gumbel, math.inf)
        events.append(Selection("selection", width, count))
    squared = Fraction(per_person**2 * count) * 4**FINER_BITS
    events.append(_gaussian("values", value_scale, squared))
    if squares is not None:
        squared = _squared_square_sensitivity(squares, promise, rows_per_unit)
        events.append(_gaussian("variances", square_scale, squared))
    if events_rho(events) > rho:
        raise AssertionError("unreachable: the shares add up to less than the budget")
    return tuple(events)


def _gaussian(name: str, scale: int, squared_sensitivity: Fraction) -> Gaussian:
    # Three correctly rounded operations; the multiplier is rounded down.
    return Gaussian(name, scale / math.sqrt(squared_sensitivity) * (1 - 2.0**-50))
