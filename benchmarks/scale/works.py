"""What is measured: releases of normal rows, and sums of reports with any seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import dpcov
from dpcov import local

__all__ = ["DELTA", "EPSILON", "Array", "normal_rows", "plan_of", "random_seeds", "release"]

EPSILON, DELTA = 1.0, 1e-9

Array = npt.NDArray[np.float64]


def release(table: Array | Path, norm: float | None = None) -> dpcov.Release:
    """Release a table, with a stated row norm or with everything learned."""
    return dpcov.release(table, epsilon=EPSILON, delta=DELTA, row_norm=norm)


def normal_rows(n_rows: int, n_columns: int) -> Array:
    """Return standard normal rows, always the same."""
    return np.random.default_rng(0).standard_normal((n_rows, n_columns))


def plan_of(size: int) -> local.CollectionPlan:
    """Return a plan of cap with some columns."""
    return local.CollectionPlan(columns=[f"x{i}" for i in range(size)], row_norm=1.0, epsilon=1.0)


def random_seeds(count: int) -> npt.NDArray[np.uint8]:
    """Return any seeds: a collector cannot tell them from those of devices."""
    return np.random.default_rng(0).integers(0, 256, (count, 16), dtype=np.uint8)
