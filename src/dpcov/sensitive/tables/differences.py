"""Differences of rows: what needs no center.

Owns the pairing, for every mechanism that takes differences. Knows nothing of promises; which
of them differences keep is said in `mechanisms.differences`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.fields import Field
from dpcov.sensitive.tables.pieces import Parts, Split, split_rows
from dpcov.sensitive.tables.source import Rows
from dpcov.sensitive.tables.working import FAR

__all__ = ["DifferenceSource", "pair_rows"]


class DifferenceSource:
    """A source of (x − y)/√2 for rows x and y that are paired: they vary as rows do.

    Parameters
    ----------
    source : Rows
        What is paired. A row that is left over at the end is not used.
    seed : int
        Of the pairing. It is drawn without a look at the rows. Neighbors in a table that is
        sorted would be too alike.

    Notes
    -----
    Claim P19. Rows are paired within blocks of the table, of a length that is public, in a
    random order that depends on the seed and on the lengths of blocks alone. Each row is in
    one pair at most, so replacing one row changes one difference and no other.

    Who reads pieces of the table pairs the same rows: the order of a block needs no other block.
    """

    def __init__(self, source: Rows, seed: int) -> None:
        self._source, self._seed = source, seed

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self._source.columns

    @property
    def fields(self) -> tuple[Field, ...]:
        """What the columns are."""
        return self._source.fields

    @property
    def n_rows(self) -> int | None:
        """The number of differences."""
        rows = self._source.n_rows
        return None if rows is None else rows // 2

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of differences."""
        for place, block in enumerate(self._source.blocks(2 * size)):
            if len(block) > 1:
                yield pair_rows(block, self._seed, place)

    def split(self, parts: Parts) -> Split | None:
        """Return the pieces of the source, and that their rows are to be paired."""
        whole = split_rows(self._source, parts)
        return None if whole is None else replace(whole, pairing=self._seed)


def pair_rows(block: npt.NDArray[Any], seed: int, place: int) -> npt.NDArray[np.float64]:
    """Return the differences within a whole block, which is at some place among the blocks.

    Examples
    --------
    >>> np.abs(pair_rows(np.array([[0.0], [2.0]]), seed=1, place=0)).round(3)
    array([[1.414]])
    """
    rows = block[np.random.default_rng((seed, place)).permutation(len(block))]
    pairs = len(rows) // 2
    return _half_differences(rows[:pairs], rows[pairs : 2 * pairs])


def _half_differences(rows: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return (x − y)/√2; missing where x or y is, and of the sign of x − y elsewhere."""
    with np.errstate(all="ignore"):
        apart: npt.NDArray[np.float64] = np.subtract(rows, others, dtype=np.float64)
        if rows.dtype.kind in "iu" and rows.dtype.itemsize == apart.dtype.itemsize:
            # Whole numbers that round to one float are apart all the same.
            close = (apart == 0) & (rows != others)
            apart[close] = np.where(rows[close] > others[close], 1.0, -1.0)
        apart *= 0.5**0.5
        # Two cells that are there and leave the floats are far apart, and not missing.
        there = np.isfinite(rows) & np.isfinite(others)
        np.clip(apart, -FAR, FAR, out=apart, where=there)
    return apart
