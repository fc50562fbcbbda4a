"""The Gaussian report: its integer noise, and integers of one width as bytes.

Owns the constants of the corrected Algorithm 2 and its packing. The server reads with it
and the device writes with it; it sees no row and draws no noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpcov.errors import MalformedReportError, ParameterError
from dpcov.exact.scales import MAX_SCALE, frobenius_scales
from dpcov.parameters import check_count
from dpcov.privacy import ApproxDP, gaussian_scale, squared_unit_sensitivity

__all__ = ["IntegerNoise", "calibrate_noise", "pack", "triangle_size", "unpack"]

# 12 bits leave 4 bytes for an entry at epsilon = 1, and move a cell by less than R/4096.
_BITS = 12
# Beyond 16 sd of the noise lies less than 1e-56: entries are clamped there.
_CLAMP = 16


@dataclass(frozen=True)
class IntegerNoise:
    """The constants of Gaussian reports. All of them are public.

    Parameters
    ----------
    bits : int
        Rows become integers of norm at most 2^bits.
    off_diagonal, diagonal : int
        Noise scales of the entries of q qᵀ.

    Examples
    --------
    >>> noise = calibrate_noise(ApproxDP(1.0, 1e-5, "local"))
    >>> noise.width, noise.largest
    (4, 1433018496)
    """

    bits: int
    off_diagonal: int
    diagonal: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", check_count("bits", self.bits, low=4, high=_BITS))
        for name in ("off_diagonal", "diagonal"):
            scale = check_count(name, getattr(self, name), low=1, high=MAX_SCALE >> 6)
            object.__setattr__(self, name, scale)

    @property
    def largest(self) -> int:
        """The largest size of an entry; what lies beyond is clamped."""
        return int(4**self.bits + _CLAMP * max(self.diagonal, self.off_diagonal))

    @property
    def width(self) -> int:
        """Bytes of an entry."""
        return int(self.largest.bit_length() // 8 + 1)

    @property
    def multiplier(self) -> float:
        """The noise sd over the ℓ₂ sensitivity √2 · 4^bits, rounded down."""
        least = min(self.diagonal, math.sqrt(2) * self.off_diagonal)
        return least / (math.sqrt(2) * float(1 << 2 * self.bits)) * (1 - 2.0**-50)

    def pays_for(self, promise: ApproxDP) -> bool:
        """Whether the noise keeps a promise, in exact fractions."""
        needed = _squared_noise(promise, self.bits)
        return self.diagonal**2 >= needed and 2 * self.off_diagonal**2 >= needed


def calibrate_noise(promise: ApproxDP) -> IntegerNoise:
    """Return the integer noise of a Gaussian report.

    Notes
    -----
    Claim P15. A report is the release of P5 of a table with one row, for which any two
    rows are neighbors: Δ = √2 · 4^bits.
    """
    needed = _squared_noise(promise, _BITS)
    if needed > (MAX_SCALE >> 6) ** 2:
        raise ParameterError(
            "The noise for this promise does not fit 50 bits; raise epsilon or delta."
        )
    off_diagonal, diagonal = frobenius_scales(needed)
    return IntegerNoise(_BITS, off_diagonal, diagonal)


def _squared_noise(promise: ApproxDP, bits: int) -> Fraction:
    """Return (σ₀ Δ)², exactly: a float is a fraction."""
    multiplier = Fraction(gaussian_scale(epsilon=promise.epsilon, delta=promise.delta))
    return multiplier * multiplier * squared_unit_sensitivity(promise.neighbors) * int(16**bits)


def triangle_size(n_columns: int) -> int:
    """Return the number of entries on and above the diagonal."""
    return n_columns * (n_columns + 1) // 2


def pack(entries: npt.NDArray[np.int64], noise: IntegerNoise) -> bytes:
    """Clamp integers and write each as `width` little-endian bytes, two's complement.

    Examples
    --------
    >>> pack(np.array([1, -2]), IntegerNoise(4, 1000, 1500)).hex()
    '0100feff'
    """
    clamped = np.clip(entries, -noise.largest, noise.largest).astype("<i8")
    octets = clamped.reshape(-1, 1).view(np.uint8)
    return octets[:, : noise.width].tobytes()


def unpack(payloads: npt.NDArray[np.uint8], noise: IntegerNoise) -> npt.NDArray[np.int64]:
    """Read what `pack` wrote, one payload in each row, or refuse.

    Examples
    --------
    >>> payload = np.frombuffer(bytes.fromhex("0100feff"), np.uint8).reshape(1, -1)
    >>> unpack(payload, IntegerNoise(4, 1000, 1500))
    array([[ 1, -2]])
    """
    count, width = len(payloads), noise.width
    octets = np.zeros((count, payloads.shape[1] // width, 8), dtype=np.uint8)
    octets[:, :, 8 - width :] = payloads.reshape(count, -1, width)
    entries = octets.view("<i8")[:, :, 0].astype(np.int64)
    entries >>= 8 * (8 - width)  # the sign comes along
    if entries.size and max(int(entries.max()), -int(entries.min())) > noise.largest:
        raise MalformedReportError("A report holds an entry that no device can send.")
    return entries
