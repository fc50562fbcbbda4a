"""Positive semi-definite and still sparse.

Owns the last step: the nearest matrix, in Frobenius norm, that is positive semi-definite
and zero wherever the sparse matrix is zero, up to a tolerance far below the noise. All
work is done per connected component of the support; a component that is positive definite
already costs one Cholesky.

The projection onto {PSD} ∩ {support} is the dual problem min ½ |(A + Z)₊|² over matrices Z
that vanish on the support. Its gradient is the part of (A + Z)₊ off the support. Gradient
steps of length 1 are Dykstra's algorithm (Boyle and Dykstra 1986, with the correction on
the PSD step only, the other set being linear); Nesterov's momentum with restarts
(O'Donoghue and Candès 2015) reaches in 20 steps what it reaches in hundreds.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.parameters import check_choice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["METHODS", "components", "make_psd", "repair"]

METHODS = ("sparse", "clip", "none")

# Steps of the projection: fewer for large components, where each costs a decomposition. What
# is left below zero is lifted by a shift of the diagonal.
_MOST_STEPS, _FEWEST_STEPS, _STEPS_AT_1000 = 200, 4, 20
_LARGE = 400  # beyond this size the negative eigenpairs alone are cheaper

Array = npt.NDArray[np.float64]


def make_psd(matrix: Array, *, method: str, tolerance: float) -> Array:
    """Return a positive semi-definite version of a symmetric matrix with positive diagonal."""
    check_choice("psd", method, METHODS)
    if method == "none":
        return matrix
    for members in components(matrix):
        everything = len(members) == len(matrix)
        place = np.ix_(members, members)
        part = matrix if everything else matrix[place]
        repaired = repair(part, method=method, tolerance=tolerance)
        if repaired is None:
            continue
        if everything:
            return repaired
        matrix[place] = repaired
    return matrix


def repair(part: Array, *, method: str, tolerance: float) -> Array | None:
    """Return a positive semi-definite version of one component, or None if it is one already."""
    if method == "none" or _is_positive_definite(part):
        return None
    repaired = _positive_part(part) if method == "clip" else _project(part, tolerance)
    _lift(repaired)
    return repaired


def components(matrix: Array | csr_array) -> list[npt.NDArray[np.intp]]:
    """Return the connected components of the support that have two members or more."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(csr_array(matrix != 0), directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=number)
    groups = np.split(order, np.cumsum(sizes)[:-1])
    return [group for group in groups if len(group) > 1]


def _project(part: Array, tolerance: float) -> Array:
    """Accelerated Dykstra: the nearest PSD matrix with the zeros of `part`."""
    zero = part == 0
    dual, momentum = np.zeros_like(part), np.zeros_like(part)
    weight = 1.0
    steps = _steps(len(part))
    for step in count(1):
        positive = _positive_part(part + momentum)
        gradient = np.multiply(positive, zero)
        positive -= gradient
        if step >= steps or max(gradient.max(), -gradient.min()) <= tolerance:
            return positive
        momentum -= gradient
        # Now `momentum` is the new dual point. If it lies uphill, the momentum starts again.
        if _inner(gradient, momentum) > _inner(gradient, dual):
            weight = 1.0
        heavier = 0.5 + np.sqrt(0.25 + weight * weight)
        share = (weight - 1.0) / heavier
        dual *= -share
        gradient[...] = momentum
        momentum *= 1.0 + share
        momentum += dual
        dual, weight = gradient, heavier
    raise AssertionError("unreachable: the loop ends by returning")


def _inner(a: Array, b: Array) -> float:
    return float(np.einsum("ij,ij->", a, b))


def _steps(size: int) -> int:
    return int(np.clip(_STEPS_AT_1000 * (1000 / size) ** 2, _FEWEST_STEPS, _MOST_STEPS))


def _positive_part(part: Array) -> Array:
    """Return the projection of a symmetric matrix onto the PSD cone, exactly symmetric."""
    from scipy.linalg import eigh

    if len(part) < _LARGE:
        values, vectors = eigh(part, driver="evd", check_finite=False)
        kept = values > 0
        root: Array = vectors[:, kept] * np.sqrt(values[kept])
        return root @ root.T
    # Large: the negative eigenpairs alone, and what they take away.
    values, vectors = eigh(part, driver="evr", subset_by_value=(-np.inf, 0.0), check_finite=False)
    vectors *= np.sqrt(np.maximum(-values, 0.0))
    positive: Array = vectors @ vectors.T
    positive += part
    return positive


def _is_positive_definite(part: Array) -> bool:
    from scipy.linalg import LinAlgError, cholesky

    try:
        cholesky(part, lower=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _lift(part: Array) -> None:
    """Shift the diagonal, in place, so that no eigenvalue is negative."""
    from scipy.linalg import eigvalsh

    lowest = float(eigvalsh(part, subset_by_index=(0, 0), check_finite=False)[0])
    rounding = len(part) * np.finfo(float).eps * float(np.abs(np.diag(part)).max())
    part[np.diag_indices(len(part))] += max(0.0, rounding - lowest)
