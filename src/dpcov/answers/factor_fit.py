"""Factor analysis of a matrix of correlations: the fit itself.

Owns maximum likelihood and minimum residual. Both are searches for the uniquenesses; given these,
loadings are eigenvectors. Noise may have made the matrix indefinite, which minimum residual does
not mind; for maximum likelihood, eigenvalues that are too small are lifted first.

References
----------
Jöreskog (1967), Some contributions to maximum likelihood factor analysis. Harman and Jones (1966),
Factor analysis by minimizing residuals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LEAST_UNIQUENESS", "METHODS", "FactorFit", "fit_factors"]

METHODS = ("minres", "ml")
LEAST_UNIQUENESS = 0.005
"""No uniqueness is taken to be smaller; one that would be is a Heywood case."""
_STARTS = (0.5, 0.8)
_STEPS = 1000

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FactorFit:
    """Loadings before rotation and uniquenesses that fit correlations.

    Parameters
    ----------
    correlations : ndarray, shape (n_columns, n_columns)
        What was fitted.
    loadings : ndarray, shape (n_columns, n_factors)
        In the order of what factors explain, their large loadings positive.
    uniquenesses : ndarray, shape (n_columns,)
        What factors leave of the variance of each column.
    method : {"minres", "ml"}
        How they were fitted.
    """

    correlations: Array
    loadings: Array
    uniquenesses: Array
    method: str

    @property
    def implied(self) -> Array:
        """The correlations that the factors imply."""
        return np.asarray(self.loadings @ self.loadings.T + np.diag(self.uniquenesses))

    @property
    def at_bound(self) -> npt.NDArray[np.bool_]:
        """Which columns are Heywood cases."""
        return np.asarray(self.uniquenesses <= LEAST_UNIQUENESS * (1 + 1e-6))


def fit_factors(correlations: Array, count: int, method: str) -> FactorFit:
    """Return the fit of so many factors.

    Examples
    --------
    >>> loadings = np.array([0.8, 0.7, 0.6, 0.5])
    >>> matrix = np.outer(loadings, loadings) + np.diag(1 - loadings**2)
    >>> fit_factors(matrix, 1, "ml").loadings.ravel().round(4)
    array([0.8, 0.7, 0.6, 0.5])
    """
    from scipy.optimize import minimize

    search = _likelihood if method == "ml" else _residual
    size = len(correlations)
    bounds = [(LEAST_UNIQUENESS, 1.0)] * size
    found = [
        minimize(
            search(correlations, count),
            np.clip(_first_guess(correlations, share), LEAST_UNIQUENESS, 1.0),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": _STEPS, "maxfun": 2 * _STEPS, "ftol": 1e-15, "gtol": 1e-9},
        )
        for share in _STARTS
    ]
    best = min(found, key=lambda each: each.fun)
    uniquenesses = np.asarray(best.x)
    loadings = _loadings(correlations, uniquenesses, count, method)
    loadings = loadings * np.where((loadings**3).sum(axis=0) < 0, -1.0, 1.0)
    return FactorFit(correlations, loadings, uniquenesses, method)


def _first_guess(correlations: Array, share: float) -> Array:
    """Return a share of what each column has beyond the others, about."""
    values, vectors = np.linalg.eigh(correlations)
    lifted = np.maximum(values, 0.1)
    return np.asarray(share / ((vectors**2) @ (1 / lifted)))


def _scaled(correlations: Array, uniquenesses: Array, method: str) -> tuple[Array, Array]:
    """Return the matrix whose first eigenvectors are the loadings, and the scale of its rows."""
    if method == "minres":
        return correlations - np.diag(uniquenesses), np.ones(len(uniquenesses))
    scale = np.sqrt(uniquenesses)
    return correlations / np.outer(scale, scale) - np.eye(len(scale)), scale


def _loadings(correlations: Array, uniquenesses: Array, count: int, method: str) -> Array:
    matrix, scale = _scaled(correlations, uniquenesses, method)
    values, vectors = np.linalg.eigh(matrix)
    first = np.sqrt(np.maximum(values[::-1][:count], 0.0))
    return np.asarray(scale[:, None] * vectors[:, ::-1][:, :count] * first)


Search = Callable[[Array], tuple[float, Array]]


def _residual(correlations: Array, count: int) -> Search:
    """Half the squares of what is left, diagonal included, and its slope (Harman and Jones)."""

    def search(uniquenesses: Array) -> tuple[float, Array]:
        values, vectors = np.linalg.eigh(_scaled(correlations, uniquenesses, "minres")[0])
        values[-count:] = np.minimum(values[-count:], 0.0)  # negative ones are left as well
        return 0.5 * float(values @ values), -(vectors**2) @ values

    return search


def _likelihood(correlations: Array, count: int) -> Search:
    """Jöreskog's function of the uniquenesses, and its slope."""

    def search(uniquenesses: Array) -> tuple[float, Array]:
        matrix, _ = _scaled(correlations, uniquenesses, "ml")
        values, vectors = np.linalg.eigh(matrix)
        kept = np.maximum(values, 0.0)
        kept[:-count] = 0.0
        rest = values - kept
        # What is left of the matrix in these units, and log det + trace of it.
        slope = -((vectors**2) @ rest) / uniquenesses
        return float((rest - np.log1p(np.maximum(rest, -1 + 1e-12))).sum()), slope

    return search
