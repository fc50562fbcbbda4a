"""Shrinkage: a choice of rule and threshold, applied to all entries off the diagonal.

Owns the sparse matrix before it is made positive semi-definite.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.choice import Choice
from dpcov.postprocess.empirical_bayes import EmpiricalBayes
from dpcov.postprocess.noise_model import NoiseModel, row_blocks
from dpcov.postprocess.rules import apply_rule
from dpcov.postprocess.thinning import signal_edges

__all__ = ["shrink_entries"]

_TABLE = np.linspace(-12.0, 12.0, 12 * 2 * 32 + 1)

Array = npt.NDArray[np.float64]
Shrink = Callable[[Array, Array, Array], Array]


def shrink_entries(matrix: Array, noise: NoiseModel, choice: Choice) -> Array:
    """Return the shrunk matrix: exactly symmetric, with the shrunk variances on its diagonal."""
    result = np.zeros_like(matrix)
    if np.isfinite(choice.threshold) or choice.low_rank is not None:
        shrink = _shrinkage(noise, choice)
        for rows in row_blocks(len(matrix)):
            # On and above the diagonal, and mirrored: symmetry is exact.
            columns = slice(rows.start, None)
            deviation = np.sqrt(noise.block(rows, columns))
            taken = 0.0 if choice.low_rank is None else choice.low_rank.block(rows, columns)
            z = (matrix[rows, columns] - taken) / deviation
            threshold = _thresholds(choice, deviation)
            signal = noise.signal(rows, columns) / deviation
            values = np.triu(shrink(z, threshold, signal) * deviation + taken)
            result[rows, columns] += values
            result[columns, rows] += np.triu(values, k=1).T
    np.fill_diagonal(result, noise.variances)
    return result


def _thresholds(choice: Choice, deviation: Array) -> Array:
    if choice.paper_threshold is not None:
        return choice.paper_threshold / deviation
    return np.asarray(choice.threshold)


def _shrinkage(noise: NoiseModel, choice: Choice) -> Shrink:
    rule = choice.shrink
    if isinstance(rule, EmpiricalBayes):
        return _posterior_shrinkage(noise, rule)

    def shrink(z: Array, threshold: Array, signal: Array) -> Array:
        return np.copysign(apply_rule(rule, np.abs(z), threshold), z)

    return shrink


def _posterior_shrinkage(noise: NoiseModel, prior: EmpiricalBayes) -> Shrink:
    """Tabulate the posterior mean for each group of signal strength."""
    borders = signal_edges(noise)
    tables = [prior.posterior_mean(_TABLE, group) for group in range(len(borders) + 1)]

    def shrink(z: Array, threshold: Array, signal: Array) -> Array:
        size = np.abs(z)
        fitted = np.where(size > threshold, z, 0.0)
        near = np.nonzero((size > threshold) & (size < _TABLE[-1]))
        group = np.searchsorted(borders, signal[near])
        for number, table in enumerate(tables):
            here = tuple(axis[group == number] for axis in near)
            fitted[here] = np.interp(z[here], _TABLE, table)
        return fitted

    return shrink
