"""A symmetric matrix of integers, stored as panels of its upper triangle.

Owns how exact sums lie in memory. A panel holds some rows, from the column of its first row
on: together the panels are the triangle and little more, and the product that fills one
fits a small buffer. Sensitive: there is no noise yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.sealed import Sealed

__all__ = ["Triangle"]

# 32 MB of float64. Up to 2,048 columns make one panel, which is the whole matrix.
_PANEL_ENTRIES = 1 << 22

Integers = npt.NDArray[np.integer[Any]]


class Triangle(Sealed):
    """The upper triangle of a symmetric matrix of integers, in panels.

    Build it with `zeros`, add to its panels, then `freeze` it.

    Parameters
    ----------
    panels : iterable of ndarray
        The first has as many columns as the matrix; each of the others, as many as are
        to the right of the rows before it.

    Examples
    --------
    >>> triangle = Triangle.zeros(3, np.int64)
    >>> for start, panel in triangle.panels():
    ...     panel += np.arange(9).reshape(3, 3)
    >>> triangle.row(1), triangle.diagonal()
    (array([4, 5]), array([0, 4, 8]))
    >>> triangle
    Triangle(3 columns)
    """

    __slots__ = ("_panels", "_starts", "size")

    size: int
    _panels: tuple[Integers, ...]
    _starts: tuple[int, ...]

    def __init__(self, panels: Iterable[Integers]) -> None:
        held = tuple(panels)
        size = held[0].shape[1]
        starts = tuple(size - panel.shape[1] for panel in held)
        self._hold(_panels=held, _starts=starts, size=size)

    @classmethod
    def zeros(cls, size: int, dtype: type[np.integer[Any]]) -> Triangle:
        """Return a triangle of zeros, in as few panels as the buffer allows."""
        shapes, start = [], 0
        while start < size:
            width = size - start
            height = min(width, max(1, _PANEL_ENTRIES // width))
            shapes.append((height, width))
            start += height
        return cls(np.zeros(shape, dtype=dtype) for shape in shapes)

    @property
    def dtype(self) -> np.dtype[np.integer[Any]]:
        """The type of the integers."""
        return self._panels[0].dtype

    def panels(self) -> Iterator[tuple[int, Integers]]:
        """Yield the first row of each panel, which is its first column too, and its entries."""
        return zip(self._starts, self._panels, strict=True)

    def freeze(self) -> None:
        """Make the panels read-only."""
        self._freeze()

    def _freeze(self) -> None:
        for panel in self._panels:
            panel.setflags(write=False)

    def row(self, row: int) -> Integers:
        """Return a row from the diagonal on, as a view."""
        start, panel = self._holding(row)
        return panel[row - start, row - start :]

    def diagonal(self) -> Integers:
        """Return the entries on the diagonal."""
        return np.concatenate([np.diagonal(panel) for panel in self._panels])

    def above_diagonal(self) -> Iterator[Integers]:
        """Yield the entries above the diagonal, row by row, in one vector for each panel."""
        for panel in self._panels:
            yield np.concatenate([panel[row, row + 1 :] for row in range(len(panel))])

    def at(self, rows: Integers, columns: Integers) -> Integers:
        """Return the entries at some places on or above the diagonal."""
        found = np.empty(len(rows), dtype=self.dtype)
        for start, panel in self.panels():
            here = (start <= rows) & (rows < start + len(panel))
            found[here] = panel[rows[here] - start, columns[here] - start]
        return found

    def full(self) -> Integers:
        """Return the whole matrix, read-only: twice the memory, unless there is one panel."""
        if len(self._panels) == 1:
            matrix = self._panels[0].view()
        else:
            matrix = np.empty((self.size, self.size), dtype=self.dtype)
            for start, panel in self.panels():
                matrix[start : start + len(panel), start:] = panel
                matrix[start:, start : start + len(panel)] = panel.T
        matrix.setflags(write=False)
        return matrix

    def add_at(self, part: Triangle, places: npt.NDArray[np.intp]) -> None:
        """Add a smaller triangle to the rows and columns at some rising places.

        Examples
        --------
        >>> whole, part = Triangle.zeros(3, np.int64), Triangle.zeros(2, np.int64)
        >>> for _, panel in part.panels():
        ...     panel += np.array([[1, 2], [2, 4]])
        >>> whole.add_at(part, np.array([0, 2]))
        >>> whole.full()
        array([[1, 0, 2],
               [0, 0, 0],
               [2, 0, 4]])
        """
        entries = part.full()
        for start, panel in self.panels():
            rows = np.flatnonzero((places >= start) & (places < start + len(panel)))
            columns = np.flatnonzero(places >= start)
            if len(rows):
                here = np.ix_(places[rows] - start, places[columns] - start)
                panel[here] += entries[np.ix_(rows, columns)]

    def __add__(self, other: object) -> Triangle:
        if not isinstance(other, Triangle):
            return NotImplemented
        pairs = zip(self._panels, other._panels, strict=True)
        return Triangle(mine + theirs for mine, theirs in pairs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Triangle):
            return NotImplemented
        return self._starts == other._starts and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self._panels, other._panels, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Triangle({self.size} columns)"

    def _holding(self, row: int) -> tuple[int, Integers]:
        place = bisect_right(self._starts, row) - 1
        return self._starts[place], self._panels[place]
