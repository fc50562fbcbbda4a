"""Random integers against which a product is checked, and what rows make of them.

Owns the right-hand side of Freivalds' check, WᵀW r, by matrix-vector products in floats that
do not round: the probe is so short that W r is exact, and W r is taken apart into limbs so
short that each of their products with W is. No copy of W in integers is made.
"""

from __future__ import annotations

import math
import os
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["FloatProbe"]

_DIGITS = 53
_CHUNK_BYTES = 1 << 20  # fits a cache, where all but the first product find it

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class FloatProbe:
    """A probe of rows of bounded length.

    Parameters
    ----------
    starts : sequence of int
        The first column of each panel of the product.
    n_columns : int
        How many columns the rows have.
    squared_norm : int
        The largest squared norm of a row, whose cells are whole numbers.
    n_rows : int
        How many rows a block has at most. Times `squared_norm` it is at most 2^53.

    Notes
    -----
    Claim P7. With s = √squared_norm, a row w has |Σ w_j r_j| ≤ s |r| over any columns, and |r|
    is at most √p times the largest |r_j|, so a probe of `bits` bits makes sums of at most 2^52:
    they are exact, in any order. A limb u of that sum has at most `limb` bits, and |Σ w_j u| over
    any rows is at most n_rows · s · 2^limb ≤ 2^53: exact, too. Limbs are put together in
    integers modulo 2^64.

    Examples
    --------
    >>> probe = FloatProbe([0], 2, squared_norm=100, n_rows=3)
    >>> rows = np.array([[6.0, 8.0], [-3.0, 4.0]])
    >>> gram = (rows.T @ rows).astype(np.int64)
    >>> bool((probe.image(rows) == gram @ probe.integers).all())
    True
    """

    def __init__(
        self, starts: list[int], n_columns: int, *, squared_norm: int, n_rows: int
    ) -> None:
        norm_bits = _bits(math.isqrt(squared_norm - 1) + 1)
        # At least 1 bit, for which any number of columns that fits a machine leaves room.
        self.bits = max(1, _DIGITS - 1 - norm_bits - -(-_bits(n_columns) // 2))
        self.limb = max(1, _DIGITS - norm_bits - _bits(n_rows))
        self._limbs = -(-_DIGITS // self.limb)
        self._bounds = list(pairwise([*starts, n_columns]))
        entropy = np.frombuffer(os.urandom(8 * n_columns), dtype=np.int64)
        self.integers: Integers = entropy >> (63 - self.bits)
        self._floats = self.integers.astype(np.float64)

    def image(self, rows: Floats) -> Integers:
        """Return what some rows add to the right-hand sides of the checks of all panels."""
        image = np.zeros(len(self.integers), dtype=np.int64)
        step = max(16, _CHUNK_BYTES // (8 * len(self.integers)))
        for start in range(0, len(rows), step):
            self._add(rows[start : start + step], image)
        return image

    def _add(self, rows: Floats, image: Integers) -> None:
        seen = np.zeros(len(rows))
        for start, stop in reversed(self._bounds):
            own = rows[:, start:stop]
            seen += own @ self._floats[start:stop]
            parts = (self._take_apart(seen) @ own).astype(np.int64)
            for place, part in enumerate(parts):
                image[start:stop] += part << (place * self.limb)

    def _take_apart(self, sums: Floats) -> Floats:
        """Return limbs, the lowest first: floors of quotients, so that only the last is signed."""
        limbs = np.empty((self._limbs, len(sums)))
        rest, size = sums, 2.0**self.limb
        for place in range(self._limbs - 1):
            higher = np.floor(rest / size)
            limbs[place] = rest - higher * size
            rest = higher
        limbs[-1] = rest
        return limbs


def _bits(number: int) -> int:
    """Return the smallest k with number ≤ 2^k."""
    return max(0, number - 1).bit_length()
