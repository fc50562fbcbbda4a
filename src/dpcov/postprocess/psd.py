"""Positive definite and still sparse, each entry moved as little as it is well known.

Owns the last step. Among the correlation matrices that are zero wherever the sparse matrix is, and
above a floor, it finds the nearest one, every correlation weighed by its precision:
min Σ (x_ij − r_ij)² / v_ij. A pair that is known well stays where it is, and those that
are hardly known give way. All work is done per connected component of the support; a component
that is positive definite already costs one Cholesky.

The minimum is found by the alternating direction method of multipliers (Boyd et al. 2011), with
over-relaxation: entry by entry toward the data, then by eigenvalues onto the cone. Variances are
raised by what the nearest positive definite matrix, without any other condition, would give them:
they and the correlations share what was wrong.

The floor is a diagonal matrix f, and X − f is positive semi-definite. For every column it is a
tenth of the error of the correlation that is known best: less cannot be told from zero, and more
would move what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.parameters import check_choice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["METHODS", "Variances", "clip_eigenvalues", "components", "make_psd", "repair"]

METHODS = ("sparse", "clip", "none")

_FLOOR_IN_NOISE, _HIGHEST_FLOOR = 0.1, 0.05
_TOLERANCE_IN_NOISE = 1e-3  # what is left does not matter
_RELAXATION = 1.6
# In typical precisions. The larger one is less exact, and nearer to it after few steps.
_PENALTY, _PENALTY_OF_LARGE = 3.0, 8.0
# Steps: fewer for large components, where each costs a decomposition. What is left to do is done
# by shrinking all correlations alike.
_MOST_STEPS, _FEWEST_STEPS, _STEPS_AT_1000 = 100, 4, 20
_LARGE = 400  # beyond this size the negative eigenpairs alone are cheaper
_BLOCK_ENTRIES = 1 << 18
_SAMPLED_ROWS = 300

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Variances = Callable[[Places, Places], Array]


def make_psd(matrix: Array, *, method: str, variances: Variances | None = None) -> Array:
    """Return a positive definite version of a symmetric matrix with positive diagonal.

    `variances` says how well the correlations between some rows and some columns are known;
    without it all count alike, and the floor is zero.
    """
    check_choice("psd", method, METHODS)
    if method == "none":
        return matrix
    for members in components(matrix):
        everything = len(members) == len(matrix)
        place = np.ix_(members, members)
        part = matrix if everything else matrix[place]

        known = None if variances is None else partial(_rows_of, variances, members)
        repaired = repair(part, method=method, variances=known)
        if repaired is None:
            continue
        if everything:
            return repaired
        matrix[place] = repaired
    return matrix


def _rows_of(variances: Variances, members: Places, rows: slice) -> Array:
    return variances(members[rows], members)


def repair(
    part: Array, *, method: str, variances: Callable[[slice], Array] | None = None
) -> Array | None:
    """Return a positive definite version of one component, or None if it is one already.

    `variances` has those of the correlations in some of its rows; without it all are alike.
    """
    if method == "none":
        return None
    if method == "clip":
        return None if _is_positive_definite(part) else clip_eigenvalues(part)
    deviation = np.sqrt(np.diag(part))
    target = _scaled(part, 1.0 / deviation)
    np.fill_diagonal(target, 1.0)
    weights, typical, best = _weigh(target, variances)
    floor = np.minimum(_FLOOR_IN_NOISE * best, _HIGHEST_FLOOR)
    target[np.diag_indices(len(target))] -= floor
    if _is_positive_definite(target):
        return None
    result, raised = _project(target, weights, _TOLERANCE_IN_NOISE * typical)
    np.fill_diagonal(result, 1.0)
    return _scaled(result, deviation * np.sqrt(1.0 + raised))


def components(matrix: Array | csr_array) -> list[Places]:
    """Return the connected components of the support that have two members or more."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(csr_array(matrix != 0), directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=number)
    groups = np.split(order, np.cumsum(sizes)[:-1])
    return [group for group in groups if len(group) > 1]


def clip_eigenvalues(part: Array) -> Array:
    """Return the nearest positive semi-definite matrix, in Frobenius norm: zeros fill in."""
    result = part + _missing(part)
    _lift(result)
    return np.asarray(result)


def _weigh(
    target: Array, variances: Callable[[slice], Array] | None
) -> tuple[npt.NDArray[np.float32], float, Array]:
    """Return precisions, a typical one being 1, the typical error, and each column's smallest."""
    size = len(target)
    weights = np.ones((size, size), dtype=np.float32)
    if variances is None:
        return weights, 0.0, np.zeros(size)
    best = np.empty(size)
    for rows in _blocks(size):
        weights[rows] = variances(rows)
        kept = target[rows] != 0
        kept[np.arange(len(kept)), np.arange(size)[rows]] = False
        best[rows] = np.sqrt(weights[rows].min(axis=1, where=kept, initial=np.inf))
    sampled = slice(None, None, max(1, size // _SAMPLED_ROWS))
    apart = target[sampled] != 0
    apart[np.arange(len(apart)), np.arange(size)[sampled]] = False
    typical = float(np.median(weights[sampled][apart]))
    np.divide(typical, weights, out=weights)
    return weights, float(np.sqrt(typical)), best


def _project(
    target: Array, weights: npt.NDArray[np.float32], tolerance: float
) -> tuple[Array, Array]:
    """Return the nearest matrix with this diagonal, and by how much variances rise."""
    state, raised = target.copy(), np.zeros(len(target))
    left, steps = np.inf, _steps(len(target))
    for step in range(1, steps + 1):
        missing = _missing(state)
        if step == 1:
            raised += np.diag(missing)
        is_last = step == steps or left <= tolerance
        left = max(
            _step(rows, target, weights, state, missing, is_last=is_last)
            for rows in _blocks(len(target))
        )
        del missing  # so that there is room for the next one
        if is_last:
            break
    _mirror(state)
    _shrink(state)
    return state, raised


def _step(
    rows: slice,
    target: Array,
    weights: npt.NDArray[np.float32],
    state: Array,
    missing: Array,
    *,
    is_last: bool,
) -> float:
    """Take some rows one step toward the data, and return how far from the cone that led.

    The last step leaves the matrix with its zeros and its diagonal; one before it what is to be
    brought onto the cone next.
    """
    inside, pull = state[rows] + missing[rows], weights[rows]
    penalty = _PENALTY if len(target) < _LARGE else _PENALTY_OF_LARGE
    nearer = (pull * target[rows] + penalty * (inside + missing[rows])) / (pull + penalty)
    nearer[target[rows] == 0] = 0.0
    own = np.arange(len(nearer)), np.arange(len(target))[rows]
    nearer[own] = target[rows][own]
    left = float(np.abs(nearer - inside).max())
    if not is_last:
        nearer *= _RELAXATION
        nearer -= (_RELAXATION - 1.0) * inside + missing[rows]
    state[rows] = nearer
    return left


def _missing(part: Array) -> Array:
    """Return what lifts the negative eigenvalues of a symmetric matrix to zero."""
    from scipy.linalg import eigh

    if len(part) < _LARGE:
        values, vectors = eigh(part, driver="evd", check_finite=False)
        below = values < 0
        values, vectors = values[below], vectors[:, below]
    else:
        values, vectors = eigh(
            part, driver="evr", subset_by_value=(-np.inf, 0.0), check_finite=False
        )
    vectors *= np.sqrt(np.maximum(-values, 0.0))
    return np.asarray(vectors @ vectors.T)


def _shrink(part: Array) -> None:
    """Shrink what is off the diagonal, in place, all alike, so that no eigenvalue is negative."""
    lowest = _lowest(part) - _rounding(part)
    if lowest < 0:
        diagonal = np.diag(part).copy()
        smallest = float(diagonal.min())
        part *= smallest / (smallest - lowest)
        np.fill_diagonal(part, diagonal)


def _lift(part: Array) -> None:
    """Shift the diagonal, in place, so that no eigenvalue is negative."""
    part[np.diag_indices(len(part))] += max(0.0, _rounding(part) - _lowest(part))


def _lowest(part: Array) -> float:
    from scipy.linalg import eigvalsh

    return float(eigvalsh(part, subset_by_index=(0, 0), check_finite=False)[0])


def _rounding(part: Array) -> float:
    return len(part) * float(np.finfo(float).eps) * float(np.abs(np.diag(part)).max())


def _scaled(part: Array, factor: Array) -> Array:
    """Return a symmetric matrix with rows and columns multiplied, exactly symmetric."""
    result = np.empty_like(part)
    for rows in _blocks(len(part)):
        # The product of the factors comes first: it is the same number for (i, j) and (j, i).
        np.multiply(part[rows], np.outer(factor[rows], factor), out=result[rows])
    return result


def _mirror(part: Array) -> None:
    """Copy what is below the diagonal above it, in place."""
    for rows in _blocks(len(part)):
        columns = slice(rows.start, None)
        lower = np.tril(part[columns, rows])
        part[columns, rows] = lower
        part[rows, columns] = lower.T
        square = part[rows, rows]
        square += np.tril(lower[: len(square)], k=-1)


def _steps(size: int) -> int:
    return int(np.clip(_STEPS_AT_1000 * (1000 / size) ** 2, _FEWEST_STEPS, _MOST_STEPS))


def _blocks(size: int) -> Iterator[slice]:
    height = max(1, _BLOCK_ENTRIES // size)
    for start in range(0, size, height):
        yield slice(start, min(start + height, size))


def _is_positive_definite(part: Array) -> bool:
    from scipy.linalg import LinAlgError, cholesky

    try:
        cholesky(part, lower=True, check_finite=False)
    except LinAlgError:
        return False
    return True
