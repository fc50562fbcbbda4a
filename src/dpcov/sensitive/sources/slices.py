"""Tables that can be read from any row to any other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from dpcov.sensitive.sources.choice import Choice
from dpcov.sensitive.sources.keys import as_keys, check_keys

__all__ = ["SlicedSource"]


class SlicedSource(ABC):
    """A source of rows, from anything that gives some columns of some rows.

    Parameters
    ----------
    choice : Choice
        Which columns are read.
    n_rows : int
        How many rows there are.
    name : str
        What the table is called in messages.
    """

    def __init__(self, choice: Choice, n_rows: int, name: str = "X") -> None:
        self.columns = choice.names
        self.n_rows: int | None = n_rows
        self._choice, self._length, self._name = choice, n_rows, name

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, without a copy where that can be."""
        # A list of places copies, and `slice(None)` does not.
        places = slice(None) if self._choice.is_whole else list(self._choice.places)
        for start in range(0, self._length, size):
            yield self._read(slice(start, start + size), places)

    def unit_keys(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield runs of `size` keys."""
        unit, name = self._choice.unit_column
        runs = (
            as_keys(self._read(slice(start, start + size), [unit])[:, 0], name)
            for start in range(0, self._length, size)
        )
        return check_keys(runs, n_rows=self._length, name=name, of=self._name)

    @abstractmethod
    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        """Return some columns of some rows."""
