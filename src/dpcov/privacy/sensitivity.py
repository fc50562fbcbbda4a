"""Sensitivity: how far one person can move what is computed.

Owns the geometry of the sum of outer products. Pure mathematics: no data.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpcov.parameters import check_number
from dpcov.privacy.promise import Neighbors

__all__ = [
    "frobenius_sensitivity",
    "moments_relation",
    "sign_sensitivity",
    "squared_cell_sensitivity",
    "squared_level_sensitivity",
    "squared_moment_sensitivity",
    "squared_unit_sensitivity",
    "squared_variance_sensitivity",
]


def squared_unit_sensitivity(neighbors: Neighbors) -> int:
    """Return the squared Frobenius sensitivity of Σ x xᵀ for rows of norm at most 1.

    In the local model any row may stand in the place of any other: it is replaced.

    Parameters
    ----------
    neighbors : Neighbors
        Which tables are compared.

    Examples
    --------
    >>> squared_unit_sensitivity(Neighbors.REPLACE)
    2
    """
    squared = {Neighbors.REPLACE: 2, Neighbors.ADD_REMOVE: 1, Neighbors.LOCAL: 2}
    return squared[Neighbors.parse(neighbors)]


def squared_moment_sensitivity(
    neighbors: Neighbors, *, squared_norm: int, constant: int = 0, rows: int = 1
) -> int:
    """Return the squared Frobenius sensitivity of Σ y yᵀ for rows y = (x, constant).

    Parameters
    ----------
    neighbors : Neighbors
        Which tables are compared.
    squared_norm : int
        The largest squared norm of x.
    constant : int, default 0
        A public cell that all rows have; at most the norm of x.
    rows : int, default 1
        How many rows one person has at most.

    Notes
    -----
    Claim P17. With B the largest squared norm of x and c the constant, one row moves the sum
    by at most √2 (B + c²) when it is replaced, and by √(B² + 2 c² B) when zeros take the place
    of x; m rows by m times that.

    Examples
    --------
    >>> squared_moment_sensitivity(Neighbors.REPLACE, squared_norm=100, constant=3)
    23762
    """
    if Neighbors.parse(neighbors) is Neighbors.ADD_REMOVE:
        return rows**2 * squared_norm * (squared_norm + 2 * constant**2)
    return 2 * rows**2 * (squared_norm + constant**2) ** 2


def moments_relation(neighbors: Neighbors, *, leaves_traces: bool) -> Neighbors:
    """Return for which relation the moments are paid for.

    Where gaps are counted, or rows have weights, a row without cells is not zero in its working
    cells: it leaves traces in the sums. Then both relations pay as for replaced rows.

    Notes
    -----
    Claim P28. Any row may take the place of another; what that moves is P1's bound for replaced
    rows, whatever the relation is called.

    Examples
    --------
    >>> moments_relation(Neighbors.ADD_REMOVE, leaves_traces=True).value
    'replace'
    """
    relation = Neighbors.parse(neighbors)
    return Neighbors.REPLACE if leaves_traces else relation


def squared_variance_sensitivity(
    neighbors: Neighbors,
    *,
    squared_norm: int | Fraction,
    cell_bound: int | Fraction,
    weight: int | Fraction = 0,
    rows: int = 1,
) -> Fraction:
    """Return the squared ℓ₂ sensitivity of Σ x_i² and w Σ x_i of all columns together.

    Parameters
    ----------
    neighbors : Neighbors
        Which tables are compared.
    squared_norm : int or Fraction
        The largest squared norm of a row x.
    cell_bound : int or Fraction
        The largest size of a cell x_i.
    weight : int or Fraction, default 0
        The public factor w of the sums of cells.
    rows : int, default 1
        How many rows one person has at most.

    Notes
    -----
    Claim P10. With N the largest squared norm and B the bound on cells, one row moves the sums by
    at most √(N (B² + w²)) when zeros take its place, and by √(2N (B² + w² + w⁴/3B²)) when it is
    replaced; m rows by m times that.

    Examples
    --------
    >>> squared_variance_sensitivity(Neighbors.REPLACE, squared_norm=60, cell_bound=4, weight=2)
    Fraction(2440, 1)
    """
    each = Fraction(cell_bound) ** 2 + Fraction(weight) ** 2
    if Neighbors.parse(neighbors) is not Neighbors.ADD_REMOVE:
        # Cells on both sides of zero move Σ x_i by the sum of their sizes.
        each = 2 * (each + Fraction(weight) ** 4 / (3 * Fraction(cell_bound) ** 2))
    return rows**2 * squared_norm * each


def sign_sensitivity(neighbors: Neighbors) -> int:
    """How far one person can move a sum of products of two signs.

    Parameters
    ----------
    neighbors : Neighbors
        Which tables are compared.

    Examples
    --------
    >>> sign_sensitivity(Neighbors.REPLACE), sign_sensitivity(Neighbors.ADD_REMOVE)
    (2, 1)
    """
    return 1 if Neighbors.parse(neighbors) is Neighbors.ADD_REMOVE else 2


def squared_cell_sensitivity(*, low: int, high: int, columns: int = 1, rows: int = 1) -> int:
    """Return the squared ℓ₂ sensitivity of sums of numbers that cells stand for.

    Each observed cell stands for an integer from `low` to `high`, a missing one for 0, and all
    cells of a row may move at once.

    Notes
    -----
    Claim P22. In each column one row moves the sum by at most max(high, 0) − min(low, 0) when
    another takes its place, be it one that adds nothing to the moments; √k times that in k
    columns, and m times that for m rows.

    Examples
    --------
    >>> squared_cell_sensitivity(low=-1, high=1, columns=5)
    20
    """
    most = max(high, 0) - min(low, 0)
    return columns * (rows * most) ** 2


def squared_level_sensitivity(*, categories: int, rows: int = 1) -> int:
    """Return the squared ℓ₂ sensitivity of the numbers of rows with each level of categories.

    Notes
    -----
    Claim P26. When another row takes its place, at most two numbers of each category move, by 1;
    m rows move them by m times as much.

    Examples
    --------
    >>> squared_level_sensitivity(categories=3, rows=2)
    24
    """
    return 2 * categories * rows**2


def frobenius_sensitivity(row_norm: float, neighbors: Neighbors) -> float:
    """How far one person can move the sum of outer products, in Frobenius norm.

    Parameters
    ----------
    row_norm : float
        The largest norm of a row.
    neighbors : Neighbors
        Which tables are compared.

    Notes
    -----
    Claim P1. Replacing x by y moves the sum by xxᵀ − yyᵀ, whose squared norm is
    ‖x‖⁴ + ‖y‖⁴ − 2⟨x, y⟩² ≤ 2R⁴; adding or removing x moves it by ‖x‖² ≤ R². The result
    is rounded up.

    Examples
    --------
    >>> round(frobenius_sensitivity(2.0, Neighbors.ADD_REMOVE), 9)
    4.0
    """
    row_norm = check_number("row_norm", row_norm, low=0.0, high=1e100, open_high=False)
    # Three roundings: the square, the root and the product.
    sensitivity = math.sqrt(squared_unit_sensitivity(neighbors)) * row_norm**2
    return sensitivity * (1 + 2.0**-50)
