"""The integer grid of rows: its facts, and the finest one that has room for sums and noise.

Owns the public facts of clipping and quantizing. What is done to a row is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.exact.scales import MAX_SCALE
from dpcov.parameters import check_count, check_number

__all__ = ["MAX_SUM_BITS", "Grid", "finest_grid"]

MAX_SUM_BITS = 62
"""Sums stay at most 2^62: one bit of head-room for the noise."""

_MAX_BITS = 24
# 2^20 steps in a row's norm: rounding is far below any noise.
_DEFAULT_BITS, _FEWEST_BITS = 20, 4


@dataclass(frozen=True)
class Grid:
    """The public facts of clipping and quantizing: rows become integers of norm ≤ 2^bits.

    Parameters
    ----------
    row_norm : float
        Rows are clipped to this Euclidean norm.
    bits : int
        A clipped row x becomes trunc(2^bits x / row_norm).
    constant : int, default 0
        If positive, every row gets one more cell, this number: its products with the other
        cells hold the mean. At most 2^bits.

    Examples
    --------
    >>> Grid(row_norm=2.0, bits=20).step
    1.9073486328125e-06
    """

    row_norm: float
    bits: int
    constant: int = 0

    def __post_init__(self) -> None:
        norm = check_number(
            "row_norm",
            self.row_norm,
            low=1e-20,
            high=1e20,
            open_low=False,
            open_high=False,
            advice="It is a public bound on the Euclidean norm of a row, in the data's units; "
            "longer rows are clipped to it. Choose it from knowledge, not from the data.",
        )
        object.__setattr__(self, "row_norm", norm)
        object.__setattr__(self, "bits", check_count("bits", self.bits, low=1, high=_MAX_BITS))
        check_count("constant", self.constant, low=0, high=1 << self.bits)

    @property
    def step(self) -> float:
        """The width of a step of the grid, in the data's units."""
        return self.row_norm / (1 << self.bits)

    @property
    def squared_norm(self) -> int:
        """The largest squared norm of a quantized row without its constant: 4^bits."""
        return 1 << (2 * self.bits)

    @property
    def largest_product(self) -> int:
        """The largest squared norm of a quantized row, its constant included."""
        return self.squared_norm + self.constant**2

    def has_room(self, n_rows: int) -> bool:
        """Whether sums of products over so many rows cannot overflow."""
        return n_rows * self.largest_product <= 1 << MAX_SUM_BITS


def finest_grid(
    make: Callable[[int], Grid], *, n_rows: int, variance: Callable[[Grid], Fraction]
) -> tuple[Grid, Fraction]:
    """Return the grid with the most bits on which sums and noise fit, and the noise variance.

    Examples
    --------
    >>> grid, _ = finest_grid(
    ...     lambda bits: Grid(1.0, bits),
    ...     n_rows=10**9,
    ...     variance=lambda grid: Fraction(grid.squared_norm),
    ... )
    >>> grid.bits
    16
    """
    for bits in range(_DEFAULT_BITS, _FEWEST_BITS - 1, -1):
        grid = make(bits)
        needed = variance(grid)
        if needed <= MAX_SCALE**2 and grid.has_room(n_rows):
            return grid, needed
    raise ParameterError(
        "The noise for this promise does not fit 56 bits on any grid; raise epsilon or delta."
    )
