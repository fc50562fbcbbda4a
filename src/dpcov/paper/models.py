"""The paper's synthetic model, as printed and with norms that are really bounded.

Owns the generators. U = (Ũ + λI)/c with λ = 50, c = 200, and Ũ symmetric with a share sr
of non-zero entries. The paper does not say how these are distributed. The usual generators
of sparse matrices make them uniform on [0, 1) or standard normal; both are offered.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count, check_number

__all__ = [
    "ENTRIES",
    "sample_rows",
    "sample_second_moment",
    "scaled_to_norm",
    "sparse_covariance",
]

ENTRIES = ("uniform", "normal")

_LAMBDA, _C = 50.0, 200.0

Array = npt.NDArray[np.float64]


def sparse_covariance(
    n_columns: int,
    sparsity_ratio: float,
    generator: np.random.Generator,
    *,
    entries: str = "uniform",
) -> Array:
    """Return the covariance U of the paper's experiments.

    Parameters
    ----------
    n_columns : int
        p, at least 2.
    sparsity_ratio : float
        sr in (0, 1]: the share of the entries of Ũ that are not zero.
    generator : numpy Generator
        Where the entries come from.
    entries : {"uniform", "normal"}
        How the non-zero entries of Ũ are distributed: on [0, 1), or standard normal.

    Examples
    --------
    >>> u = sparse_covariance(100, 0.2, np.random.default_rng(0))
    >>> bool((u == u.T).all()), round(float(np.trace(u)))
    (True, 25)
    """
    size = check_count("p", n_columns, low=2)
    ratio = check_number("sr", sparsity_ratio, low=0.0, high=1.0, open_high=False)
    normal = check_choice("entries", entries, ENTRIES) == "normal"
    chosen = generator.random((size, size)) < ratio
    values = (generator.standard_normal if normal else generator.random)((size, size))
    upper = np.triu(np.where(chosen, values, 0.0))
    return (upper + np.triu(upper, k=1).T + _LAMBDA * np.eye(size)) / _C


def scaled_to_norm(covariance: Array, row_norm: float = 1.0, quantile: float = 0.99) -> Array:
    """Scale a covariance so that Gaussian rows are rarely longer than `row_norm`.

    The squared norm of a row has mean tr U and variance 2 tr U²; the scale puts the given
    quantile of a normal with these moments at the square of `row_norm`. Longer rows are to be
    clipped.

    Parameters
    ----------
    covariance : ndarray, shape (n_columns, n_columns)
        To be scaled.
    row_norm : float, default 1
        The norm that rows should have at most.
    quantile : float, default 0.99
        Which share of the rows should be shorter.

    Examples
    --------
    >>> round(float(np.trace(scaled_to_norm(np.eye(100)))), 2)
    0.75
    """
    from scipy.special import ndtri

    spread = np.sqrt(2.0 * np.sum(covariance * covariance))
    largest = float(np.trace(covariance) + ndtri(quantile) * spread)
    return covariance * (row_norm**2 / largest)


def sample_rows(covariance: Array, n_rows: int, generator: np.random.Generator) -> Array:
    """Draw Gaussian rows with mean zero, as the paper does: their norms are not bounded.

    Parameters
    ----------
    covariance : ndarray, shape (n_columns, n_columns)
        Of the rows.
    n_rows : int
        How many.
    generator : numpy.random.Generator
        Where the draws come from.
    """
    n_rows = check_count("n", n_rows, low=1)
    return generator.standard_normal((n_rows, len(covariance))) @ _root(covariance).T


def sample_second_moment(covariance: Array, n_rows: int, generator: np.random.Generator) -> Array:
    """Draw (1/n) Σ x xᵀ of n Gaussian rows, without drawing the rows when n ≥ p.

    The sum has a Wishart law, which Bartlett's decomposition draws in p² steps: L A Aᵀ Lᵀ
    with L the Cholesky factor of the covariance and A lower triangular, standard normal
    below its diagonal, √χ²(n − i) on it.

    Parameters
    ----------
    covariance : ndarray, shape (n_columns, n_columns)
        Of the rows.
    n_rows : int
        How many rows the average has.
    generator : numpy.random.Generator
        Where the draws come from.

    Examples
    --------
    >>> moment = sample_second_moment(np.eye(3), 10**12, np.random.default_rng(0))
    >>> bool(np.allclose(moment, np.eye(3), atol=1e-4))
    True
    """
    size = len(covariance)
    if n_rows < size:
        rows = sample_rows(covariance, n_rows, generator)
        return rows.T @ rows / n_rows
    factor = np.tril(generator.standard_normal((size, size)), k=-1)
    factor[np.diag_indices(size)] = np.sqrt(generator.chisquare(n_rows - np.arange(size)))
    root = _root(covariance) @ factor
    return root @ root.T / n_rows


def _root(covariance: Array) -> Array:
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "The model is not positive definite: λ = 50 is too small for this p and sr. "
            "Choose a smaller sr or p."
        ) from None
    return np.asarray(root, dtype=np.float64)
