"""The calibration of the pairs mechanism: budget, selection and noise, bound together.

Owns everything that is decided before a row is read, from public facts alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.exact.scales import scale_of
from dpcov.mechanisms.budget import split
from dpcov.mechanisms.differences import check_differences
from dpcov.mechanisms.pairs_variances import Person, calibrate_variances
from dpcov.parameters import check_choice, check_count
from dpcov.privacy import (
    ApproxDP,
    Event,
    Gaussian,
    Neighbors,
    Selection,
    sign_sensitivity,
)
from dpcov.privacy.accounting import events_rho
from dpcov.privacy.zcdp import selection_scale, zcdp_budget
from dpcov.sensitive.sums.signs import Squares

__all__ = [
    "CENTERS",
    "CENTER_STEPS",
    "FINER_BITS",
    "PairsCalibration",
    "calibrate_pairs",
    "default_shares",
    "finds_centers",
]

CENTERS = ("differences", "learned", "stated")
"""What signs are about: nothing but other rows, centers that are paid for, or stated ones."""

CENTER_STEPS = 20
"""How many answers it takes to find centers."""

# The grid of the released values is this much finer than counts: rounding costs nothing.
FINER_BITS = 20

# Simulated: a mean sign about a learned center is off by about two sd of the noise that one
# answer with the whole share would have. More than this, and searches go astray.
_MOST_ASTRAY = 0.07
_CENTERS_SHARE, _SIGNS_SHARE, _SELECTION_SHARE = 0.15, 0.05, 0.55
_ENOUGH_FOR_CENTERS, _ENOUGH_FOR_SIGNS = 0.015, 0.02


@dataclass(frozen=True)
class PairsCalibration:
    """Everything that is decided before a row is read. All of it is public.

    Parameters
    ----------
    promise : ApproxDP
        What all noise together pays for.
    center : {"differences", "learned", "stated"}
        What signs are about.
    n_rows, n_terms, n_columns, max_pairs : int
        Rows, rows or differences in the sums, columns, pairs to release.
    selection_scale : float
        Scale of the Gumbel noise, in counts; 0 when all pairs are taken.
    center_scale, sign_scale : int
        Noise scales of each answer about centers and of the sums of signs, in counts / 2^20;
        0 unless centers are learned.
    value_scale : int
        Noise scale of the sums of products, in counts / 2^20.
    squares : Squares or None
        How cells and their squares are clipped and summed.
    square_scale : int
        Noise scale of the sums of squares, and of the weighted sums of cells, on their integer
        grid; 0 without them.
    events : tuple of Event
        What all of it does.
    rows_per_unit : int, default 1
        How many rows one person has at most.
    """

    promise: ApproxDP
    center: str
    n_rows: int
    n_terms: int
    n_columns: int
    max_pairs: int
    center_scale: int
    sign_scale: int
    selection_scale: float
    value_scale: int
    squares: Squares | None
    square_scale: int
    events: tuple[Event, ...]
    rows_per_unit: int = 1

    @property
    def differences(self) -> bool:
        """Whether the terms are differences of rows."""
        return self.center == "differences"

    @property
    def learns(self) -> bool:
        """Whether signs are about centers that are learned."""
        return self.center == "learned"

    @property
    def noise_scale(self) -> float:
        """The sd of the noise of a released mean co-movement; of centered ones, see P31."""
        return self.value_scale / (self.n_terms << FINER_BITS)

    @property
    def mean_sign_noise(self) -> float:
        """The sd of the noise of a released mean sign."""
        return self.sign_scale / (self.n_terms << FINER_BITS)

    @property
    def typical_mean_sign(self) -> float:
        """How far mean signs about learned centers typically are from zero, as simulated."""
        one = self.center_scale / math.sqrt(CENTER_STEPS) / (self.n_terms << FINER_BITS)
        return 2 * one

    @property
    def square_step(self) -> float:
        """What one step of the sums of squares is worth in a variance."""
        return 0.0 if self.squares is None else self.squares.grid.step**2 / self.n_terms

    @property
    def square_noise(self) -> float:
        """The sd of the noise of a mean square."""
        return self.square_scale * self.square_step

    @property
    def mean_step(self) -> float:
        """What one step of the weighted sums of cells is worth in a mean; 0 without them."""
        if self.squares is None or not self.squares.weight:
            return 0.0
        return self.squares.grid.step / (self.squares.weight * self.n_terms)

    @property
    def mean_noise(self) -> float:
        """The sd of the noise of a mean."""
        return self.square_scale * self.mean_step

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
    center: str,
    row_norm: float | None = None,
    cell_bound: float | None = None,
    shares: Mapping[str, float] | None = None,
    rows_per_unit: int = 1,
) -> PairsCalibration:
    """Choose all noise from public facts.

    `row_norm` and `cell_bound` are public bounds for the variances; without `row_norm` none
    are released. Every sensitivity grows with `rows_per_unit`.

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
    ...     center="differences",
    ... )
    >>> calibration.n_terms, round(calibration.selection_scale), round(calibration.noise_scale, 4)
    (10000, 162, 0.0162)
    """
    if promise.neighbors is Neighbors.LOCAL:
        raise ParameterError("The pairs mechanism needs a table; it is not in the local model.")
    if check_choice("center", center, CENTERS) == "differences":
        check_differences(promise.neighbors, rows_per_unit=rows_per_unit)
    count = _check_pairs(max_pairs, n_columns)
    n_terms = n_rows // 2 if center == "differences" else n_rows
    learned, apart = center == "learned", _apart(promise, rows_per_unit)
    taken = {
        "centers": learned,
        "signs": learned,
        "selection": count < n_columns * (n_columns - 1) // 2,
        "values": True,
        "variances": row_norm is not None,
    }
    rho = zcdp_budget(epsilon=promise.epsilon, delta=promise.delta)
    defaults = default_shares(taken, rho, apart, n_rows=n_rows, n_columns=n_columns)
    budget = _split(rho, taken, defaults, shares)
    squared = _squared_sign_sensitivities(apart, n_columns, count)
    scales = {
        step: _gaussian_scale(squared[step], budget[step]) if taken[step] else 0 for step in squared
    }
    gumbel = 0.0
    if taken["selection"]:
        gumbel = selection_scale(count=count, sensitivity=apart["values"], rho=budget["selection"])
    squares, square_scale = calibrate_variances(
        Person(promise.neighbors, rows_per_unit),
        row_norm=row_norm,
        cell_bound=cell_bound,
        n_terms=n_terms,
        n_columns=n_columns,
        about_center=center != "differences",
        rho=budget["variances"],
    )
    made = PairsCalibration(
        promise=promise,
        center=center,
        n_rows=n_rows,
        n_terms=n_terms,
        n_columns=n_columns,
        max_pairs=count,
        center_scale=scales["centers"],
        sign_scale=scales["signs"],
        selection_scale=gumbel,
        value_scale=scales["values"],
        squares=squares,
        square_scale=square_scale,
        events=(),
        rows_per_unit=rows_per_unit,
    )
    return replace(made, events=_events(made, rho))


def finds_centers(promise: ApproxDP, *, n_rows: int, n_columns: int) -> bool:
    """Return whether there is so little noise that a search for a center does not go astray."""
    rho = zcdp_budget(epsilon=promise.epsilon, delta=promise.delta)
    apart = _apart(promise, 1)["centers"]
    noise = _noise_of_one(_CENTERS_SHARE * rho, apart, n_rows=n_rows, n_columns=n_columns)
    return noise <= _MOST_ASTRAY


def default_shares(
    taken: Mapping[str, bool],
    rho: float,
    apart: Mapping[str, int],
    *,
    n_rows: int,
    n_columns: int,
) -> dict[str, float]:
    """Return relative shares of the budget; those of steps that are not taken go to the others.

    A pair that is not selected is lost, so centers and signs are paid by the values. Where rows
    are many they need less.
    """
    shares = {
        "centers": _CENTERS_SHARE,
        "signs": _SIGNS_SHARE,
        "selection": 0.5,
        "values": 0.5,
        "variances": 0.1,
    }
    if taken["centers"]:
        shape = {"n_rows": n_rows, "n_columns": n_columns}
        for step, most, least, enough in (
            ("centers", _CENTERS_SHARE, 0.02, _ENOUGH_FOR_CENTERS),
            ("signs", _SIGNS_SHARE, 0.01, _ENOUGH_FOR_SIGNS),
        ):
            noise = _noise_of_one(most * rho, apart[step], **shape)
            shares[step] = min(most, max(least, most * (noise / enough) ** 2))
        shares["selection"] = _SELECTION_SHARE
        selection = shares["selection"] * taken["selection"]
        shares["values"] = 1 - selection - shares["centers"] - shares["signs"]
    return shares


def _noise_of_one(rho: float, apart: int, *, n_rows: int, n_columns: int) -> float:
    """Return the noise sd of mean signs of all columns that cost ρ."""
    return apart * math.sqrt(n_columns / (2 * rho)) / max(1, n_rows)


def _check_pairs(max_pairs: int, n_columns: int) -> int:
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
    return count


def _apart(promise: ApproxDP, rows_per_unit: int) -> dict[str, int]:
    """Return how far one person moves a sum of signs, or an answer about a center, in counts.

    In either relation answers are paid for as if a row was replaced: one that adds nothing about
    the centers is counted as a row is while they are sought.
    """
    moved = sign_sensitivity(promise.neighbors) * rows_per_unit
    replaced = sign_sensitivity(Neighbors.REPLACE) * rows_per_unit
    return {"centers": replaced, "signs": moved, "values": moved}


def _squared_sign_sensitivities(
    apart: Mapping[str, int], n_columns: int, count: int
) -> dict[str, Fraction]:
    """Return how far one person moves each step, squared, in counts / 2^20 (P10, P30, P31)."""
    unit = {step: Fraction(size**2 * 4**FINER_BITS) for step, size in apart.items()}
    return {
        "centers": unit["centers"] * n_columns * CENTER_STEPS,
        "signs": unit["signs"] * n_columns,
        "values": unit["values"] * count,
    }


def _split(
    rho: float,
    taken: Mapping[str, bool],
    defaults: Mapping[str, float],
    shares: Mapping[str, float] | None,
) -> dict[str, float]:
    """Return what each step may spend; the parts add up to a little less than ρ."""
    weights = split([step for step in taken if taken[step]], defaults, shares)
    return {step: weights.get(step, 0.0) * rho * (1 - 1e-9) for step in taken}


def _gaussian_scale(squared_sensitivity: Fraction, rho: float) -> int:
    """Return the scale σ ≥ Δ/√(2ρ), rounded up to what the sampler draws."""
    return scale_of(squared_sensitivity / (2 * Fraction(rho)))


def _events(made: PairsCalibration, rho: float) -> tuple[Event, ...]:
    """Return what is done at the scales that the sampler draws, if it costs at most ρ."""
    apart = _apart(made.promise, made.rows_per_unit)
    squared = _squared_sign_sensitivities(apart, made.n_columns, made.max_pairs)
    events: list[Event] = []
    if made.learns:
        events.append(_gaussian("centers", made.center_scale, squared["centers"]))
        events.append(_gaussian("signs", made.sign_scale, squared["signs"]))
    if made.selection_scale:
        width = math.nextafter(2 * apart["values"] / made.selection_scale, math.inf)
        events.append(Selection("selection", width, made.max_pairs))
    events.append(_gaussian("values", made.value_scale, squared["values"]))
    if made.squares is not None:
        moved = Person(made.promise.neighbors, made.rows_per_unit).moves(made.squares)
        events.append(_gaussian("variances", made.square_scale, moved))
    if events_rho(events) > rho:
        raise AssertionError("unreachable: the shares add up to less than the budget")
    return tuple(events)


def _gaussian(name: str, scale: int, squared_sensitivity: Fraction) -> Gaussian:
    # Three correctly rounded operations; the multiplier is rounded down.
    return Gaussian(name, scale / math.sqrt(squared_sensitivity) * (1 - 2.0**-50))
