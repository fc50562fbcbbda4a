"""Signs of centered rows, and the exact sums of their products.

Owns the co-movement of columns: for each pair, how many rows are on the same side of the
center in both columns, minus how many are on opposite sides. One row moves each sum by at
most 2, whatever the number of columns. A row may be a difference of two, whose center is
zero. Sensitive: there is no noise yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import MissingValueError, ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.sealed import Sealed
from dpcov.exact.sign_products import SignProducts
from dpcov.exact.threads import allowed_threads, blas_threads
from dpcov.exact.triangle import Triangle
from dpcov.sensitive.sums.rows import quantize_rows

__all__ = ["CoMovement", "SignKernel", "Squares", "block_rows"]

# Of differences twice as many rows are read.
_BLOCK_BYTES = 64 << 20
# Sums of products of signs are exact in float32 up to 2^24 rows; a block is far below.
_MOST_BLOCK_ROWS = 1 << 13
_MOST_TERMS = 2**31 - 1


@dataclass(frozen=True)
class Squares:
    """How cells and their squares are summed for the variances. All of it is public.

    Parameters
    ----------
    grid : Grid
        Rows are clipped to its norm and quantized.
    cell_bound : int
        Then every integer cell is clipped to this size.
    weight : int, default 0
        What sums of cells will be multiplied with beside those of squares, at most `cell_bound`;
        0 if there are none: differences of rows have mean zero.
    """

    grid: Grid
    cell_bound: int
    weight: int = 0


class CoMovement(Sealed):
    """Exact sums of s_i s_j over people, and of squares and cells if asked for.

    Build it with `from_blocks`.

    Parameters
    ----------
    sums : Triangle of int32
        Σ s_i s_j. Only the part above the diagonal is used.
    totals : ndarray of int64, shape (n_columns,)
        Σ s_i.
    powers : ndarray of int64, shape (2, n_columns), or None
        Σ q_i and Σ q_i² of the clipped, quantized rows.
    n_terms : int
        The number of rows, or of differences of rows.
    differences : bool
        Which of both.
    rule : Squares or None
        How the squares were clipped.

    Notes
    -----
    Claim P10. Every term is a vector of signs in {−1, 0, 1}, made from one row about a center
    that is public or paid for; of differences, one person's row is in one at most (P19).
    Replacing one person's row changes one term, hence each sum by at most 2 and k of them by
    at most 2√k in Euclidean norm; a row that adds nothing in its place, by 1 and √k. So it is
    for the totals, too, and P31 says it of centered sums. A clipped row has
    Σ q_i⁴ ≤ B² · 4^bits: how far squares and cells move is `squared_variance_sensitivity`.
    """

    __slots__ = ("_powers", "_sums", "_totals", "differences", "n_terms", "rule")

    _sums: Triangle
    _totals: npt.NDArray[np.int64]
    _powers: npt.NDArray[np.int64] | None
    n_terms: int
    differences: bool
    rule: Squares | None

    def __init__(
        self,
        sums: Triangle,
        totals: npt.NDArray[np.int64],
        powers: npt.NDArray[np.int64] | None,
        *,
        n_terms: int,
        differences: bool,
        rule: Squares | None,
    ) -> None:
        sums.freeze()
        self._hold(_sums=sums, _totals=totals, _powers=powers, n_terms=n_terms)
        self._hold(differences=differences, rule=rule)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[npt.NDArray[Any]],
        *,
        n_columns: int,
        center: npt.NDArray[np.float64] | None,
        squares: Squares | None = None,
        missing: Missing = Missing.REFUSE,
        threads: int | None = None,
    ) -> CoMovement:
        """Return the sums over a stream of blocks.

        `center` is public or was paid for; None says that blocks are of differences of rows.
        """
        missing = Missing.parse(missing)
        sums = Triangle.zeros(n_columns, np.int32)
        totals = np.zeros(n_columns, dtype=np.int64)
        powers = None if squares is None else np.zeros((2, n_columns), dtype=np.int64)
        about = np.zeros(n_columns) if center is None else center
        n_terms = 0
        threads = allowed_threads() if threads is None else threads
        with blas_threads(threads), ThreadPoolExecutor(threads) as pool:
            products = SignProducts(sums, pool)
            for block in blocks:
                _check_missing_cells(block, missing)
                n_terms += len(block)
                _check_terms(n_terms)
                signs = np.empty(block.shape, dtype=np.int8)
                work = partial(_write_signs, block, about, signs)
                totals += sum(products.over_rows(work, block.shape))
                products.add(signs)
                if powers is not None and squares is not None:
                    powers += _sum_powers(block, about, squares)
            products.finish()
        return cls(
            sums,
            totals,
            powers,
            n_terms=n_terms,
            differences=center is None,
            rule=squares,
        )

    def __add__(self, other: object) -> CoMovement:
        if not isinstance(other, CoMovement):
            return NotImplemented
        mine, theirs = ((x.n_columns, x.differences, x.rule) for x in (self, other))
        if mine != theirs:
            raise ParameterError("Co-movements merge only for the same columns and rule.")
        _check_terms(self.n_terms + other.n_terms)
        powers = None
        if self._powers is not None and other._powers is not None:
            powers = self._powers + other._powers
        return CoMovement(
            self._sums + other._sums,
            self._totals + other._totals,
            powers,
            n_terms=self.n_terms + other.n_terms,
            differences=self.differences,
            rule=self.rule,
        )

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self._sums.size

    @property
    def squares(self) -> npt.NDArray[np.int64] | None:
        """The sums of squares. Sensitive: only a mechanism may look at them."""
        return None if self._powers is None else self._powers[1]

    @property
    def cells(self) -> npt.NDArray[np.int64] | None:
        """The sums of cells. Sensitive: only a mechanism may look at them."""
        return None if self._powers is None else self._powers[0]

    @property
    def totals(self) -> npt.NDArray[np.int64]:
        """The sums Σ s_i. Sensitive: only a mechanism may look at them."""
        return self._totals

    @property
    def triangle(self) -> Triangle:
        """The sums Σ s_i s_j, read-only. Sensitive: only a mechanism may look at them."""
        return self._sums

    def __repr__(self) -> str:
        return f"CoMovement({self.n_terms} terms × {self.n_columns} columns)"


@dataclass(frozen=True, eq=False)
class SignKernel:
    """How blocks become co-movements.

    Parameters
    ----------
    n_columns : int
        The number of columns.
    center : ndarray or None
        A public center, or one that was paid for; None for differences of rows.
    squares : Squares or None
        Whether, and how, cells and their squares are summed.
    missing : Missing
        The rule for missing cells.
    """

    n_columns: int
    center: npt.NDArray[np.float64] | None
    squares: Squares | None
    missing: Missing

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""
        return block_rows(self.n_columns)

    def sum_over(
        self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None
    ) -> CoMovement:
        """Return the co-movements of all rows."""
        return CoMovement.from_blocks(
            blocks,
            n_columns=self.n_columns,
            center=self.center,
            squares=self.squares,
            missing=self.missing,
            threads=threads,
        )


def block_rows(n_columns: int) -> int:
    """Return how many rows a block should have: exact in float32, about 64 MB."""
    return min(_MOST_BLOCK_ROWS, max(128, _BLOCK_BYTES // (8 * n_columns)))


def _check_terms(n_terms: int) -> None:
    if n_terms > _MOST_TERMS:
        raise ParameterError(f"More than {_MOST_TERMS} rows do not fit the sums.")


def _check_missing_cells(rows: npt.NDArray[Any], missing: Missing) -> None:
    if missing == Missing.REFUSE and not np.isfinite(rows).all():
        raise MissingValueError(
            "The table has missing or infinite cells. Fill each from its own row alone, or pass "
            "missing='center' to let them count for nothing. Dropping rows would make their "
            "number, which is published, depend on the data."
        )


def _write_signs(
    rows: npt.NDArray[Any],
    center: npt.NDArray[np.float64],
    signs: npt.NDArray[np.int8],
    part: slice,
) -> npt.NDArray[np.int64]:
    """Write sign(row − center) by comparison, exact, and 0 where a cell is missing; return sums."""
    some, out = rows[part], signs[part]
    np.subtract((some > center).view(np.int8), (some < center).view(np.int8), out=out)
    usable = np.isfinite(some)
    if not usable.all():
        out *= usable
    totals: npt.NDArray[np.int64] = out.sum(axis=0, dtype=np.int32).astype(np.int64)
    return totals


def _sum_powers(
    rows: npt.NDArray[Any], center: npt.NDArray[np.float64], squares: Squares
) -> npt.NDArray[np.int64]:
    """Return Σ q_i and Σ q_i² of the clipped rows x − c."""
    with np.errstate(all="ignore"):
        apart = np.subtract(rows, center, dtype=np.float64)
    whole = np.empty_like(apart)
    # A missing cell counts for nothing; so does one that left the floats.
    quantize_rows(apart, squares.grid, Missing.CENTER, whole)
    np.clip(whole, -squares.cell_bound, squares.cell_bound, out=whole)
    integers = whole.astype(np.int64)
    return np.stack([integers.sum(axis=0), np.einsum("ij,ij->j", integers, integers)])
