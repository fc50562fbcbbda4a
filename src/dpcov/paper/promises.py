"""What the paper's noise promises: as claimed, and as it holds.

Owns the comparison. The claim is the paper's Theorem 1 and its local counterpart; the
truth is the analytic δ of the Gaussian mechanism at the claimed ε, for the sensitivity
that rows of a given norm really have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcov.parameters import check_number
from dpcov.privacy import ApproxDP, gaussian_delta

__all__ = ["ActualPromise", "actual_promise", "noise_multiplier"]

# Sensitivity of one row's share of the upper triangle, diagonal included, for rows of norm 1, in
# the Euclidean norm of the triangle: x xᵀ alone, and x xᵀ − y yᵀ for orthogonal rows.
_ADD_REMOVE, _REPLACE = 1.0, math.sqrt(2.0)


@dataclass(frozen=True)
class ActualPromise:
    """The δ that the paper's noise really pays for at the claimed ε.

    Parameters
    ----------
    epsilon : float
        As claimed.
    replace, add_remove, local : float or None
        δ for replace-one neighbors (the paper's definition), for adding or removing a row
        with n public, and for the local model, in which any two rows are neighbors. None
        when the norm of a row is not bounded: then nothing is promised.
    row_norm : float or None
        The largest norm of a row, as the caller declared it.
    """

    epsilon: float
    replace: float | None
    add_remove: float | None
    local: float | None
    row_norm: float | None

    def __str__(self) -> str:
        if self.replace is None:
            return "none: row norms are not bounded"
        return (
            f"({self.epsilon:g}, {self.replace:.3g}) for replace-one neighbors, "
            f"({self.epsilon:g}, {self.add_remove:.3g}) for add-remove, "
            f"({self.epsilon:g}, {self.local:.3g}) for the local model, "
            f"with rows of norm at most {self.row_norm:g}"
        )


def noise_multiplier(claimed: ApproxDP) -> float:
    """Return n σ₁ = √(2 ln(1.25/δ)) / ε, the printed noise sd of the sum of outer products."""
    return math.sqrt(2.0 * math.log(1.25 / claimed.delta)) / claimed.epsilon


def actual_promise(claimed: ApproxDP, row_norm: float | None) -> ActualPromise:
    """Return what the printed noise promises when rows have norm at most `row_norm`.

    Parameters
    ----------
    claimed : ApproxDP
        The paper's ε and δ.
    row_norm : float or None
        The largest norm that the caller declares; None when there is no bound.

    Examples
    --------
    >>> claimed = ApproxDP(1.0, 1e-5, "replace")
    >>> f"{actual_promise(claimed, 1.0).replace:.3g}"
    '3.74e-05'
    >>> print(actual_promise(claimed, None))
    none: row norms are not bounded
    """
    if row_norm is None:
        return ActualPromise(claimed.epsilon, None, None, None, None)
    norm = check_number("row_norm", row_norm, low=0.0, high=1e100)
    scale = noise_multiplier(claimed)

    def delta(unit_sensitivity: float) -> float:
        return gaussian_delta(
            epsilon=claimed.epsilon, scale=scale, sensitivity=unit_sensitivity * norm**2
        )

    return ActualPromise(
        claimed.epsilon, delta(_REPLACE), delta(_ADD_REMOVE), delta(_REPLACE), norm
    )
