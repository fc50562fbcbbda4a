"""Eigenvalues of a matrix that falls into small ones, and what noise alone does to them.

Owns the spectrum of sparse matrices: one decomposition for each component.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.psd import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["eigenvalues_by_component", "largest_of_noise"]

Array = npt.NDArray[np.float64]


def eigenvalues_by_component(
    off_diagonal: csr_array, diagonal: Array, part: Callable[[npt.NDArray[np.intp]], Array]
) -> Array:
    """Return the eigenvalues of a symmetric matrix, the largest first."""
    alone = np.ones(len(diagonal), dtype=bool)
    parts = []
    for members in components(off_diagonal):
        alone[members] = False
        parts.append(np.linalg.eigvalsh(part(members)))
    result: Array = np.sort(np.concatenate([diagonal[alone], *parts]))[::-1]
    result.setflags(write=False)
    return result


def largest_of_noise(noise: NoiseModel) -> float:
    """Return the largest eigenvalue that the privacy noise alone would produce: 2 τ √p.

    A symmetric matrix of p columns whose entries are independent Gaussians of sd τ off the
    diagonal has its eigenvalues in ±2 τ √p, but for a margin that vanishes as p grows
    (Wigner 1958). By Weyl's inequality the noise moves every eigenvalue of the release by
    no more than that. Where noise grows with the signal or with a released mean, τ is that
    of two middling columns. In working units.

    Examples
    --------
    >>> model = NoiseModel(np.ones(4), n_rows=100, off_diagonal=0.1, diagonal=0.14)
    >>> round(largest_of_noise(model), 3)
    0.4
    """
    variance = noise.privacy_variance(float(np.median(noise.variances)))
    return 2 * math.sqrt(variance * len(noise.variances))
