"""Cells of new rows, by the names that a release has for its columns.

Owns how a level of a category is looked up: as a column of its own, or as a cell of the category.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.releases import AnyRelease

__all__ = ["cells_of"]

Array = npt.NDArray[np.float64]


def cells_of(release: AnyRelease, frame: Any, name: str) -> Array:
    """Return the cells of a column as numbers; nan where they are missing or no level."""
    design = release.design
    field = design.fields[int(design.field_of[design.names.index(name)])]
    if name in frame:
        return np.atleast_1d(np.asarray(frame[name], dtype=np.float64))
    if field.name not in frame:
        raise ParameterError(f"The new rows have no column {field.name!r}.")
    cells = np.atleast_1d(np.asarray(frame[field.name], dtype=object)).astype(str)
    is_level = np.isin(cells, np.array(field.levels, dtype=str))
    here = cells == name[len(field.name) + 1 :]
    return np.where(is_level, here.astype(np.float64), np.nan)
