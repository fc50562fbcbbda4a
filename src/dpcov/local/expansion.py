"""The public generator: what vector a seed of 16 bytes stands for, in every language.

Owns the road from a seed to numbers. Nothing here is secret and nothing here is random.

The words. AES-128 with the key `KEY` encrypts blocks of 16 bytes. Block j of a seed is the
encryption of the seed with j xored into its last 8 bytes, read as a little-endian number.
Each block is two little-endian 64-bit words; coordinate i is word i.

The normals. A word with top bit b and remaining bits v stands for the real number

    g = (−1)^b · −Φ⁻¹((v + ½) / 2^64),

which a *device* computes in floating point, with an error of at most 2^-48 max(1, |g|).

The integers. A *collector* knows g by its leading 20 bits, on a grid of 1/4096: with k
the 19 leading bits of v,

    a = (−1)^b · round(4096 · Φ⁻¹(1 − (k + ½) / 2^20)).

Integers have no rounding errors, so that all collectors agree to the bit. The values a are
fixed by the formula and by the digest of their table, `TABLE_SHA256`.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.errors import InexactArithmeticError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

__all__ = [
    "FRACTION_BITS",
    "KEY",
    "MAX_INTEGER",
    "SEED_BYTES",
    "SQUARED_SUM",
    "TABLE_SHA256",
    "TABLE_SIZE",
    "expand_integers",
    "expand_normals",
    "expand_words",
]

SEED_BYTES = 16
KEY = hashlib.sha256(b"dpcov cap expansion 1").digest()[:16]
"""Nobody chose it: it is the digest of a sentence."""

FRACTION_BITS = 12
"""Collectors count in multiples of 2^-12."""
_INDEX_BITS = 20
TABLE_SIZE = 1 << _INDEX_BITS
MAX_INTEGER = 20074
"""The largest of the collector's integers: 4.9 standard deviations."""
SQUARED_SUM = 17592166279188
"""The sum of their squares over the table: their exact mean square is this / TABLE_SIZE."""
TABLE_SHA256 = "9918f2ea82b1bb08855421c3d9b546f9b8afc20ff72a74981a6f32df80aa5b6e"
"""Of the table as little-endian 16-bit integers, in the order of the leading 20 bits."""

Seeds = npt.NDArray[np.uint8]


def expand_words(seeds: Seeds, size: int) -> npt.NDArray[np.uint64]:
    """Return the first `size` words of each seed.

    Examples
    --------
    >>> [f"{word:016x}" for word in expand_words(np.zeros((1, 16), np.uint8), 3)[0]]
    ['74c8a1a3f7fbcbae', '2e4c8af46085f7a3', '645fb6eff54dfc3b']
    """
    count, blocks = len(seeds), (size + 1) // 2
    halves = np.ascontiguousarray(seeds).view("<u8")
    plain = np.empty((count, blocks, 2), dtype="<u8")
    plain[:, :, 0] = halves[:, :1]
    np.bitwise_xor(halves[:, 1:], np.arange(blocks, dtype="<u8"), out=plain[:, :, 1])
    # update_into asks for room of one block, less a byte, beyond the data.
    cipher = np.empty(plain.nbytes + 15, dtype=np.uint8)
    if plain.size:
        _cipher().update_into(plain.reshape(-1).view(np.uint8).data, cipher.data)
    words = cipher[: plain.nbytes].view("<u8").reshape(count, 2 * blocks)
    return words[:, :size].astype(np.uint64, copy=False)


def expand_normals(seeds: Seeds, size: int) -> npt.NDArray[np.float64]:
    """Return the standard normals of each seed, as a device knows them.

    Returns
    -------
    ndarray of float64, shape (n, size)
        Each within 2^-48 max(1, |g|) of the real number g that its word stands for.

    Examples
    --------
    >>> expand_normals(np.zeros((1, 16), np.uint8), 3).round(6)
    array([[0.110046, 0.91211 , 0.273888]])
    """
    from scipy.special import ndtri  # lazily: a collector does not need it for every report

    words = expand_words(seeds, size)
    normals: npt.NDArray[np.float64] = (words & np.uint64(2**63 - 1)).astype(np.float64)
    normals += 0.5
    normals *= 2.0**-64
    ndtri(normals, out=normals)
    # The top bit of a word is the sign bit of the float with the same bits.
    return np.copysign(normals, words.view(np.float64), out=normals)


def expand_integers(seeds: Seeds, size: int) -> npt.NDArray[np.int16]:
    """Return 4096 times the normals of each seed, rounded, as a collector knows them.

    Returns
    -------
    ndarray of int16, shape (n, size)
        Whole numbers from −20074 to 20074.

    Examples
    --------
    >>> expand_integers(np.zeros((1, 16), np.uint8), 3)
    array([[ 451, 3736, 1122]], dtype=int16)
    """
    words = expand_words(seeds, size)
    places = np.right_shift(words, np.uint64(64 - _INDEX_BITS), out=words)
    return _table().take(places.view(np.int64))


@lru_cache(maxsize=1)
def _table() -> npt.NDArray[np.int16]:
    """Compute the collector's integers and compare them with the digest.

    No value lies within 1e-6 of a tie, so any library that knows Φ⁻¹ to 12 digits finds them.
    """
    from scipy.special import ndtri

    half = TABLE_SIZE // 2
    tails = (np.arange(half) + 0.5) / TABLE_SIZE
    positive = np.rint(-ndtri(tails) * (1 << FRACTION_BITS)).astype("<i2")
    table = np.concatenate([positive, -positive])
    if hashlib.sha256(table.tobytes()).hexdigest() != TABLE_SHA256:
        raise InexactArithmeticError(
            "This machine's normal quantiles are off: the table of the public generator differs "
            "from the published one. Install another version of scipy."
        )
    table.setflags(write=False)
    return table


def _cipher() -> CipherContext:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES128
    from cryptography.hazmat.primitives.ciphers.modes import ECB

    # A public permutation of single blocks, not a cipher for messages: the mode hides nothing
    # and is not meant to.
    return Cipher(AES128(KEY), ECB()).encryptor()  # noqa: S305
