"""What every tool is asked, and what all may know: bounds, whole numbers, the number of rows.

Imports numpy alone, since it runs in the environments of all tools.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["Method", "Question"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """A table, public facts of its columns, and a promise."""

    rows: Array
    lower: Array
    upper: Array
    whole: npt.NDArray[np.bool_]
    epsilon: float = 1.0
    delta: float = 1e-6

    @property
    def scaled(self) -> Array:
        """The cells, with the bounds of each column at ±1."""
        middle, half = (self.upper + self.lower) / 2, (self.upper - self.lower) / 2
        return np.clip((self.rows - middle) / half, -1, 1)

    def save(self, path: Path) -> None:
        """Write it to a file that every environment can read."""
        np.savez(
            path,
            rows=self.rows,
            lower=self.lower,
            upper=self.upper,
            whole=self.whole,
            promise=np.array([self.epsilon, self.delta]),
        )

    @classmethod
    def load(cls, path: Path) -> Question:
        """Read what `save` wrote."""
        with np.load(path) as stored:
            epsilon, delta = stored["promise"]
            return cls(
                stored["rows"],
                stored["lower"],
                stored["upper"],
                stored["whole"],
                float(epsilon),
                float(delta),
            )


Method = Callable[[Question], Array]
