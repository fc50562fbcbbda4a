"""Sums of reports, in integers: exact, hence the same in any order.

Owns the arithmetic of the collector: payloads → sums → averages in the units of the plan.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from dpcov.errors import InexactArithmeticError
from dpcov.local.expansion import (
    FRACTION_BITS,
    MAX_INTEGER,
    SQUARED_SUM,
    TABLE_SIZE,
    expand_integers,
)
from dpcov.local.integers import unpack
from dpcov.local.plan import Plan

__all__ = ["add_payloads", "largest_entry", "to_average"]

_BLOCK_ENTRIES, _MAX_BLOCK_ENTRIES = 1 << 19, 1 << 24

Integers = npt.NDArray[np.int64]


def add_payloads(sums: Integers, payloads: npt.NDArray[np.uint8], plan: Plan) -> None:
    """Add what reports say to `sums`, in place.

    Parameters
    ----------
    sums : ndarray of int64, shape (n_columns, n_columns)
        The sums so far.
    payloads : ndarray of uint8, shape (n_reports, plan.payload_bytes)
        Of reports that were found to be well formed.
    plan : Plan
        The plan of the reports.
    """
    size = plan.n_columns
    if plan.mechanism == "cap":
        # Many reports for each product of p² entries, so that adding it costs little.
        entries = min(_MAX_BLOCK_ENTRIES, max(_BLOCK_ENTRIES, 2 * size**2))
    else:
        entries = _BLOCK_ENTRIES // size
    at_a_time = max(1, entries // size)
    for start in range(0, len(payloads), at_a_time):
        block = payloads[start : start + at_a_time]
        sums += _cap_sums(block, size) if plan.mechanism == "cap" else _gaussian_sums(block, plan)


def largest_entry(plan: Plan) -> int:
    """Return by how much one report can move an entry of the sums."""
    return MAX_INTEGER**2 if plan.mechanism == "cap" else plan.noise.largest


def _cap_sums(seeds: npt.NDArray[np.uint8], size: int) -> Integers:
    """Return Σ a aᵀ. A block has m rows, m p ≤ 2^24: every partial sum is exact."""
    whole = expand_integers(seeds, size)
    product = whole.T @ whole
    result = product.astype(np.int64)
    # Freivalds' check, modulo 2^64 and without BLAS: a wrong product passes with a probability
    # of at most 2^(t−64), 2^t being the largest power of two that divides all errors.
    probe = np.frombuffer(os.urandom(8 * size), dtype=np.int64)
    integers = whole.astype(np.int64)
    expected = np.einsum("i,ij->j", np.einsum("ij,j->i", integers, probe), integers)
    if not np.array_equal(np.einsum("ij,j->i", result, probe), expected):
        raise InexactArithmeticError(
            "This machine's matrix product is not exact on integers below 2^53. Install numpy "
            "with another BLAS."
        )
    return result


def _gaussian_sums(payloads: npt.NDArray[np.uint8], plan: Plan) -> Integers:
    """Return the sum of the triangles, mirrored."""
    size = plan.n_columns
    triangle = unpack(payloads, plan.noise).sum(axis=0)
    sums = np.zeros((size, size), dtype=np.int64)
    above, beside = np.triu_indices(size)
    sums[above, beside] = triangle
    sums[beside, above] = triangle
    return sums


def to_average(sums: Integers, plan: Plan, n_reports: int) -> npt.NDArray[np.float64]:
    """Convert to float, once, and to the units of the plan."""
    average = sums.astype(np.float64) / n_reports
    if plan.mechanism == "gaussian":
        return average * (plan.row_norm / (1 << plan.bits)) ** 2
    average *= 4.0**-FRACTION_BITS
    # The integers have the exact mean square below; it is 1 but for a millionth.
    average[np.diag_indices(len(average))] -= SQUARED_SUM / TABLE_SIZE * 4.0**-FRACTION_BITS
    return average * (plan.row_norm**2 / plan.cap.gain)
