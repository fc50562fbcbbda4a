"""A ruler for each column: public bins, fine near its origin and coarse far from it.

Owns the way from a number to the index of its bin and back. A bin is a sign, an exponent and
the leading bits of a mantissa, so it is read off a float without rounding. Sees no table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError

__all__ = ["EXPONENT", "MANTISSA", "OCTAVES", "TOP", "Ruler", "ruler_bits"]

OCTAVES = 80
"""How many doublings lie between the smallest distance that is told from zero and the largest."""
TOP = 40
"""Where nothing is known, distances are told apart up to 2^40."""
MANTISSA = 52
"""How many bits of a float are its mantissa."""
EXPONENT = 11
"""How many are its exponent."""

_MOST_BITS = 12  # a 4,000th of the distance from the origin
_FEWEST_BITS = 2
_MOST_BYTES = 256 << 20  # what the counts of all columns may take
_BIAS = 1023
_SIGN = np.int64(-(2**63))

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def ruler_bits(n_columns: int) -> int:
    """Return how many bits of the mantissa the bins keep, by the number of columns alone.

    Examples
    --------
    >>> ruler_bits(50), ruler_bits(1000)
    (12, 7)
    """
    bits = _MOST_BITS
    while bits > _FEWEST_BITS and n_columns * (2 * (OCTAVES << bits) + 3) * 8 > _MOST_BYTES:
        bits -= 1
    return bits


@dataclass(frozen=True, eq=False)
class Ruler:
    """Bins of the distance y = x − origin, for each column. All of it is public.

    Parameters
    ----------
    origin : ndarray, shape (n_columns,)
        Where the bins are finest.
    top : ndarray of int64, shape (n_columns,)
        Sizes |y| from 2^top on share a bin; those below 2^(top − 80) share one with zero.
    bits : int
        Every doubling is cut into 2^bits bins.

    Notes
    -----
    Bins have indices from 0 to 2 `half`, in the order of x; zero is in the middle. A bin holds
    its end that is nearer to the origin, and not the other one.

    Examples
    --------
    >>> ruler = Ruler(np.zeros(1), np.array([40]), 10)
    >>> index = ruler.index(np.array([2000.3]))
    >>> ruler.nearest(index), ruler.ends(index)
    (array([2000.]), (array([2000.]), array([2001.])))
    """

    origin: Array
    top: Indices
    bits: int

    def __post_init__(self) -> None:
        if self.origin.shape != self.top.shape or self.origin.ndim != 1:
            raise ParameterError("A ruler needs one origin and one top for each column.")
        if not np.isfinite(self.origin).all() or (np.abs(self.top) > 900).any():
            raise ParameterError("A ruler must lie within the floats.")
        if not 0 <= self.bits <= 20:
            raise ParameterError("A ruler keeps 0 to 20 bits.")

    @property
    def half(self) -> int:
        """The index of the bin of zero; the number of bins on each side of it."""
        return (OCTAVES << self.bits) + 1

    @property
    def n_bins(self) -> int:
        """How many bins a column has."""
        return 2 * self.half + 1

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return len(self.origin)

    def index(self, values: Array, columns: Indices | None = None) -> Indices:
        """Return the bins of one finite or infinite value for each column, or each of some."""
        columns = np.arange(self.n_columns) if columns is None else columns
        # The difference may leave the floats, and is then beyond the top, as it should be.
        with np.errstate(over="ignore"):
            apart = np.subtract(values, self.origin[columns], dtype=np.float64)
        return self.index_of_distances(apart, self.first_keys[columns]).astype(np.int64)

    @property
    def first_keys(self) -> Indices:
        """The leading bits, as an integer, of the smallest size that is told from zero."""
        return (_BIAS + self.top - OCTAVES) << self.bits

    def index_of_distances(self, apart: Array, first_keys: Indices) -> npt.NDArray[np.int32]:
        """Return the bins of distances from the origin; `first_keys` must fit their shape.

        `apart` is overwritten. All that is left of a float fits 32 bits: its sign, its exponent
        and at most 20 bits of its mantissa.
        """
        floats = apart.view(np.int64)
        np.right_shift(floats, MANTISSA - self.bits, out=floats)
        found = floats.astype(np.int32)
        sign = found >> 31
        # The leading bits of a positive float, as an integer, rise with it.
        found &= (1 << (EXPONENT + self.bits)) - 1
        found -= (first_keys - 1).astype(np.int32)
        # One look tells whether any is below 0, which is large without a sign, or above the top.
        if found.view(np.uint32).max(initial=0) > self.half:
            np.maximum(found, 0, out=found)
            np.minimum(found, self.half, out=found)
        # −0 is in the bin of zero, too: its index is 0 with either sign.
        found ^= sign
        found -= sign
        found += self.half
        return found

    def nearest(self, index: Indices, columns: Indices | None = None) -> Array:
        """Return the end of each bin that is nearer to the origin: whole numbers are exact."""
        columns = np.arange(self.n_columns) if columns is None else columns
        steps = index - self.half
        floats = np.abs(steps)
        floats += self.first_keys[columns] - 1
        floats <<= MANTISSA - self.bits
        floats |= steps & _SIGN
        found = floats.view(np.float64)
        found[steps == 0] = 0.0
        found += self.origin[columns]
        return found

    def ends(self, index: Indices, columns: Indices | None = None) -> tuple[Array, Array]:
        """Return the ends of each bin; of the outermost ones, one is infinite."""
        columns = np.arange(self.n_columns) if columns is None else columns
        steps, origin = index - self.half, self.origin[columns]
        near, far = (self._sizes(np.abs(steps) + more, columns) for more in (0, 1))
        low = np.where(steps > 0, near, -far)
        high = np.where(steps < 0, -near, far)
        return origin + low, origin + high

    def width(self, index: Indices, columns: Indices | None = None) -> Array:
        """Return how wide each bin is: nothing finer can be told there. Rulers end at 2^top."""
        columns = np.arange(self.n_columns) if columns is None else columns
        steps = np.minimum(np.abs(index - self.half), self.half - 1)
        return self._sizes(steps + 1, columns) - self._sizes(steps, columns)

    def _sizes(self, steps: Indices, columns: Indices) -> Array:
        keys = (steps - 1 + self.first_keys[columns]) << (MANTISSA - self.bits)
        sizes = np.where(steps == 0, 0.0, keys.view(np.float64))
        return np.where(steps > self.half, np.inf, sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ruler):
            return NotImplemented
        return (
            self.bits == other.bits
            and np.array_equal(self.origin, other.origin)
            and np.array_equal(self.top, other.top)
        )

    __hash__ = None  # type: ignore[assignment]
