"""Synthetic rows, with the covariance and the location of an estimate.

Owns what a synthetic table looks like, and how its rows are drawn where all columns are numbers.
They cost no privacy: nothing but the estimate is in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.extras import load_pandas
from dpcov.postprocess.mixed_rows import draw_mixed
from dpcov.postprocess.psd import components

if TYPE_CHECKING:
    import pandas as pd

    from dpcov.columns.design import Design

__all__ = ["draw_rows", "draw_table"]

Array = npt.NDArray[np.float64]
Limits = tuple[Array, Array]


def draw_table(
    covariance: Array,
    location: Array,
    design: Design,
    *,
    limits: Limits | None,
    n_rows: int,
    seed: int | None,
) -> pd.DataFrame:
    """Return a table of the columns that a design was made of, within limits and levels."""
    pandas = load_pandas()
    if not design.groups:
        rows = draw_rows(covariance, n_rows, seed) + location
        if limits is not None:
            np.clip(rows, *limits, out=rows)
        plain: pd.DataFrame = pandas.DataFrame(rows, columns=list(design.names))
        return plain
    rng = np.random.default_rng(seed)
    rows, codes = draw_mixed(covariance, location, design.groups, rng, n_rows)
    if limits is not None:
        np.clip(rows, *(limit[design.is_number] for limit in limits), out=rows)
    mixed: pd.DataFrame = pandas.DataFrame(_columns(design, rows, codes, pandas.Categorical))
    return mixed


def _columns(design: Design, rows: Array, codes: list[Any], make: Any) -> Mapping[str, Any]:
    """Return numbers and categories by their names, in the order of the table."""
    numbers, levels = iter(rows.T), iter(codes)
    return {
        field.name: next(numbers)
        if field.levels is None
        else make.from_codes(next(levels), categories=list(field.levels))
        for field in design.fields
    }


def draw_rows(covariance: Array, n_rows: int, seed: int | None) -> Array:
    """Return rows about zero, component by component."""
    from scipy.linalg import eigh

    rows = np.random.default_rng(seed).standard_normal((n_rows, len(covariance)))
    alone = np.ones(len(covariance), dtype=bool)
    for members in components(covariance):
        alone[members] = False
        values, vectors = eigh(covariance[np.ix_(members, members)])
        # The symmetric root: it does not depend on the signs of the eigenvectors.
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        rows[:, members] = rows[:, members] @ root
    rows[:, alone] *= np.sqrt(np.diag(covariance))[alone]
    return rows
