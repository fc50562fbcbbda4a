"""What the strongest pairs will show, before a row is read.

Owns what an outlook says, and that of the pairs mechanism, from public facts alone: rows,
columns, pairs, promise. Columns are taken to be about Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dpcov.detection import pairs_detectable
from dpcov.mechanisms.pairs_calibration import calibrate_pairs
from dpcov.privacy import ApproxDP

__all__ = [
    "Outlook",
    "best_shares",
    "pairs_outlook",
    "typical_row_norm",
]


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


def typical_row_norm(n_columns: int) -> float:
    """Return the norm that 99 % of rows of independent, standardized columns stay below."""
    return math.sqrt(n_columns + 2.33 * math.sqrt(2 * n_columns))


def pairs_outlook(
    promise: ApproxDP,
    *,
    n_rows: int,
    n_columns: int,
    max_pairs: int,
    differences: bool,
    shares: Mapping[str, float] | None = None,
) -> Outlook:
    """Return what the strongest pairs will show, without variances."""
    calibration = calibrate_pairs(
        promise=promise,
        n_rows=n_rows,
        n_columns=n_columns,
        max_pairs=max_pairs,
        differences=differences,
        shares=shares,
    )
    half, most = (
        pairs_detectable(
            n_columns=n_columns,
            n_terms=calibration.n_terms,
            max_pairs=calibration.max_pairs,
            selection_scale=calibration.selection_scale,
            noise_scale=calibration.noise_scale,
            power=power,
        )
        for power in (0.5, 0.9)
    )
    # Near zero a correlation is π/2 times its co-movement.
    return Outlook("pairs", math.pi / 2 * calibration.noise_scale, half, most)


def best_shares(
    promise: ApproxDP, *, n_rows: int, n_columns: int, max_pairs: int, differences: bool
) -> dict[str, float]:
    """Return the split between selection and values that shows the smallest correlation."""

    def shown(selection: float) -> float:
        shares = {"selection": selection, "values": 1 - selection}
        return pairs_outlook(
            promise,
            n_rows=n_rows,
            n_columns=n_columns,
            max_pairs=max_pairs,
            differences=differences,
            shares=shares,
        ).shown_half

    best = min((step / 20 for step in range(2, 19)), key=lambda s: (shown(s), abs(s - 0.5)))
    return {"selection": best, "values": round(1 - best, 2)}
