"""Lengths of rows: a radius that is learned, and how far rows reach beyond it.

Owns both questions. They are asked of exact counts by squared norm, in working units.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.noisy import Noise
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.tuning import Tuning
from dpcov.releases.learned import Clipping
from dpcov.sensitive.sums.norm_histogram import NormBins

__all__ = [
    "clipping_error",
    "edges_about",
    "far_cell_squared_norm",
    "find_radius",
    "free_squared_norm",
    "measure_clipping",
    "tail_wanted",
    "widen",
]

Array = npt.NDArray[np.float64]


def edges_about(squared_norm: float, tuning: Tuning) -> Array:
    """Return squared norms, some octaves below to some above one of them, which is among them."""
    steps = np.arange(
        -tuning.norm_octaves * tuning.norm_bins, tuning.norm_octaves * tuning.norm_bins + 1
    )
    return squared_norm * np.exp2(steps / tuning.norm_bins)


def tail_wanted(
    n_rows: int, n_columns: int, *, moments: Payment, radius: Payment, tuning: Tuning
) -> float:
    """Return which share of the rows should be longer than the radius, from public facts alone.

    Noise grows with the radius, and clipping biases what it shortens. On real tables both are
    of one size when about 4 σ p / n of the rows are shortened, σ being the multiplier of the
    moments. Fewer rows than stand out of the noise of a count cannot be looked for.
    """
    best = tuning.radius_tail * moments.multiplier * moments.rows_per_unit * n_columns / n_rows
    noise = radius.noise(low=0, high=1, columns=1, n_rows=n_rows, steps=tuning.radius_steps)
    return min(tuning.most_tail, max(best, tuning.radius_noise * noise.sd / n_rows))


def find_radius(
    bins: NormBins, tail: float, payment: Payment, tuning: Tuning, stream: RandomStream
) -> int:
    """Return the place of the edge beyond which about a share `tail` of the rows lie.

    Notes
    -----
    Claim P25. A row adds 0 or 1 to the number of rows beyond a place, and one without cells
    0: one person moves it by at most m, the number of their rows. The bisection is P23's.
    """
    noise = payment.noise(low=0, high=1, columns=1, n_rows=bins.n_rows, steps=tuning.radius_steps)
    low, high = 0, len(bins.edges) - 1
    for _ in range(tuning.radius_steps):
        middle = (low + high) // 2
        beyond = noise.on(bins.beyond(middle), stream)[0]
        low, high = (middle, high) if beyond > tail * bins.n_rows else (low, middle)
    return high


def widen(
    place: int,
    edges: Array,
    n_rows: int,
    *,
    most: float,
    moments: Payment,
    tuning: Tuning,
    far_cell: float = 0.0,
) -> int:
    """Return the place of a radius that is at least as large as costs hardly anything.

    Where rows are many, noise is small beside the error of sampling, 1/√n of a variance, and a
    radius that shortens nobody costs less than what it would take from long tails. Nor is a row
    to be shortened for one far cell, beside others that are as usual: then a column with a long
    tail would lose more than others, and nobody could tell how much. Follows from public facts,
    from the radius that was found, and from limits: no row is longer than `most`, and no cell
    that is not to be cut adds more than `far_cell`.
    """
    free = free_squared_norm(n_rows, moments=moments, tuning=tuning)
    # The middle edge is what a row has by design. Where columns vary less, the radius says so.
    others = min(float(edges[len(edges) // 2]), tuning.radius_usual * float(edges[place]))
    far = max(far_cell_squared_norm(others, tuning=tuning), others + far_cell)
    least = min(most, max(free, far))
    return max(place, int(np.searchsorted(edges, least, side="right")) - 1)


def free_squared_norm(n_rows: int, *, moments: Payment, tuning: Tuning) -> float:
    """Return the squared norm at which noise is a stated part of the error of sampling."""
    noise = moments.multiplier * moments.rows_per_unit / n_rows
    return float(tuning.radius_free / (np.sqrt(n_rows) * noise))


def far_cell_squared_norm(others: float, *, tuning: Tuning) -> float:
    """Return the squared norm of a row with one cell at its limit, and what the others add."""
    return others + tuning.radius_cell


def measure_clipping(
    bins: NormBins,
    place: int,
    tail: float,
    payment: Payment,
    tuning: Tuning,
    stream: RandomStream,
) -> Clipping:
    """Return how many rows are longer than an edge, and by how much, both with noise.

    Notes
    -----
    Claim P25. A row stands for two integers from 0 to G that follow from its bin: G if it is
    beyond the edge, and how far beyond, limited to some squared radii. P22, with two sums.
    """
    steps, reach = tuning.square_steps, tuning.excess_reach
    squared = float(bins.edges[place])
    low = np.concatenate([bins.edges[:1], bins.edges])
    high = np.append(bins.edges, bins.edges[-1])
    middle = np.sqrt(low * high)  # what rows of a bin are taken for
    is_beyond = np.arange(len(middle)) > place
    apart = np.where(is_beyond, np.clip((middle / squared - 1) / reach, 0.0, 1.0), 0.0)
    values = np.rint(np.stack([is_beyond, apart]) * steps).astype(np.int64)
    noise = _clipping_noise(payment, bins.n_rows, tuning)
    share, excess = noise.on(bins.sums(values), stream) / (steps * bins.n_rows)
    share_error, excess_error = clipping_error(payment, bins.n_rows, squared, tuning)
    return Clipping(
        wanted=tail,
        share=float(share),
        share_error=share_error,
        excess=float(excess) * reach * squared,
        excess_error=excess_error,
    )


def clipping_error(
    payment: Payment, n_rows: int, squared_norm: float, tuning: Tuning
) -> tuple[float, float]:
    """Return the noise sd of the share of longer rows, and of how far they are longer."""
    noise = _clipping_noise(payment, n_rows, tuning)
    sd = noise.sd / (tuning.square_steps * n_rows)
    return sd, sd * tuning.excess_reach * squared_norm


def _clipping_noise(payment: Payment, n_rows: int, tuning: Tuning) -> Noise:
    return payment.noise(low=0, high=tuning.square_steps, columns=2, n_rows=n_rows)
