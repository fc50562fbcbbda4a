"""What went through the noise door: passages, and recordings of them.

Owns values that hold exact numbers, and refuse to be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, overload

import numpy as np
import numpy.typing as npt

from dpcov.errors import SensitiveDataError

__all__ = ["Integers", "Passage", "Recording"]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Passage:
    """What went through the noise door at one time.

    Attributes
    ----------
    kind : {"gaussian", "selection", "pairing"}
        Noise was added to integers, some of them were chosen, or rows were paired at random.
    scale : float
        What the sampler was asked for: the sd of the noise, in steps of the grid, or the scale of
        the exponential mechanism.
    size : int
        How many numbers there were.
    count : int
        How many were chosen; 0 where noise was added.
    exact : ndarray
        The numbers before noise. They are not private.
    answer : ndarray
        What came out: noisy numbers, or the places of the chosen ones.
    """

    kind: str
    scale: float
    size: int
    count: int
    exact: Integers
    answer: Integers

    @property
    def drawn(self) -> Integers:
        """The noise that was drawn; the places that were chosen; the seed of a pairing."""
        return self.answer - self.exact if self.kind == "gaussian" else self.answer

    @property
    def asked(self) -> tuple[str, float, int, int]:
        """What was asked of the door: the same for all neighbors, given the same answers."""
        return self.kind, self.scale, self.size, self.count

    @classmethod
    def of_noise(cls, sums: npt.NDArray[Any], scale: int, answer: Integers) -> Passage:
        """Return what went through when noise was added."""
        exact = np.array(sums, dtype=np.int64)
        return cls("gaussian", scale, len(exact), 0, exact, answer)

    @classmethod
    def of_selection(cls, scores: Any, count: int, scale: float, answer: Integers) -> Passage:
        """Return what went through when some were chosen."""
        exact = np.concatenate(list(scores())).astype(np.int64)
        return cls("selection", scale, len(exact), count, exact, answer)

    @classmethod
    def of_pairing(cls, answer: Integers) -> Passage:
        """Return what went through when rows were paired."""
        return cls("pairing", 0.0, 1, 0, np.zeros(1, dtype=np.int64), answer)

    def __repr__(self) -> str:
        return f"Passage({self.kind}, scale {self.scale:g}, {self.size} numbers)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SensitiveDataError(
            "A passage of the noise door holds exact numbers: do not store it."
        )


class Recording(Sequence[Passage]):
    """All passages of a run, in order. It holds exact numbers, and refuses to be stored."""

    def __init__(self) -> None:
        self._passages: list[Passage] = []

    @overload
    def __getitem__(self, place: int) -> Passage: ...
    @overload
    def __getitem__(self, place: slice) -> list[Passage]: ...
    def __getitem__(self, place: int | slice) -> Passage | list[Passage]:
        return self._passages[place]

    def __len__(self) -> int:
        return len(self._passages)

    def __repr__(self) -> str:
        return f"Recording({len(self)} passages of the noise door; not private)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SensitiveDataError(
            "A recording of the noise door holds exact numbers: do not store it."
        )

    def keep(self, passage: Passage) -> Integers:
        """Add a passage, and return a copy of its answer.

        Parameters
        ----------
        passage : Passage
            The next one.

        Returns
        -------
        ndarray
        """
        self._passages.append(passage)
        return passage.answer.copy()
