"""Rows from AnnData: a matrix with named columns and notes on its rows.

Columns are ``var_names``; whose row it is stands in a column of ``obs``. An object that anndata
opened in its backed mode keeps its matrix in its file, which is read block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError
from dpcov.sensitive.tables.arrays import array_type, check_array
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame, find_unit
from dpcov.sensitive.tables.frames import FrameSource
from dpcov.sensitive.tables.keys import Keys
from dpcov.sensitive.tables.kinds import Declared, Opening, TableKind
from dpcov.sensitive.tables.refusals import read_or_refuse
from dpcov.sensitive.tables.slices import SlicedSource

__all__ = ["KIND", "AnnDataSource"]

_NAME = "The table"  # in messages


class AnnDataSource(SlicedSource):
    """An AnnData object.

    Parameters
    ----------
    table : AnnData
        In memory, or backed by a file.
    wanted : Wanted
        Names and columns; the unit is one of ``obs``.
    """

    def __init__(self, table: Any, wanted: Wanted) -> None:
        matrix = _matrix_of(table)
        choice = _choose_variables(table, wanted)
        types = [array_type(matrix)] * len(choice.labels)
        super().__init__(with_rules(choice, types, wanted), int(matrix.shape[0]), _NAME)
        self._matrix = matrix.tocsr() if _is_by_columns(matrix) else matrix
        self._unit = (
            None if wanted.privacy_unit is None else _unit_of(table.obs, wanted.privacy_unit)
        )

    def unit_keys(self, size: int) -> Iterator[Keys]:
        """Yield runs of `size` keys, from ``obs``."""
        if self._unit is None:
            raise AssertionError("unreachable: nobody asks for a unit column that was not stated")
        return self._unit.unit_keys(size)

    def _read(self, rows: slice, places: slice | list[int]) -> npt.NDArray[Any]:
        def read() -> npt.NDArray[Any]:
            block = self._matrix[rows]
            dense = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
            cells: npt.NDArray[Any] = dense[:, places]
            return cells

        return read_or_refuse(read, f"{self._name} has a matrix that cannot be read.")


def _matrix_of(table: Any) -> Any:
    """Return the matrix of an AnnData object, or say why its rows cannot be read."""
    # Asked for once: a view would make it anew each time.
    matrix = read_or_refuse(lambda: table.X, f"{_NAME} has a matrix that cannot be read.")
    if matrix is None:
        raise InputError(f"{_NAME} has no matrix: its X is None. Set X to one of its layers.")
    check_array(len(matrix.shape), matrix.dtype, _NAME)
    if _is_by_columns(matrix) and not hasattr(matrix, "tocsr"):
        raise InputError(
            f"{_NAME} is stored by columns (CSC) in its file, and each block of rows would need "
            "all of it. Write it by rows: read it, set X = X.tocsr(), and write it again."
        )
    return matrix


def _choose_variables(table: Any, wanted: Wanted) -> Choice:
    """Return which variables are read."""
    labels = _variable_labels(table)
    wanted = replace(wanted, privacy_unit=None)
    if not wanted.picks and wanted.columns is None and _are_numbered(labels):
        wanted = replace(wanted, columns=labels)
    return choose_from_frame(labels, wanted)


def _variable_labels(table: Any) -> list[str]:
    """Return what the variables are called."""
    return [str(label) for label in table.var_names]


def _are_numbered(labels: list[str]) -> bool:
    """Return whether labels are what anndata calls variables without names: nobody's row."""
    return labels == [str(place) for place in range(len(labels))]


def _unit_of(notes: Any, privacy_unit: str) -> FrameSource:
    labels = [str(label) for label in notes.columns]
    place = find_unit(labels, privacy_unit)
    return FrameSource(
        notes.iloc[:, [place]], Wanted(columns=[privacy_unit], privacy_unit=privacy_unit)
    )


def _is_by_columns(matrix: Any) -> bool:
    return getattr(matrix, "format", None) == "csc"


def _is_anndata(table: Any) -> bool:
    return type(table).__module__.startswith("anndata.") and hasattr(table, "var_names")


def _open(table: Any, opening: Opening) -> AnnDataSource:
    return AnnDataSource(table, opening.wanted)


def _declare(table: Any, wanted: Wanted) -> Declared:
    labels = _variable_labels(table)
    types = [array_type(_matrix_of(table))] * len(labels)
    return Declared(labels, types, has_own_names=not _are_numbered(labels))


KIND = TableKind(
    called="AnnData",
    open=_open,
    declare=_declare,
    recognize=_is_anndata,
)
