"""The covariance of the correlations of all pairs of some columns, written down.

Owns two ways to it. For few columns all that is known of how errors go together is used. For many,
that takes too long, and entries of the matrix are taken to have independent noise; sampling then
has the closed form of Pearson and Filon (1898) for Gaussian rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block

__all__ = ["pair_covariance", "pair_slopes", "to_entries"]

Array = npt.NDArray[np.float64]

_MOST_EXACT = 30
_LEAST = 0.02
"""No eigenvalue of correlations is taken to be smaller here: sampling needs a positive matrix."""


def pair_covariance(block: Block) -> Array:
    """Return the covariance of the correlations of all pairs, row by row above the diagonal."""
    if block.size <= _MOST_EXACT:
        return block.covariance_of(to_entries(np.eye(block.size * (block.size - 1) // 2)))
    return _of_independent_noise(block)


def pair_slopes(weights: Array) -> Array:
    """Return weights of entries, shape (·, p, p), as weights of pairs, shape (·, n_pairs)."""
    first, second = np.triu_indices(weights.shape[-1], 1)
    return np.asarray(2 * weights[:, first, second])


def to_entries(pairs: Array) -> Array:
    """Return weights of pairs as weights of entries.

    Examples
    --------
    >>> to_entries(np.array([[2.0, 0.0, 0.0]]))[0]
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    size = round((1 + np.sqrt(1 + 8 * pairs.shape[1])) / 2)
    first, second = np.triu_indices(size, 1)
    weights = np.zeros((len(pairs), size, size))
    weights[:, first, second] = pairs / 2
    weights[:, second, first] = pairs / 2
    return weights


def _of_independent_noise(block: Block) -> Array:
    """Return it with a correlation moving by e_ij − ½ ρ_ij (e_ii + e_jj), e independent."""
    noise = block.entry_noise
    first, second = np.triu_indices(block.size, 1)
    values = block.matrix[first, second]
    order = np.arange(len(first))
    scales = np.zeros((len(first), block.size))
    scales[order, first] = scales[order, second] = -values / 2
    result = (scales * noise.own) @ scales.T
    result[order, order] += noise.pairs[first, second]
    if np.isfinite(noise.rows):
        result += _of_sampling(_positive(block.matrix), first, second) / noise.rows
    return np.asarray(result)


def _positive(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    lifted = (vectors * np.maximum(values, _LEAST)) @ vectors.T
    scale = np.sqrt(lifted.diagonal())
    return np.asarray(lifted / np.outer(scale, scale))


def _of_sampling(matrix: Array, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Array:
    """Return n times the covariance of correlations of samples of Gaussian rows."""
    values = matrix[first, second]
    ik, il = matrix[np.ix_(first, first)], matrix[np.ix_(first, second)]
    jk, jl = il.T, matrix[np.ix_(second, second)]
    result = np.outer(values, values) / 2 * (ik**2 + il**2 + jk**2 + jl**2)
    result += ik * jl + il * jk
    result -= values[:, None] * (ik * il + jk * jl)
    result -= values * (ik * jk + il * jl)
    return np.asarray((result + result.T) / 2)
