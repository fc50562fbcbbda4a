"""NoiseScale: how noisy the entries of a release are.

Owns that value, and how it follows from the constants of cap reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcov.privacy import Cap
from dpcov.releases.sizes import check_scale

__all__ = ["CAP_CONSTANT", "NoiseScale", "cap_noise"]


@dataclass(frozen=True)
class NoiseScale:
    """Standard deviation of the noise of an entry, in the units of the matrix.

    Parameters
    ----------
    off_diagonal, diagonal : float
        The sd where nothing is to be seen.
    signal : float, default 0
        How the noise grows with what is measured: an entry between columns of variances
        a and b has signal · (a + b) more variance, and one on the diagonal 4 · signal · a.
        Additive noise has none; the seeds of `dpcov.local` do.
    mean : float, default 0
        The sd of the noise of a released mean. Taking noisy means l and m out of an entry
        adds mean² (l² + m²) to its variance.
    """

    off_diagonal: float
    diagonal: float
    signal: float = 0.0
    mean: float = 0.0

    def __post_init__(self) -> None:
        for name in ("off_diagonal", "diagonal"):
            scale = check_scale(f"{name} noise scale", getattr(self, name))
            object.__setattr__(self, name, scale)
        for name in ("signal", "mean"):
            scale = check_scale(name, getattr(self, name), or_zero=True)
            object.__setattr__(self, name, scale)


CAP_CONSTANT = 0.25
"""The constant cell of reports that hold a mean, as a share of the row norm."""


def cap_noise(cap: Cap, *, row_norm: float, n_rows: int, mean_of: int | None = None) -> NoiseScale:
    """Return the noise of the average of cap reports, of so many columns if they hold a mean.

    A constant cell c makes rows longer, and an entry with it is c times a mean: its noise grows
    with c² and with the column's second moment, which is row_norm²/n_columns on average at most.

    Examples
    --------
    >>> from dpcov.privacy import calibrate_cap
    >>> noise = cap_noise(calibrate_cap(epsilon=1.0, n_columns=2), row_norm=1.0, n_rows=10_000)
    >>> round(noise.off_diagonal, 4)
    0.0174
    """
    unit, constant = row_norm**2, CAP_CONSTANT * row_norm
    if mean_of is not None:
        unit *= 1 + CAP_CONSTANT**2
    sd = unit / (cap.gain * math.sqrt(n_rows))
    signal, mean = unit * cap.signal / n_rows, 0.0
    if mean_of is not None:
        mean = math.sqrt(sd**2 + signal * (constant**2 + row_norm**2 / mean_of)) / constant
    return NoiseScale(sd, math.sqrt(2) * sd, signal, mean)
