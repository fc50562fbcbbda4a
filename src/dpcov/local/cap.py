"""The cap report, on the device: a row becomes a seed.

Owns the lift to the unit sphere and the choice of the seed. The message is a seed, so no
rounding error of the row can leave the device.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcov.exact.randomness import RandomStream
from dpcov.local.expansion import SEED_BYTES, expand_normals
from dpcov.privacy import Cap
from dpcov.releases import CAP_CONSTANT

__all__ = ["draw_seed", "draw_seeds", "draw_uniform", "in_cap", "lift_rows"]

_CHUNK = 64  # of coordinates: the rounding error that claim P14 allows rests on it
_ENTRIES = 1 << 15  # normals at a time: their arrays stay in the cache

Array = npt.NDArray[np.float64]
Seeds = npt.NDArray[np.uint8]


def lift_rows(whole: Array, bits: int, *, mean: bool = False) -> Array:
    """Return unit vectors: rows of integers of norm at most 2^bits, with one coordinate more.

    For a plan that asks for the mean, a constant cell of a quarter of 2^bits comes before it.

    Notes
    -----
    Claim P14. The squared norms are integers below 2^53, hence exact; the last coordinate
    is one correctly rounded root. The result is within 2^-51 of a vector of norm 1.

    Examples
    --------
    >>> lift_rows(np.array([[3.0, 0.0]]), bits=2)
    array([[0.75      , 0.        , 0.66143783]])
    """
    rest = np.sqrt(4.0**bits - np.einsum("ij,ij->i", whole, whole))
    if not mean:
        return np.column_stack([whole, rest]) * 2.0**-bits
    constant = np.full(len(whole), CAP_CONSTANT * 2.0**bits)
    lifted = np.column_stack([whole, constant, rest]) * 2.0**-bits
    return np.asarray(lifted / math.sqrt(1 + CAP_CONSTANT**2))


def in_cap(seeds: Seeds, units: Array, threshold: float) -> npt.NDArray[np.bool_]:
    """Return which seeds lie in the cap of a unit vector: |⟨g, u⟩| > t."""
    normals = expand_normals(seeds, units.shape[1])
    scores = np.zeros(len(seeds))
    for start in range(0, normals.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        scores += np.einsum("ij,ij->i", normals[:, part], units[:, part])
    return np.abs(scores) > threshold


def draw_seed(unit: Array, cap: Cap, stream: RandomStream) -> Seeds:
    """Draw the seed that a device sends.

    Notes
    -----
    Claim P14. The seed is uniform among those of the cap with probability p₀, and uniform
    among the others otherwise: any two rows give any seed with probabilities within e^ε.

    The number of seeds that are looked at is the same for all rows, coins and answers: the
    time until the first one that will do would tell the coin, and with it more than ε
    allows. Nor does the work depend on how many of them will do, which the coin decides as
    well: of each chunk one seed is kept. Only with a probability of 2^-32 must the device
    look at as many again.
    """
    inside = bool(stream.words(1)[0] >> np.uint64(32) < cap.coin)
    at_a_time = max(1, _ENTRIES // len(unit))
    starts = range(0, cap.steady_tries, at_a_time)
    firsts = np.empty((len(starts), SEED_BYTES), dtype=np.uint8)
    found = np.empty(len(starts), dtype=np.bool_)
    while True:
        for chunk, start in enumerate(starts):
            seeds = draw_uniform(min(at_a_time, cap.steady_tries - start), stream)
            fits = in_cap(seeds, unit[None], cap.threshold) == inside
            place = fits.argmax()
            firsts[chunk], found[chunk] = seeds[place], fits[place]
        if found.any():
            return firsts[found.argmax()]  # type: ignore[no-any-return]


def draw_seeds(units: Array, cap: Cap, stream: RandomStream) -> Seeds:
    """Draw a seed for each of many people, as fast as it goes: for simulation.

    The law is that of `draw_seed`; how long it takes is not hidden.
    """
    inside = (stream.words(len(units)) >> np.uint64(32)) < cap.coin
    result = np.empty((len(units), SEED_BYTES), dtype=np.uint8)
    at_a_time = max(1, _ENTRIES // units.shape[1])
    for start in range(0, len(units), at_a_time):
        pending = np.arange(start, min(start + at_a_time, len(units)))
        while len(pending):
            seeds = draw_uniform(len(pending), stream)
            fits = in_cap(seeds, units[pending], cap.threshold) == inside[pending]
            result[pending[fits]] = seeds[fits]
            pending = pending[~fits]
    return result


def draw_uniform(count: int, stream: RandomStream) -> Seeds:
    """Draw 16 random bytes for each of `count`: seeds, or ids of reports."""
    words = stream.words(2 * count).astype("<u8", copy=False)
    return words.view(np.uint8).reshape(count, SEED_BYTES)
