"""One block of rows: missing cells, clipping, and the integer grid.

Owns the road from a person's numbers to integers of bounded norm. What happens to a row
depends on that row and on public facts alone: not on its place, its block, its
neighbors or the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import MissingValueError
from dpcov.exact.grid import Grid

__all__ = ["check_complete", "quantize_rows", "squared_norms"]

# Sums of squared integers below this are exact in float64, whatever their order.
_EXACT = 2.0**53
_NORM_BITS = 20


def quantize_rows(
    rows: npt.NDArray[Any],
    grid: Grid,
    missing: Missing,
    out: npt.NDArray[np.float64],
    *,
    to_whole: np.ufunc = np.rint,
) -> None:
    """Clip rows to the grid's norm, and write whole numbers to `out`.

    `to_whole` is `np.rint`, or `np.trunc` where a protocol says so.

    Notes
    -----
    Claim P2. Every row of `out` is a vector of integers with squared norm ≤ 4^bits, and
    a function of its own row of `rows` alone. Products and roundings act cell by cell. The
    squared norm is a sum of squared integers: it is exact, hence the same in any order of
    summation, when it is below 2^53, and is seen to be ≥ 2^53 in any order when it is not;
    the norms of those rows are summed in integers.
    """
    # Overflow and underflow are meant, and a warning about them would be about the data.
    with np.errstate(all="ignore"):
        np.multiply(rows, 1.0 / grid.step, out=out, dtype=np.float64, casting="unsafe")
        to_whole(out, out=out)
        squared = _squared_norms(out)
        if squared.max(initial=0.0) <= grid.squared_norm:
            return
        hard = np.flatnonzero(~(squared < _EXACT))
        if len(hard):
            out[hard], squared[hard] = _quantize_hard_rows(rows[hard], grid, missing, to_whole)
        long = np.flatnonzero(squared > grid.squared_norm)
        if len(long):
            out[long] = _shorten(out[long], squared[long], grid)


def _squared_norms(whole: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    squared: npt.NDArray[np.float64] = np.vecdot(whole, whole)
    return squared


def _shorten(
    whole: npt.NDArray[np.float64], squared: npt.NDArray[np.float64], grid: Grid
) -> npt.NDArray[np.float64]:
    """Scale whole rows of known squared norm to the grid's norm, toward zero."""
    factor = 2.0**grid.bits / np.sqrt(squared)
    return _enforce_norm(np.trunc(whole * factor[:, None]), grid)


def _enforce_norm(whole: npt.NDArray[np.float64], grid: Grid) -> npt.NDArray[np.float64]:
    """Move every cell of an overlong row one step toward zero until the row is short enough.

    Truncation leaves no overlong row when the machine follows IEEE 754; the claim rests on
    this check and not on the machine.
    """
    while True:
        over = ~(_squared_norms(whole) <= grid.squared_norm)
        if not over.any():
            return whole
        whole[over] -= np.sign(whole[over])


def squared_norms(rows: npt.NDArray[Any], missing: Missing) -> npt.NDArray[np.float64]:
    """Return the squared norms of rows to about 20 bits.

    Notes
    -----
    Claim P2. Each is a function of its own row, the same in every memory layout: cells are
    truncated to 20 bits of the largest one, and their squares are summed in integers.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, 4.0], [0.0, 0.0]]), Missing.REFUSE)
    array([25.,  0.])
    """
    with np.errstate(all="ignore"):
        whole, exponent = _shift_to_bits(_finite_cells(rows, missing), _NORM_BITS)
        squared = _exact_squared_norms(whole, _NORM_BITS)
        return np.ldexp(squared, 2 * (exponent - _NORM_BITS))


def check_complete(complete: bool, missing: Missing) -> None:
    """Refuse missing and infinite cells where the rule says so, without a word on which."""
    if not complete and missing == Missing.REFUSE:
        raise MissingValueError(
            "The table has missing or infinite cells. Fill each from its own row alone, or pass "
            "missing='center' to read them as their column's center. Dropping rows would make "
            "their number, which is published, depend on the data."
        )


def _quantize_hard_rows(
    rows: npt.NDArray[Any], grid: Grid, missing: Missing, to_whole: np.ufunc
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Quantize rows with missing cells, or so long that their squared norm is not exact.

    Returns whole rows with their squared norms; those beyond 2^53 are shortened already, and
    have a norm of 0 in the answer.
    """
    cells = _finite_cells(rows, missing)
    whole = to_whole(cells * (1.0 / grid.step))
    squared = _squared_norms(whole)
    far = np.flatnonzero(~(squared < _EXACT))
    if len(far):
        whole[far], _ = _shift_to_bits(cells[far], grid.bits)
        whole[far] = _shorten(whole[far], _exact_squared_norms(whole[far], grid.bits), grid)
        squared[far] = 0.0  # short enough now
    return whole, squared


def _finite_cells(rows: npt.NDArray[Any], missing: Missing) -> npt.NDArray[np.float64]:
    """Return a copy of the rows without missing cells, or refuse them."""
    cells = rows.astype(np.float64)
    finite = np.isfinite(cells)
    if not finite.all():
        check_complete(False, missing)
        cells[~finite] = 0.0
    return cells


def _shift_to_bits(
    cells: npt.NDArray[np.float64], bits: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Bring the largest cell of each row just below 2^bits by a power of two, and truncate."""
    _, exponent = np.frexp(np.abs(cells).max(axis=1, initial=0.0))
    return np.trunc(np.ldexp(cells, (bits - exponent)[:, None])), exponent


def _exact_squared_norms(whole: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.float64]:
    """Sum the squares of cells below 2^bits in integers: exact in any order."""
    if whole.shape[1] << (2 * bits) < 2**63:
        integers = whole.astype(np.int64)
        sums: npt.NDArray[np.int64] = np.einsum("ij,ij->i", integers, integers)
        return sums.astype(np.float64)
    return np.array([float(sum(int(cell) ** 2 for cell in row)) for row in whole])
