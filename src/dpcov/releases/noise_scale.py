"""NoiseScale: how noisy the entries of a release are.

Owns that value, and how it follows from the constants of cap reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcov.privacy import Cap
from dpcov.releases.sizes import check_scale

__all__ = ["NoiseScale", "cap_noise"]


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


def cap_noise(cap: Cap, *, row_norm: float, n_rows: int) -> NoiseScale:
    """Return the noise of the average of cap reports.

    Examples
    --------
    >>> from dpcov.privacy import calibrate_cap
    >>> noise = cap_noise(calibrate_cap(epsilon=1.0, n_columns=2), row_norm=1.0, n_rows=10_000)
    >>> round(noise.off_diagonal, 4)
    0.0174
    """
    unit = row_norm**2
    sd = unit / (cap.gain * math.sqrt(n_rows))
    return NoiseScale(sd, math.sqrt(2) * sd, unit * cap.signal / n_rows)
