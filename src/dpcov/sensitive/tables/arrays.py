"""Rows from arrays: numpy and nested sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_array
from dpcov.sensitive.tables.keys import refuse_missing_unit
from dpcov.sensitive.tables.kinds import Declared, TableKind
from dpcov.sensitive.tables.refusals import read_or_refuse
from dpcov.sensitive.tables.slices import SplitSource, within_floats

__all__ = [
    "KIND",
    "ArraySource",
    "array_type",
    "as_array",
    "check_array",
    "declare_array",
    "shape_of",
]


_PLAIN = (int, float, np.number, np.bool_, type(None))


class ArraySource(SplitSource):
    """An array in memory; a masked cell is missing."""

    def __init__(self, table: Any, wanted: Wanted) -> None:
        if wanted.privacy_unit is not None and not isinstance(table, np.ndarray):
            raise InputError(
                "The cells of nested sequences have no declared type, and keys of people would be "
                "rounded: pass an array or a data frame with privacy_unit=."
            )
        self._array = as_array(table)
        check_array(self._array.ndim, self._array.dtype)
        super().__init__(*shape_of(self._array, wanted))

    def _narrow(self, rows: slice) -> None:
        self._array = self._array[rows]

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        cells = self._array[rows, places]
        if isinstance(cells, np.ma.MaskedArray):
            missing = np.ma.getmaskarray(cells)
            with np.errstate(all="ignore"):  # a warning would be about a cell
                cells = within_floats(np.ma.getdata(cells)).astype(np.float64)
            cells[missing] = np.nan
        return cells

    def _read_unit(self, rows: slice, place: int, name: str) -> npt.NDArray[Any]:
        cells = self._array[rows, place]
        if np.ma.is_masked(cells):
            raise refuse_missing_unit(name)
        # As it is: a chunk of a Dask array may be masked, and the next one not.
        return np.ma.getdata(cells)


def check_array(ndim: int, dtype: np.dtype[Any], name: str = "The table") -> None:
    """Refuse an array that is no table of numbers, by its declared type."""
    if ndim != 2:
        wanted = "a 2-D numpy array, or a table" if name == "The table" else "a 2-D array"
        raise InputError(f"{name} must be {wanted}; got {ndim} dimension(s).")
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} must hold real numbers.")
    if dtype.kind not in "biuf":
        raise InputError(
            f"{name} must hold real numbers; got {dtype.type.__name__}. Convert or drop what is "
            "not a number."
        )


def as_array(table: Any) -> npt.NDArray[Any]:
    """Return an array as it is, or nested sequences as an array of floats."""
    if isinstance(table, np.ndarray):
        return table
    masked = any(isinstance(row, np.ma.MaskedArray) for row in table)
    # One type for all cells, and not one that some of them decide.
    return read_or_refuse(
        lambda: np.ma.stack(table) if masked else _as_floats(table),
        "The table must be a 2-D numpy array, or a table; these nested sequences have no common "
        "shape.",
    )


def _as_floats(table: Any) -> npt.NDArray[Any]:
    """Return nested sequences of numbers as floats; of other things, as numpy sees them."""
    found = np.asarray(table)
    plain = found.dtype.kind in "biuf" or (
        found.dtype.kind == "O" and all(isinstance(cell, _PLAIN) for cell in found.flat)
    )
    return np.asarray(table, dtype=np.float64) if plain else found


def shape_of(table: Any, wanted: Wanted) -> tuple[Choice, int]:
    """Return which columns of an array are read, and its number of rows."""
    width, n_rows = int(table.shape[1]), int(table.shape[0])
    choice = choose_from_array(width, wanted)
    return with_rules(choice, [array_type(table)] * width, wanted), n_rows


def declare_array(array: Any, name: str = "The table") -> Declared:
    """Return what an array declares: one type for all columns, and no names."""
    check_array(array.ndim, array.dtype, name)
    names = choose_from_array(int(array.shape[1]), Wanted()).names
    return Declared(names, [array_type(array)] * len(names), has_own_names=False)


def array_type(array: Any) -> CellType:
    """Return what an array of numbers declares of each of its columns."""
    dtype = array.dtype
    kind = {"f": "number", "b": "boolean"}.get(dtype.kind, "whole number")
    may_be_masked = isinstance(array, np.ma.MaskedArray)
    return CellType(kind, dtype.name, nullable=kind == "number" or may_be_masked)


KIND = TableKind(
    called="a 2-D numpy array",
    open=lambda table, opening: ArraySource(table, opening.wanted),
    declare=lambda table, wanted: declare_array(as_array(table)),
    recognize=lambda table: isinstance(table, (np.ndarray, list, tuple)),
    in_memory=True,
)
