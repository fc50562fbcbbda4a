"""Exact integer noise: round(scale · N(0, 1)), with no floating-point residue.

Owns the sampler. The law of its output is exactly that of a real Gaussian rounded to
the nearest integer, so adding it to an integer equals rounding the output of the
continuous Gaussian mechanism: the analytic calibration holds as it stands.

The sampler is Algorithm N of Karney (2016), run on blocks of proposals. A proposal is
k + x, where k has weight e^(−k²/2) and x is uniform in [0, 1), accepted when a second
uniform u is below e^(−x(2k + x)/2). Real numbers are known by their leading bits:

    word 0:  1 bit sign | 16 bits of v, which chooses k | 47 bits of u
    word 1:  64 bits of x

Floating point decides only where it cannot be wrong; every other proposal is settled
in integers with as many further bits as it takes (`_settle`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.exact.scales import MAX_SCALE, SCALE_BITS, round_scale_up

__all__ = ["draw_rounded_gaussian"]

# Trust a float decision only when it is this clear. Rounding errors and the bits of u
# that are not yet drawn move the difference by less than 2^-46.
_MARGIN = 2.0**-36
_BLOCK = 1 << 13  # proposals at a time: their arrays stay in the second-level cache
_PREFIX_BITS, _U_BITS, _X_BITS, _MORE_BITS = 16, 47, 64, 64
_UNSETTLED = 255
_ACCEPTANCE = 0.71  # √(π/2) / Σ e^(−k²/2) = 0.7148…

Words = npt.NDArray[np.uint64]


def draw_rounded_gaussian(
    scale: int, size: int, stream: RandomStream, *, margin: float = _MARGIN
) -> npt.NDArray[np.int64]:
    """Draw integers with the exact law of round(scale · N(0, 1)).

    Notes
    -----
    Claim P4. Each proposal is decided as real numbers would decide it: in floating point
    when every real number that shares the drawn bits gives the same decision, otherwise
    by drawing more bits. Which path decided a proposal changes neither its value nor its
    place.

    References
    ----------
    Karney (2016), Sampling exactly from the normal distribution.

    Examples
    --------
    >>> draw_rounded_gaussian(1000, 5, RandomStream.from_seed(1)).dtype
    dtype('int64')
    """
    if not 1 <= scale <= MAX_SCALE or scale != round_scale_up(scale):
        raise ParameterError("scale must come from round_scale_up.")
    out = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        proposals = min(_BLOCK, int((size - filled) / _ACCEPTANCE) + 64)
        accepted = _draw_block(scale, proposals, stream, margin)
        taken = accepted[: size - filled]
        out[filled : filled + len(taken)] = taken
        filled += len(taken)
    return out


def _draw_block(
    scale: int, proposals: int, stream: RandomStream, margin: float
) -> npt.NDArray[np.int64]:
    """Return the accepted ones of a block of proposals, in order."""
    words = stream.words(2 * proposals)
    first, second = words[:proposals], words[proposals:]
    return _decide(scale, first, second, stream, margin)


def _decide(
    scale: int, first: Words, second: Words, stream: RandomStream, margin: float
) -> npt.NDArray[np.int64]:
    k = _k_by_prefix()[((first >> _U_BITS) & (2**_PREFIX_BITS - 1)).astype(np.intp)]
    surplus = _acceptance_surplus(k, first, second)
    rounded, doubtful = _scaled_fraction(scale, second)
    values = k.astype(np.int64) * np.int64(scale) + rounded
    sign = first.view(np.int64) >> 63  # 0 or −1
    values ^= sign
    values -= sign
    accepted = surplus > 0
    doubtful |= np.abs(surplus, out=surplus) <= margin
    doubtful |= k == _UNSETTLED
    for index in np.flatnonzero(doubtful):
        value = _settle(int(first[index]), int(second[index]), scale, stream)
        accepted[index] = value is not None
        if value is not None:
            values[index] = _wrap(value)
    return np.compress(accepted, values)


def _acceptance_surplus(
    k: npt.NDArray[np.uint8], first: Words, second: Words
) -> npt.NDArray[np.float64]:
    """Return exp(−x(2k + x)/2) − u in floating point."""
    x = second.astype(np.float64)
    x *= 2.0**-_X_BITS
    surplus = k.astype(np.float64)
    surplus += surplus
    surplus += x
    surplus *= x
    surplus *= -0.5
    np.exp(surplus, out=surplus)
    u = (first & (2**_U_BITS - 1)).astype(np.float64)
    u *= 2.0**-_U_BITS
    surplus -= u
    return surplus


def _scaled_fraction(
    scale: int, second: Words
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return round(x · scale), and where 64 bits of x do not settle the rounding.

    With scale = m 2^e, m < 2^32: in units of 2^(e−32) the real x · scale lies in
    [c, c + 2), c being the top 64 bits of the product. Rounding adds half and shifts by
    32 − e; only c + half ≡ −1 lets the two ends differ.
    """
    exponent = max(0, scale.bit_length() - SCALE_BITS)
    mantissa, shift = scale >> exponent, SCALE_BITS - exponent
    low = second & 0xFFFFFFFF
    low *= np.uint64(mantissa)
    low >>= 32
    product = second >> 32
    product *= np.uint64(mantissa)
    product += low
    product += np.uint64(1 << (shift - 1))
    np.bitwise_and(product, np.uint64((1 << shift) - 1), out=low)
    doubtful = low == (1 << shift) - 1
    product >>= shift
    return product.view(np.int64), doubtful


@dataclass
class _LazyUniform:
    """A uniform real in [0, 1) of which `width` leading bits are known."""

    bits: int
    width: int

    def refine(self, stream: RandomStream) -> None:
        self.bits = (self.bits << _MORE_BITS) | stream.spare_word()
        self.width += _MORE_BITS

    @property
    def low(self) -> Fraction:
        return Fraction(self.bits, 1 << self.width)

    @property
    def high(self) -> Fraction:
        return Fraction(self.bits + 1, 1 << self.width)


def _settle(first: int, second: int, scale: int, stream: RandomStream) -> int | None:
    """Decide one proposal in integers: its value, or None when it is rejected."""
    v = _LazyUniform((first >> _U_BITS) & (2**_PREFIX_BITS - 1), _PREFIX_BITS)
    u = _LazyUniform(first & (2**_U_BITS - 1), _U_BITS)
    x = _LazyUniform(second, _X_BITS)
    k = _settle_k(v, stream)
    if not _settle_acceptance(u, x, k, stream):
        return None
    magnitude = k * scale + _settle_rounding(x, scale, stream)
    return -magnitude if first >> 63 else magnitude


def _settle_k(v: _LazyUniform, stream: RandomStream) -> int:
    while True:
        for k, (low, high) in enumerate(_k_cdf(_digits(v.width))):
            if v.high <= low:
                return k
            if v.low < high:
                break
        v.refine(stream)


def _settle_acceptance(u: _LazyUniform, x: _LazyUniform, k: int, stream: RandomStream) -> bool:
    while True:
        digits = _digits(x.width)
        if u.high <= _exp_minus(x.high * (2 * k + x.high) / 2, digits)[0]:
            return True
        if u.low >= _exp_minus(x.low * (2 * k + x.low) / 2, digits)[1]:
            return False
        u.refine(stream)
        x.refine(stream)


def _settle_rounding(x: _LazyUniform, scale: int, stream: RandomStream) -> int:
    half = Fraction(1, 2)
    while True:
        low = x.low * scale + half
        # The upper end is excluded: it may touch the next integer.
        high = -(-(x.high * scale + half) // 1) - 1
        if low // 1 == high:
            return int(high)
        x.refine(stream)


def _digits(width: int) -> int:
    """Decimal digits that resolve `width` bits with room to spare."""
    return width // 3 + 20


def _exp_minus(t: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bracket e^(−t), t ≥ 0. The decimal module's exp is correctly rounded."""
    down, up = Context(prec=digits, rounding=ROUND_FLOOR), Context(digits, ROUND_CEILING)
    numerator, denominator = Decimal(-t.numerator), Decimal(t.denominator)
    low = down.exp(down.divide(numerator, denominator)).next_minus(down)
    high = up.exp(up.divide(numerator, denominator)).next_plus(up)
    return Fraction(low), Fraction(high)


@lru_cache(maxsize=8)
def _k_cdf(digits: int) -> list[tuple[Fraction, Fraction]]:
    """Bracket P(K ≤ k) for k = 0, 1, …, where P(K = k) is proportional to e^(−k²/2)."""
    last = isqrt(5 * digits) + 2  # e^(−last²/2) < 10^−digits
    weights = [_exp_minus(Fraction(k * k, 2), digits) for k in range(last + 1)]
    # The weights beyond `last` fall by more than half from one to the next.
    tail = 2 * _exp_minus(Fraction((last + 1) ** 2, 2), digits)[1]
    total_low = sum((low for low, _ in weights), Fraction(0))
    total_high = sum((high for _, high in weights), Fraction(0)) + tail
    brackets, sum_low, sum_high = [], Fraction(0), Fraction(0)
    for low, high in weights:
        sum_low, sum_high = sum_low + low, sum_high + high
        brackets.append((sum_low / total_high, sum_high / total_low))
    return brackets


@lru_cache(maxsize=1)
def _k_by_prefix() -> npt.NDArray[np.uint8]:
    """For each 16-bit prefix of v: the k that it chooses, or `_UNSETTLED`."""
    bins = 1 << _PREFIX_BITS
    table = np.full(bins, _UNSETTLED, dtype=np.uint8)
    start = 0
    for k, (low, high) in enumerate(_k_cdf(_digits(_PREFIX_BITS))):
        table[start : int(low * bins)] = k
        start = int(high * bins) + 1
    return table


def _wrap(value: int) -> int:
    """Reduce modulo 2^64 to a signed word, as the addition of int64 does.

    Noise beyond 63 bits has probability below 1e-200. Wrapping it, like the sum it is
    added to, is a function of the exact noisy sum alone: it costs accuracy, never privacy.
    """
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
