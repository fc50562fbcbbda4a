"""What eigenvalues unrelated columns would have: parallel analysis that knows the noise.

Owns the comparison behind the number of components (Horn 1965). Columns of the same variances
without any relation are given the same privacy noise and the same errors of sampling; a component
counts if it and all before it are larger than those of unrelated columns mostly are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block

__all__ = ["count_above", "unrelated_eigenvalues"]

Array = npt.NDArray[np.float64]

_DRAWS = 50
_MOSTLY = 1.645
"""So many sd above the mean: in 19 of 20 cases unrelated columns stay below."""


def unrelated_eigenvalues(block: Block) -> Array:
    """Return what the eigenvalues of unrelated columns mostly stay below, the largest first."""
    noise, size = block.entry_noise, block.size
    variances = (block.deviations / block.unit) ** 2
    pairs = np.sqrt(noise.pairs + np.outer(variances, variances) / noise.rows)
    own = np.zeros(size)
    if not block.standardized:
        own = np.sqrt(noise.own + 2 * variances**2 / noise.rows)
    # The same draws every time: this is no part of a promise, and the count should not flicker.
    rng = np.random.default_rng(0)
    found = np.empty((_DRAWS, size))
    for draw in range(_DRAWS):
        upper = np.triu(rng.standard_normal((size, size)) * pairs, 1)
        matrix = upper + upper.T + np.diag(variances + own * rng.standard_normal(size))
        found[draw] = np.linalg.eigvalsh(matrix)[::-1]
    # Those of samples are longer on the right, by p/n (Marchenko and Pastur 1967).
    longer = float(variances.mean()) * size / noise.rows
    return np.asarray(found.mean(axis=0) + _MOSTLY * found.std(axis=0) + longer)


def count_above(seen: Array, unrelated: Array) -> int:
    """Return how many eigenvalues are above those of unrelated columns, from the first on."""
    below = np.flatnonzero(seen <= unrelated)
    return int(below[0]) if len(below) else len(seen)
