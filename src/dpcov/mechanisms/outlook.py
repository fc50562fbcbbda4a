"""What the strongest pairs will show, before a row is read.

Owns what an outlook says, and that of the pairs mechanism, from public facts alone: rows,
columns, pairs, promise. Columns are taken to be about Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dpcov.bisection import smallest_count
from dpcov.detection import pairs_detectable
from dpcov.errors import InputError, ParameterError
from dpcov.mechanisms.pairs_calibration import (
    PairsCalibration,
    calibrate_pairs,
    finds_centers,
)
from dpcov.privacy import ApproxDP, Neighbors

__all__ = [
    "ALL_THE_SAME",
    "Outlook",
    "best_shares",
    "check_pairs_shown",
    "check_shown",
    "choose_center",
    "enough",
    "pairs_outlook",
    "typical_row_norm",
]

# On twenty real tables, differences that show correlations of 0.2 or less were no worse.
_STRONG = 0.2
_MOST_ROWS = 2**50
_LARGEST_EPSILON = 64

ALL_THE_SAME = "or release it all the same with allow={'small'}."
"""The end of a refusal that a caller may override."""


@dataclass(frozen=True)
class Outlook:
    """What a mechanism will show.

    Parameters
    ----------
    mechanism : str
        ``"dense"`` is `dpcov.release`, ``"pairs"`` is `dpcov.release_pairs`; ``"cap"`` and
        ``"gaussian"`` are reports of the local model.
    noise_scale : float
        The sd of the noise of an entry on the scale of correlations.
    shown_half, shown_most : float
        The correlation that stands out with probability 0.5 and 0.9; above 1 if none does.
    """

    mechanism: str
    noise_scale: float
    shown_half: float
    shown_most: float


def check_shown(
    shown_half: Callable[[int, ApproxDP], float],
    *,
    n_rows: int,
    n_columns: int,
    promise: ApproxDP,
    is_enough: Callable[[int, ApproxDP], bool] | None = None,
) -> None:
    """Refuse a table in which no correlation could be seen, from public facts alone.

    `shown_half` is the correlation that so many rows and such a promise show half of the time, and
    `is_enough` whether they are not refused: by default if that is no more than 1.
    """
    shown = shown_half(n_rows, promise)
    if shown <= 1:
        return
    size = f"be {shown:.3g}" if math.isfinite(shown) else "be above 1"
    found = enough(
        is_enough or (lambda n, other: shown_half(n, other) <= 1), n_rows=n_rows, promise=promise
    )
    raise InputError(
        f"{n_rows:,} rows of {n_columns} columns are too few at epsilon = {promise.epsilon:g}: a "
        f"correlation would have to {size} to be seen half of the time. Use {found}; or fewer "
        f"columns; {ALL_THE_SAME}"
    )


def check_pairs_shown(
    promise: ApproxDP,
    *,
    n_rows: int,
    n_columns: int,
    max_pairs: int,
    center: str,
    shares: Mapping[str, float] | None = None,
) -> None:
    """Refuse a table of which `pairs_outlook` shows no pair."""

    def shown_half(n: int, other: ApproxDP) -> float:
        return pairs_outlook(
            other,
            n_rows=n,
            n_columns=n_columns,
            max_pairs=max_pairs,
            center=center,
            shares=shares,
        ).shown_half

    check_shown(shown_half, n_rows=n_rows, n_columns=n_columns, promise=promise)


def enough(is_enough: Callable[[int, ApproxDP], bool], *, n_rows: int, promise: ApproxDP) -> str:
    """Say how many rows, or which epsilon, are enough where too few rows are refused."""

    def is_promised(hundredths: int) -> bool:
        return is_enough(n_rows, replace(promise, epsilon=hundredths / 100))

    rows = _smallest(lambda n: is_enough(n, promise), start=n_rows, most=_MOST_ROWS)
    hundredths = _smallest(
        is_promised, start=math.ceil(100 * promise.epsilon), most=100 * _LARGEST_EPSILON
    )
    found = [
        "" if rows is None else f"at least {rows:,} rows",
        "" if hundredths is None else f"epsilon of at least {hundredths / 100:g}",
    ]
    return "; or ".join(filter(None, found)) or "a larger epsilon"


def _smallest(holds: Callable[[int], bool], *, start: int, most: int) -> int | None:
    try:
        return smallest_count(holds, start=start, most=most, otherwise="none")
    except ParameterError:
        return None


def typical_row_norm(n_columns: int) -> float:
    """Return the norm that 99 % of rows of independent, standardized columns stay below."""
    return math.sqrt(n_columns + 2.33 * math.sqrt(2 * n_columns))


def pairs_outlook(
    promise: ApproxDP,
    *,
    n_rows: int,
    n_columns: int,
    max_pairs: int,
    center: str,
    shares: Mapping[str, float] | None = None,
) -> Outlook:
    """Return what the strongest pairs will show, without variances."""
    calibration = calibrate_pairs(
        promise=promise,
        n_rows=n_rows,
        n_columns=n_columns,
        max_pairs=max_pairs,
        center=center,
        shares=shares,
    )
    factor, missed = _noise_of_centers(calibration)
    noise = math.hypot(factor * calibration.noise_scale, missed)
    half, most = (
        pairs_detectable(
            n_columns=n_columns,
            n_terms=calibration.n_terms,
            max_pairs=calibration.max_pairs,
            selection_scale=factor * calibration.selection_scale,
            noise_scale=noise,
            power=power,
        )
        for power in (0.5, 0.9)
    )
    # Near zero a correlation is π/2 times its co-movement.
    return Outlook("pairs", math.pi / 2 * noise, half, most)


def _noise_of_centers(calibration: PairsCalibration) -> tuple[float, float]:
    """Return by how much learned centers weaken a typical pair, and what noise they add.

    A sign of mean m has the variance 1 − m²; errors of two means are left as their product.
    """
    if not calibration.learns:
        return 1.0, 0.0
    squared = min(0.5, calibration.typical_mean_sign**2)
    return 1 / (1 - squared), min(squared, calibration.mean_sign_noise**2)


def choose_center(
    promise: ApproxDP,
    *,
    n_rows: int | None,
    n_columns: int,
    max_pairs: int,
    rows_per_unit: int = 1,
) -> str:
    """Return what signs are best about if no center is stated, from public facts alone.

    Differences of rows make half the terms, and keep not all promises. But where they show weak
    correlations anyway they measure better: signs about a center know no more of a cell than its
    side, and say less of columns that are skewed or have few values. So centers are learned where
    differences show strong correlations alone, unless there is so much noise that centers would
    not be found. Rows of an unknown number can be read once: that is enough for differences.
    """
    if promise.neighbors is not Neighbors.REPLACE or rows_per_unit > 1:
        return "learned"
    if n_rows is None or not finds_centers(promise, n_rows=n_rows, n_columns=n_columns):
        return "differences"
    outlook = pairs_outlook(
        promise,
        n_rows=n_rows,
        n_columns=n_columns,
        max_pairs=max_pairs,
        center="differences",
    )
    return "learned" if outlook.shown_half > _STRONG else "differences"


def best_shares(
    promise: ApproxDP, *, n_rows: int, n_columns: int, max_pairs: int, center: str
) -> dict[str, float]:
    """Return the split between selection and values that shows the smallest correlation."""
    # Beside them, centers and signs have up to 0.2.
    both = 0.8 if center == "learned" else 1.0

    def shown(selection: float) -> float:
        shares = {"selection": both * selection, "values": both * (1 - selection)}
        return pairs_outlook(
            promise,
            n_rows=n_rows,
            n_columns=n_columns,
            max_pairs=max_pairs,
            center=center,
            shares=shares,
        ).shown_half

    best = min((step / 20 for step in range(2, 19)), key=lambda s: (shown(s), abs(s - 0.5)))
    return {"selection": round(both * best, 3), "values": round(both * (1 - best), 3)}
