"""Lengths of rows: a noisy histogram of squared norms, from which a radius follows.

Owns its bins and its noise. What is made of it later costs nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.noisy import Noise
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.tuning import Tuning
from dpcov.privacy.sensitivity import squared_place_sensitivity
from dpcov.releases.learned import NormHistogram
from dpcov.sensitive.sums.norm_histogram import NormBins

__all__ = ["norm_edges", "release_norms"]


def norm_edges(n_columns: int, tuning: Tuning) -> npt.NDArray[np.float64]:
    """Return the edges between squared norms: multiples of the number of columns."""
    steps = np.arange(tuning.norm_lowest, tuning.norm_highest + 1)
    return n_columns * np.exp2(steps / tuning.norm_bins_per_doubling)


def release_norms(bins: NormBins, payment: Payment, stream: RandomStream) -> NormHistogram:
    """Add noise to every count.

    Notes
    -----
    Claim P25. m rows of one person move the counts by at most m√2 when they are replaced, and
    by m when rows of zeros take their place.
    """
    squared = squared_place_sensitivity(payment.neighbors, rows=payment.rows_per_unit)
    noise = Noise.paying(payment.multiplier, squared, largest=bins.n_rows)
    return NormHistogram(
        edges=bins.edges.copy(),
        counts=noise.on(bins.counts, stream),
        noise=noise.sd,
        n_rows=bins.n_rows,
    )
