"""Sums of reports, in integers: exact, hence the same in any order.

Owns the arithmetic of the collector: payloads → sums → averages in the units of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dpcov.exact.products import CheckedProducts
from dpcov.exact.triangle import Triangle
from dpcov.local.expansion import (
    FRACTION_BITS,
    MAX_INTEGER,
    SQUARED_SUM,
    TABLE_SIZE,
    expand_integers,
)
from dpcov.local.integers import triangle_size, unpack
from dpcov.local.plan import CollectionPlan
from dpcov.releases import CAP_CONSTANT, NoiseScale

__all__ = ["add_up", "largest_entry", "seeds_at_a_time", "take_out_mean", "to_average"]

_BLOCK_ENTRIES, _MAX_BLOCK_ENTRIES = 1 << 19, 1 << 24
_PART_ENTRIES = 1 << 17  # 1 MB of words: fit for the cache, worth the calls

Integers = npt.NDArray[np.int64]


def add_up(payloads: npt.NDArray[np.uint8], plan: CollectionPlan) -> Integers:
    """Return the sum of what reports say, a symmetric matrix."""
    if plan.mechanism == "cap":
        return _add_up_cap(payloads, plan.n_cells)
    return _add_up_gaussian(payloads, plan)


def largest_entry(plan: CollectionPlan) -> int:
    """Return by how much one report can move an entry of the sums."""
    return MAX_INTEGER**2 if plan.mechanism == "cap" else plan.noise.largest


def seeds_at_a_time(size: int) -> int:
    """Return how many vectors make one product: m p ≤ 2^24, so that all partial sums are exact.

    Many for each product of p² entries, so that checking and adding it costs little.
    """
    entries = min(_MAX_BLOCK_ENTRIES, max(_BLOCK_ENTRIES, 4 * size**2))
    return max(1, entries // size)


def _add_up_cap(seeds: npt.NDArray[np.uint8], size: int) -> Integers:
    """Return Σ a aᵀ over the vectors that seeds stand for.

    What BLAS multiplies is as long as exact products may be. What is written on the way
    there and read again at once, words and integers, is short and stays in the cache.
    """
    triangle = Triangle.zeros(size, np.int64)
    at_a_time = seeds_at_a_time(size)
    products = CheckedProducts(triangle, np.float64)
    step = max(1, _PART_ENTRIES // size)
    room = np.empty((min(at_a_time, len(seeds)), size))
    for block in _blocks(seeds, at_a_time):
        whole = room[: len(block)]
        for start in range(0, len(block), step):
            whole[start : start + step] = expand_integers(block[start : start + step], size)
        products.add(whole)
    return triangle.full().astype(np.int64, copy=False)


def _add_up_gaussian(payloads: npt.NDArray[np.uint8], plan: CollectionPlan) -> Integers:
    """Return the sum of the triangles, mirrored."""
    size = plan.n_cells
    total = np.zeros(triangle_size(size), dtype=np.int64)
    for block in _blocks(payloads, _BLOCK_ENTRIES // size**2):
        total += unpack(block, plan.noise).sum(axis=0)
    sums = np.empty((size, size), dtype=np.int64)
    above, beside = np.triu_indices(size)
    sums[above, beside] = sums[beside, above] = total
    return sums


def _blocks(payloads: npt.NDArray[np.uint8], at_a_time: int) -> Iterator[npt.NDArray[np.uint8]]:
    step = max(1, at_a_time)
    for start in range(0, len(payloads), step):
        yield payloads[start : start + step]


def to_average(sums: Integers, plan: CollectionPlan, n_reports: int) -> npt.NDArray[np.float64]:
    """Convert to float, once, and to the units of the plan."""
    average = sums.astype(np.float64) / n_reports
    if plan.mechanism == "gaussian":
        return average * (plan.row_norm / (1 << plan.bits)) ** 2
    average *= 4.0**-FRACTION_BITS
    # The integers have the exact mean square below; it is 1 but for a millionth.
    average[np.diag_indices(len(average))] -= SQUARED_SUM / TABLE_SIZE * 4.0**-FRACTION_BITS
    length = plan.row_norm**2 * (1 + CAP_CONSTANT**2 if plan.mean else 1.0)
    return average * (length / plan.cap.gain)


def take_out_mean(
    average: npt.NDArray[np.float64], plan: CollectionPlan, noise: NoiseScale
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return moments about the noisy mean, and that mean, of reports with a constant cell.

    The square of a noisy mean is too large by its noise variance, on the diagonal alone.
    """
    mean = average[:-1, -1] / (CAP_CONSTANT * plan.row_norm)
    moments = average[:-1, :-1] - np.outer(mean, mean)
    moments[np.diag_indices(len(mean))] += noise.mean**2
    return moments, mean
