"""The Gaussian report, on the device: Algorithm 2 of Wang and Xu (2019) with a true promise.

Owns the noisy products of one row, in integers with exact noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.exact.randomness import RandomStream
from dpcov.local.integers import IntegerNoise
from dpcov.mechanisms.noise import add_noise

__all__ = ["noisy_products"]


def noisy_products(
    whole: npt.NDArray[np.float64], noise: IntegerNoise, stream: RandomStream
) -> npt.NDArray[np.int64]:
    """Return q qᵀ on and above the diagonal, row by row, with noise.

    Notes
    -----
    Claim P15. The paper's local algorithm adds noise for a sensitivity of 1, but two rows
    of norm 1 can be √2 apart, and in the local model any two rows are neighbors.
    """
    size = len(whole)
    row = whole.astype(np.int64)
    above, beside = np.triu_indices(size)
    products = row[above] * row[beside]
    diagonal = above == beside
    products[diagonal] = add_noise(products[diagonal], noise.diagonal, stream)
    products[~diagonal] = add_noise(products[~diagonal], noise.off_diagonal, stream)
    return products
