"""Complete rows: a row with a gap in any column that is used counts as an empty row.

As statsmodels, R and SPSS fit a regression: by the rows in which every cell is there. The table
keeps its number of rows. A weight beside the cells says which rows count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.fields import Field
from dpcov.exact.weighing import weight_shares
from dpcov.sensitive.tables.pieces import Parts, Split, split_rows
from dpcov.sensitive.tables.source import Rows

__all__ = ["CompleteSource", "only_complete"]

_WEIGHT = Field("weight")


class CompleteSource:
    """A source whose rows are complete, or empty and of weight zero.

    Parameters
    ----------
    source : Rows
        The rows. With `weight_bound` their last column is their weight.
    weight_bound : float, optional
        The public bound of weights.
    """

    def __init__(self, source: Rows, weight_bound: float | None = None) -> None:
        self._source, self._bound = source, weight_bound

    @property
    def fields(self) -> tuple[Field, ...]:
        """What the columns are, the weight last."""
        own = self._source.fields
        return own if self._bound is not None else (*own, _WEIGHT)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, the weight last."""
        return tuple(field.name for field in self.fields)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, empty ones among them."""
        return self._source.n_rows

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks, each with the weight of its rows last."""
        for block in self._source.blocks(size):
            yield only_complete(block, self._source.fields, self._bound)

    def split(self, parts: Parts) -> Split | None:
        """Return the pieces of the source, each with complete rows alone."""
        whole = split_rows(self._source, parts)
        layer = partial(CompleteSource, weight_bound=self._bound)
        return None if whole is None else whole.through(layer)


def only_complete(
    block: npt.NDArray[Any], fields: tuple[Field, ...], weight_bound: float | None = None
) -> npt.NDArray[np.float64]:
    """Return rows with their weights, which are 0 for rows with a gap; these have no cells.

    A cell of a category that is none of its levels is a gap, too. Without `weight_bound` complete
    rows have a weight of 1.

    Notes
    -----
    Claim P27. What a row becomes follows from that row alone.

    Examples
    --------
    >>> only_complete(np.array([[1.0, 2.0], [3.0, np.nan]]), (Field("a"), Field("b")))
    array([[ 1.,  2.,  1.],
           [nan, nan,  0.]])
    """
    n_cells = block.shape[1] - (weight_bound is not None)
    rows = np.empty((len(block), n_cells + 1))
    cells = rows[:, :n_cells]
    with np.errstate(all="ignore"):  # a warning would be about the data
        np.copyto(cells, block[:, :n_cells], casting="unsafe")
    complete = np.isfinite(cells).all(axis=1)
    for place, field in enumerate(fields[:n_cells]):
        if field.levels is not None:
            level = cells[:, place]
            with np.errstate(invalid="ignore"):
                complete &= (level >= 0) & (level < len(field.levels)) & (level == np.trunc(level))
    cells[~complete] = np.nan
    rows[:, -1] = 1.0 if weight_bound is None else weight_shares(block[:, -1], weight_bound)
    if weight_bound is not None:
        rows[:, -1] *= weight_bound
    rows[~complete, -1] = 0.0
    return rows
