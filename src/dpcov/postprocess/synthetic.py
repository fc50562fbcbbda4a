"""Synthetic rows: Gaussian, with the covariance and the location of an estimate.

Owns how they are drawn. They cost no privacy: nothing but the estimate is in them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.psd import components

__all__ = ["draw_rows"]

Array = npt.NDArray[np.float64]


def draw_rows(covariance: Array, n_rows: int, seed: int | None) -> Array:
    """Return rows about zero, component by component."""
    from scipy.linalg import eigh

    rows = np.random.default_rng(seed).standard_normal((n_rows, len(covariance)))
    alone = np.ones(len(covariance), dtype=bool)
    for members in components(covariance):
        alone[members] = False
        values, vectors = eigh(covariance[np.ix_(members, members)])
        # The symmetric root: it does not depend on the signs of the eigenvectors.
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        rows[:, members] = rows[:, members] @ root
    rows[:, alone] *= np.sqrt(np.diag(covariance))[alone]
    return rows
