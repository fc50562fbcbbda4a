"""The variances beside the strongest pairs: which sums, how they are weighted, and their noise.

Owns the weight of sums of cells beside those of squares, from public facts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.exact.grid import Grid, finest_grid
from dpcov.exact.scales import scale_of
from dpcov.parameters import check_number
from dpcov.privacy import Neighbors, squared_variance_sensitivity
from dpcov.releases.sizes import check_norm
from dpcov.releases.variances import weight_of_means
from dpcov.sensitive.sums.signs import Squares

__all__ = ["Person", "calibrate_variances"]


@dataclass(frozen=True)
class Person:
    """Who is hidden: which tables are compared, and how many rows one person has at most."""

    neighbors: Neighbors
    rows: int

    def moves(self, squares: Squares) -> Fraction:
        """Return how far one person moves sums of squares and weighted cells, squared (P10)."""
        return squared_variance_sensitivity(
            self.neighbors,
            squared_norm=squares.grid.squared_norm,
            cell_bound=squares.cell_bound,
            weight=squares.weight,
            rows=self.rows,
        )


def calibrate_variances(
    person: Person,
    *,
    row_norm: float | None,
    cell_bound: float | None,
    n_terms: int,
    n_columns: int,
    about_center: bool,
    rho: float,
) -> tuple[Squares | None, int]:
    """Return how squares and cells are summed, and the one scale of the noise of both.

    Without a row norm there are none.
    Differences of rows have mean zero, so that half their squares are variances: no sums of
    cells are needed.
    """
    if row_norm is None:
        if cell_bound is not None:
            raise ParameterError("cell_bound needs row_norm: both bound the released variances.")
        return None, 0

    def squares_on(grid: Grid) -> Squares:
        bound = _integer_bound(grid, cell_bound)
        return Squares(grid, bound, _weight(grid, bound, n_columns) if about_center else 0)

    grid, needed = finest_grid(
        lambda bits: Grid(row_norm=row_norm, bits=bits),
        n_rows=n_terms,
        variance=lambda grid: person.moves(squares_on(grid)) / (2 * Fraction(rho)),
    )
    return squares_on(grid), scale_of(needed)


def _weight(grid: Grid, bound: int, n_columns: int) -> int:
    """Return the weight of sums of cells, in whole steps of the grid and at least one."""
    weight = weight_of_means(float(1 << grid.bits), float(bound), n_columns)
    return max(1, int(weight))


def _integer_bound(grid: Grid, cell_bound: float | None) -> int:
    if cell_bound is None:
        return 1 << grid.bits
    bound = check_number(
        "cell_bound",
        cell_bound,
        low=grid.step,
        high=grid.row_norm,
        open_low=False,
        open_high=False,
        advice="It is a public bound on the size of a cell, at most row_norm.",
    )
    whole = int(bound / grid.step)
    check_norm("cell_bound", whole * grid.step)
    return whole
