"""Low rank: a few factors that relate all columns, told from the noise by its spectrum.

Owns the spectral shrinkage. Scaled so that the variances of every row add up to p, the noise
of a release is a symmetric matrix whose eigenvalues fill ±2√p (Wigner 1958). An eigenvalue y
beyond that edge belongs to √(y² − 4p), which is best in Frobenius norm; the rest is noise.
The diagonal belongs to the columns as well as to the factors, so it is not looked at: it is
filled with that of the factors until it stays, as in principal factor analysis.

References
----------
Gavish and Donoho (2017), Optimal shrinkage of singular values. Landa, Zhang and Kluger (2022),
Biwhitening reveals the rank of a count matrix. Zhang, Cai and Wu (2022), Heteroskedastic PCA.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.noise_model import NoiseModel

__all__ = ["LowRank", "find_low_rank", "whitening"]

_SCALING_STEPS = 40
_FILLING_STEPS = 6
# The space in which factors are sought: all of it up to this many columns, else powers of the
# matrix times a block. What it misses is near the edge, where hardly anything is left of it.
_BLOCK, _DEPTH = 16, 6
_NEAR = 0.8  # a factor may yet come out when the diagonal is filled

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LowRank:
    """A positive semi-definite matrix of few factors: their loadings, in working units."""

    loadings: Array

    @property
    def rank(self) -> int:
        """How many factors there are."""
        return int(self.loadings.shape[1])

    def block(self, rows: slice, columns: slice = slice(None)) -> Array:
        """Return some of its entries."""
        return np.asarray(self.loadings[rows] @ self.loadings[columns].T)


def find_low_rank(matrix: Array, noise: NoiseModel, *, variance: float = 1.0) -> LowRank:
    """Return the factors of a noisy matrix that stand out of its noise.

    The variances of its entries are those of `noise`, times `variance`. Its diagonal is not
    used.
    """
    size = len(matrix)
    scale = whitening(noise) * variance**0.25
    strength = noise.variances / scale**2
    hollow = matrix / scale / scale[:, None]
    np.fill_diagonal(hollow, 0.0)
    basis, filled = _start(hollow), np.zeros(size)
    for _ in range(_FILLING_STEPS):
        image = hollow @ basis + filled[:, None] * basis
        values, vectors = np.linalg.eigh(basis.T @ image)
        out = values > 2.0 * np.sqrt(size)
        if not out.any():
            return LowRank(np.zeros((size, 0)))
        loadings = _shrink(basis @ vectors[:, out], values[out], strength)
        filled = np.einsum("ik,ik->i", loadings, loadings)
        # A step of subspace iteration: the diagonal has changed, and the vectors a little.
        near = values > _NEAR * 2.0 * np.sqrt(size)
        basis = np.linalg.qr(image @ vectors[:, near])[0]
    return LowRank(loadings * scale[:, None])


def _shrink(vectors: Array, values: Array, strength: Array) -> Array:
    """Return loadings: eigenvectors times the roots of what their eigenvalues belong to.

    Their noise has sd 1/y in all columns, but a column of little variance has little to load.
    So columns share what an eigenvector has beyond its noise in proportion to their variance,
    and each loading is shrunk as much as that makes it noise (Wiener's filter). No column
    loads more than it varies.
    """
    size = len(vectors)
    signal = np.outer(strength, values**2 - size) / strength.sum()
    share = signal / (signal + 1.0) / (1.0 - size / values**2)
    loadings: Array = vectors * share * (values**2 - 4.0 * size) ** 0.25
    shared = np.einsum("ik,ik->i", loadings, loadings)
    too_much = np.sqrt(np.maximum(1.0, shared / strength))
    return np.asarray(loadings / too_much[:, None])


def whitening(noise: NoiseModel) -> Array:
    """Return scales w for which Σ_j v_ij / (w_i² w_j²) is p for every column i."""
    size = len(noise.variances)
    weight = 1.0 / np.sqrt(noise.row_sums(np.ones(size)) / size)
    for _ in range(_SCALING_STEPS):
        weight = np.sqrt(weight * size / noise.row_sums(weight))
    return np.asarray(1.0 / np.sqrt(weight))


def _start(matrix: Array) -> Array:
    """Return a basis that holds the largest eigenvectors, about."""
    size = len(matrix)
    if size <= _BLOCK * _DEPTH:
        return np.eye(size)
    # Any start will do, but it must not depend on the matrix: the risk would be biased.
    block = np.random.default_rng(0).standard_normal((size, _BLOCK))
    basis = np.linalg.qr(block)[0]
    for _ in range(_DEPTH - 1):
        block = matrix @ basis[:, -_BLOCK:]
        for _ in range(2):  # twice, or rounding errors would grow
            block -= basis @ (basis.T @ block)
        basis = np.hstack([basis, np.linalg.qr(block)[0]])
    return basis
