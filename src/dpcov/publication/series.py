"""Columns of a published table, and how far another machine's numbers may be off.

Owns these values and the limits that all tables have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_COLUMNS", "MOST_PAIRS", "TOLERANCE", "Series", "Table", "text_of"]

MOST_COLUMNS = 2000
"""Beyond so many columns a matrix is written as a list of its entries that are not zero."""
MOST_PAIRS = 500_000
"""So many pairs are listed, the surest: all pairs of 1,000 columns."""
TOLERANCE = 1e-8
"""How far another machine's arithmetic may move a number, in units of what it is measured by."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Series:
    """One column of a table.

    Parameters
    ----------
    values : list of str, or ndarray of float or bool
        A number that is not known is nan.
    near : float or ndarray
        How far a number of another machine may be off.
    free : bool
        Whether it follows from a rule of the curator's own, which nobody else can compute.
    """

    values: list[str] | Array | npt.NDArray[np.bool_]
    near: Array | float = 0.0
    free: bool = False

    @property
    def is_text(self) -> bool:
        """Whether it holds text."""
        return isinstance(self.values, list)

    def __len__(self) -> int:
        return len(self.values)


Table = dict[str, Series]


def text_of(name: str) -> str:
    """Return a name as it is written in tables."""
    # A name may hold half a surrogate pair, which UTF-8 has no bytes for.
    return name.encode("utf-8", "backslashreplace").decode()
