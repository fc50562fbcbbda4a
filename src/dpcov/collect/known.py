"""Which ids a store may know, and in which run: twelve bytes of memory for each.

Owns the fingerprints: 64 bits of an id, under a key of this process, so that nobody outside can
make two ids that look alike to it. A fingerprint that is found only says where to look.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpcov.collect.runs import halves

__all__ = ["KnownIds"]

_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MOST_TIERS_APART = 2  # a tier is merged with the next when that is not this much larger

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.uint32]


class KnownIds:
    """Fingerprints of ids, each with the number of its run.

    Sorted tiers of growing size: what is added is merged with tiers that are not much larger,
    so that each fingerprint is moved a few times and a search looks at a few tiers.
    """

    def __init__(self) -> None:
        self._key = np.frombuffer(secrets.token_bytes(16), dtype=np.uint64)
        self._tiers: list[tuple[Words, Numbers]] = []

    def __len__(self) -> int:
        return sum(len(words) for words, _ in self._tiers)

    def add(self, ids: npt.NDArray[np.uint8], run: int) -> None:
        """Note the ids of one run."""
        self.add_many([(ids, run)])

    def add_many(self, runs: Sequence[tuple[npt.NDArray[np.uint8], int]]) -> None:
        """Note the ids of several runs at once."""
        if not runs:
            return
        words = np.concatenate([self._fingerprints(ids) for ids, _ in runs])
        numbers = np.concatenate([np.full(len(ids), run, dtype=np.uint32) for ids, run in runs])
        while self._tiers and len(self._tiers[-1][0]) <= _MOST_TIERS_APART * len(words):
            more, their = self._tiers.pop()
            words, numbers = np.concatenate([more, words]), np.concatenate([their, numbers])
        order = np.argsort(words, kind="stable")  # runs that are sorted are merged in one go
        self._tiers.append((words[order], numbers[order]))

    def candidates(
        self, ids: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint32]]:
        """Return places in `ids` and runs in which those ids may be."""
        places: list[npt.NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]
        runs: list[Numbers] = [np.empty(0, dtype=np.uint32)]
        asked = self._fingerprints(ids)
        for words, numbers in self._tiers:
            at = np.searchsorted(words, asked)
            open_ones = np.arange(len(asked))
            while len(open_ones):
                inside = at[open_ones] < len(words)
                open_ones = open_ones[inside]
                hit = words[at[open_ones]] == asked[open_ones]
                open_ones = open_ones[hit]
                places.append(open_ones)
                runs.append(numbers[at[open_ones]])
                at[open_ones] += 1
        return np.concatenate(places), np.concatenate(runs)

    def _fingerprints(self, ids: npt.NDArray[np.uint8]) -> Words:
        keys = halves(ids)
        with np.errstate(over="ignore"):
            return _mix(_mix(keys[:, 0] ^ self._key[0]) + (keys[:, 1] ^ self._key[1]))


def _mix(words: Words) -> Words:
    """Mix the bits of numbers (Steele, Lea and Flood 2014), one to one."""
    words = (words ^ (words >> np.uint64(30))) * _M1
    words = (words ^ (words >> np.uint64(27))) * _M2
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed
