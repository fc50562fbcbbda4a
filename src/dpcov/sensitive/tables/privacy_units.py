"""Units: people who may have several rows, and how many of them count.

Owns the cap. Each unit keeps its first rows in the order of the table, so what is kept of
one unit depends on no other unit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sized
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpcov.columns.fields import Field
from dpcov.errors import InputError
from dpcov.parameters import check_count
from dpcov.sensitive.tables.blocks import Part, cut_blocks
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.pieces import Parts, Piece, Split, split_rows
from dpcov.sensitive.tables.source import RowSource

__all__ = ["KeptRows", "UnitSource", "limit_rows", "rows_of_units"]

Run = TypeVar("Run", bound=Sized)

_FEWEST_ROWS = 2
_KEYS_AT_A_TIME = 1 << 16


def limit_rows(source: RowSource, most: int) -> UnitSource:
    """Return the first `most` rows of each unit of a source that was opened with a unit.

    Notes
    -----
    Claim P20. Which rows are kept depends on the unit column alone. When the other cells of
    one unit change, at most `most` rows of what is kept change, in their places.
    """
    return UnitSource(source, rows_of_units(source.unit_keys(_KEYS_AT_A_TIME), most))


def rows_of_units(keys: Iterable[Keys], most: int) -> npt.NDArray[np.bool_]:
    """Return which rows are among the first `most` of their unit.

    Notes
    -----
    At most `most` rows of a unit are True. When the rows of one unit change, appear or
    disappear, rows of other units keep their value.

    Examples
    --------
    >>> from dpcov.sensitive.tables.keys import as_keys
    >>> runs = (as_keys(np.array(who), "person") for who in ([7, 8, 7], [7, 8]))
    >>> rows_of_units(runs, most=2).tolist()
    [True, True, True, False, True]
    """
    most = check_count("most", most, low=1)
    kept: dict[Hashable, int] = {}

    def keep(key: Hashable) -> bool:
        before = kept.get(key, 0)
        if before == most:
            return False
        kept[key] = before + 1
        return True

    # Sorting the keys of each run first is no faster, and four times slower for text.
    masks, kinds = [], set()
    for run in keys:
        kinds.update([run.kind] if len(run) else [])
        if len(kinds) > 1:
            raise AssertionError("unreachable: all keys of a source are of one kind")
        masks.append(np.fromiter(map(keep, run.cells.tolist()), np.bool_, len(run)))
    return np.concatenate(masks) if masks else np.zeros(0, dtype=np.bool_)


class KeptRows:
    """The rows of another source that a mask keeps, however few.

    Parameters
    ----------
    source : RowSource
        A source that knows the number of its rows, and gives them in the same order each time.
    mask : ndarray of bool, shape (n_rows,)
        Which rows to keep.

    """

    def __init__(self, source: RowSource, mask: npt.NDArray[np.bool_]) -> None:
        if len(mask) != source.n_rows:
            raise InputError(
                f"The table changed while it was read: it has {source.n_rows} rows, and "
                f"{len(mask)} of them said whose they are."
            )
        self._source, self._mask = source, mask
        self.n_rows: int | None = int(np.count_nonzero(mask))

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self._source.columns

    @property
    def fields(self) -> tuple[Field, ...]:
        """What the columns are."""
        return self._source.fields

    @property
    def left_out(self) -> tuple[str, ...]:
        """Which columns of the table nobody reads, since they are identifiers by their names."""
        return self._source.left_out

    def blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """Yield blocks of exactly `size` of the rows that are kept, but for the last."""
        return cut_blocks(self._parts(size), n_columns=len(self.columns), size=size)

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield whose rows they are."""
        return (run.kept(kept) for run, kept in self._with_mask(self._source.unit_keys(size)))

    def _parts(self, size: int) -> Iterator[Part]:
        for block, kept in self._with_mask(self._source.blocks(size)):
            yield list(block[kept].T)

    def _with_mask(self, runs: Iterable[Run]) -> Iterator[tuple[Run, npt.NDArray[np.bool_]]]:
        start = 0
        for run in runs:
            yield run, self._mask[start : start + len(run)]
            start += len(run)


class UnitSource(KeptRows):
    """The rows of a table that count, enough of them to go on.

    Examples
    --------
    >>> from dpcov.sensitive.tables import open_table
    >>> rows = UnitSource(open_table(np.arange(8.0).reshape(4, 2)), np.array([1, 0, 1, 1]) > 0)
    >>> [block[:, 0].tolist() for block in rows.blocks(2)]
    [[0.0, 4.0], [6.0]]
    """

    def __init__(self, source: RowSource, mask: npt.NDArray[np.bool_]) -> None:
        super().__init__(source, mask)
        if self.n_rows is None or self.n_rows < _FEWEST_ROWS:
            raise InputError(
                "The table has too few rows once those beyond each unit's limit are left out; at "
                f"least {_FEWEST_ROWS} needed."
            )

    def split(self, parts: Parts) -> Split | None:
        """Return the pieces of the table, each with its part of the mask."""
        whole = split_rows(self._source, parts)
        if whole is None:
            return None
        return replace(whole, pieces=tuple(map(self._keep, whole.pieces)))

    def _keep(self, piece: Piece) -> Piece:
        # A copy, since a view would take the whole mask along.
        mask = self._mask[piece.start : piece.start + piece.n_rows].copy()
        kept = replace(piece, n_rows=int(np.count_nonzero(mask)))
        return kept.through(partial(KeptRows, mask=mask))
