"""Which correlations a release could have shown, pair by pair and column by column.

Owns how that is summed up. Noise is the same for all entries in working units, but columns vary
more or less in them: what is too noisy for one column is clear for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.multiplicity import bonferroni_cutoff
from dpcov.postprocess.correlations import stands_out
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.noise_model import NoiseModel, row_blocks
from dpcov.postprocess.pairs_estimate import PairsEstimate

__all__ = ["Visibility", "visibility_of"]

_MOST = 0.9

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Visibility:
    """The correlations that would have stood out with probability one half.

    They are those of numbers; of levels of categories too, if there are no two numbers. To stand
    out means to pass a test of all pairs with a chance of 5 % of any false one.

    Parameters
    ----------
    half, most : float
        In half of the pairs, and in nine of ten. Above 1 none would.
    blind : tuple of int
        Places of the columns that vary too little beside the noise: their variance does not stand
        out of it, or no correlation of two columns like it would, however strong.
    n_columns : int
        The number of columns that were looked at.
    """

    half: float
    most: float
    blind: tuple[int, ...]
    n_columns: int


def visibility_of(estimate: Estimate | PairsEstimate) -> Visibility:
    """Return what could have been seen in the release behind an estimate.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3)) * [1, 1, 0.01]
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> visibility_of(estimate).blind
    (2,)
    """
    size = len(estimate.columns)
    if not isinstance(estimate, Estimate) or size == 1:
        smallest = estimate.smallest_detectable_correlation
        return Visibility(smallest, smallest, tuple(range(size)) if smallest > 1 else (), size)
    return _of_pairs(estimate.noise)


def _of_pairs(noise: NoiseModel) -> Visibility:
    looked_at = np.ones(len(noise.variances), dtype=np.bool_)
    if noise.is_level is not None and noise.n_number_pairs:
        looked_at = ~noise.is_level
    places = np.flatnonzero(looked_at)
    cutoff, known = bonferroni_cutoff(len(places)), stands_out(noise)
    alike, above = np.empty(len(looked_at)), []
    for rows in row_blocks(len(looked_at)):
        smallest = cutoff * np.sqrt(noise.block(rows)) / noise.signal(rows)
        smallest[~known[rows]] = smallest[:, ~known] = np.inf
        own = np.arange(len(looked_at))[rows]
        alike[rows] = smallest[np.arange(len(own)), own]
        later = own[:, None] < np.arange(len(looked_at))
        later &= looked_at[rows, None] & looked_at & noise.are_apart(rows)
        above.append(smallest[later])
    listed = np.concatenate(above)
    if not len(listed):  # one category and nothing else
        return Visibility(np.inf, np.inf, tuple(places.tolist()), len(places))
    half, most = np.quantile(listed, [0.5, _MOST], method="inverted_cdf")
    blind = places[alike[places] > 1]
    return Visibility(float(half), float(most), tuple(blind.tolist()), len(places))
