"""Operator norms ‖A‖_w, in which the errors of covariance estimates are measured.

Owns the norms of the paper's Theorem 2 and Corollary 1. Pure mathematics.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_number

__all__ = ["operator_norm", "relative_error"]

_ITERATIONS = 200
_TOLERANCE = 1e-12

Array = npt.NDArray[np.float64]


def operator_norm(matrix: npt.ArrayLike, w: float = 2.0) -> float:
    """Return max ‖A x‖_w / ‖x‖_w.

    Parameters
    ----------
    matrix : array, shape (m, n)
        A real matrix.
    w : float, default 2
        From 1 to infinity. 1 is the largest absolute column sum, 2 the largest singular
        value, infinity the largest absolute row sum.

    Notes
    -----
    For other w no algorithm is known that always finds the maximum. The answer is the
    largest value that the power method of Boyd (1974) reaches from several starts: never
    above the norm, equal to it for matrices without negative entries, and at most
    ‖A‖₁^(1/w) ‖A‖_∞^(1−1/w) (Riesz and Thorin).

    References
    ----------
    Boyd (1974), The power method for lᵖ norms. Higham (1992), Estimating the matrix p-norm.

    Examples
    --------
    >>> operator_norm([[1.0, -2.0], [0.0, 3.0]], w=1)
    5.0
    >>> round(operator_norm([[2.0, 1.0], [1.0, 2.0]], w=1.5), 6)
    3.0
    """
    a = _checked(matrix)
    w = check_number("w", w, low=1.0, high=math.inf, open_low=False, open_high=False)
    largest = float(np.abs(a).max())
    if w == 1 or w == 2 or math.isinf(w) or largest == 0:
        return float(np.linalg.norm(a, w)) if largest else 0.0
    a = a / largest  # powers of very large or small entries would leave the floats
    starts = [np.ones(a.shape[1]), np.linalg.svd(a)[2][0]]
    starts += [np.eye(a.shape[1])[np.argmax(np.linalg.norm(a, w, axis=0))]]
    return largest * max(_climb(a, start, w) for start in starts)


def relative_error(estimate: npt.ArrayLike, truth: npt.ArrayLike, w: float = 2.0) -> float:
    """Return ‖estimate − truth‖_w / ‖truth‖_w.

    Parameters
    ----------
    estimate, truth : array-like
        Symmetric matrices of one shape.
    w : float, default 2
        The norm: see `operator_norm`.

    Examples
    --------
    >>> relative_error([[1.0, 0.0], [0.0, 1.5]], [[1.0, 0.0], [0.0, 2.0]])
    0.25
    """
    a, b = _checked(estimate), _checked(truth)
    if a.shape != b.shape:
        raise ParameterError(f"The matrices differ in shape: {a.shape} and {b.shape}.")
    if not b.any():
        raise ParameterError("An error cannot be relative to a truth of zeros.")
    return operator_norm(a - b, w) / operator_norm(b, w)


def _climb(a: Array, x: Array, w: float) -> float:
    """Boyd's power method: each step raises ‖A x‖_w for x of norm 1."""
    x = x / np.linalg.norm(x, w)
    conjugate = w / (w - 1.0)
    value = 0.0
    for _ in range(_ITERATIONS):
        y = a @ x
        risen = float(np.linalg.norm(y, w))
        if risen <= value * (1 + _TOLERANCE):
            break
        value = risen
        x = _dual(a.T @ _dual(y, w), conjugate)
    return value


def _dual(x: Array, w: float) -> Array:
    """Return the vector of conjugate norm 1 whose product with x is ‖x‖_w."""
    size = np.abs(x) / np.max(np.abs(x))
    power: Array = np.copysign(size ** (w - 1.0), x)
    return power / float(np.linalg.norm(power, w / (w - 1.0)))


def _checked(matrix: npt.ArrayLike) -> Array:
    a = np.asarray(matrix)
    if a.dtype.kind not in "biuf":
        raise ParameterError("A norm needs a matrix of real numbers.")
    a = a.astype(np.float64)
    if a.ndim != 2 or a.size == 0 or not np.isfinite(a).all():
        raise ParameterError("A norm needs a finite matrix with two dimensions.")
    return a
