"""How well factors fit correlations, with what noise alone would leave taken out.

Owns the test and the indices of a factor analysis. Residuals are weighed by the covariance of all
correlations, privacy noise included, so that the test keeps its level; what noise and sampling add
to squared residuals on average is subtracted from RMSEA and SRMR.

References
----------
Browne (1984), Asymptotically distribution-free methods for the analysis of covariance structures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.answers.factor_fit import FactorFit

__all__ = ["FactorQuality", "measure_quality"]

Array = npt.NDArray[np.float64]

_RANK = 1e-9


@dataclass(frozen=True)
class FactorQuality:
    """How well factors fit.

    Parameters
    ----------
    statistic : float
        Of the test: how far residuals are from what noise and sampling give, squared.
    freedom : int
        Its degrees of freedom.
    p_value : float
        The chance of as large a statistic if the model holds; nan if it was not computed.
    rmsea, rmsea_low, rmsea_high : float
        The root mean square error of approximation, without what noise adds to it, and the ends of
        its 90 % interval, as it is usually given.
    srmr, srmr_error : float
        The standardized root mean square residual, likewise, and the standard error of its square.
    """

    statistic: float
    freedom: int
    p_value: float
    rmsea: float
    rmsea_low: float
    rmsea_high: float
    srmr: float
    srmr_error: float

    @classmethod
    def untested(cls, freedom: int) -> FactorQuality:
        """Return what is said where there is nothing to test, or too much."""
        nan = float("nan")
        return cls(nan, freedom, nan, nan, nan, nan, nan, nan)

    @property
    def is_tested(self) -> bool:
        """Whether the test was computed."""
        return bool(np.isfinite(self.p_value))


def measure_quality(fit: FactorFit, slopes: Array, covariance: Array) -> FactorQuality:
    """Return how well factors fit.

    `slopes` say how loadings move with the correlations of pairs, shape (p m, n_pairs), and
    `covariance` is that of these correlations.
    """
    from scipy.stats import chi2

    first, second = np.triu_indices(len(fit.loadings), 1)
    left = (fit.correlations - fit.implied)[first, second]
    moves = _moves(fit.loadings, first, second)
    statistic, freedom = _distance(left, moves, covariance)
    if freedom < 1:
        return FactorQuality.untested(0)
    spread = _left_over(covariance, moves, slopes)
    inverse = np.linalg.inv(fit.implied)
    weights = inverse[np.ix_(first, first)] * inverse[np.ix_(second, second)]
    weights += inverse[np.ix_(first, second)] * inverse[np.ix_(second, first)]
    misfit, misfit_error = _without_noise(left, weights @ left, weights @ spread, spread)
    squares, squares_error = _without_noise(left, left, spread, spread)
    count = len(fit.loadings) * (len(fit.loadings) + 1) / 2
    reach = 1.645 * misfit_error
    return FactorQuality(
        statistic=statistic,
        freedom=freedom,
        p_value=float(chi2.sf(statistic, freedom)),
        rmsea=_root(misfit / freedom),
        rmsea_low=_root((misfit - reach) / freedom),
        rmsea_high=_root((misfit + reach) / freedom),
        srmr=_root(squares / count),
        srmr_error=squares_error / count,
    )


def _moves(loadings: Array, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> Array:
    """Return how implied correlations of pairs move with loadings, shape (n_pairs, p m)."""
    moves = np.zeros((len(first), *loadings.shape))
    order = np.arange(len(first))
    moves[order, first] = loadings[second]
    moves[order, second] = loadings[first]
    return moves.reshape(len(first), -1)


def _distance(left: Array, moves: Array, covariance: Array) -> tuple[float, int]:
    """Return the squared length of residuals in directions that loadings cannot explain."""
    from scipy.linalg import cholesky, solve_triangular

    root = cholesky(covariance, lower=True)
    whole = solve_triangular(root, np.column_stack([moves, left]), lower=True)
    basis, sizes, _ = np.linalg.svd(whole[:, :-1], full_matrices=False)
    basis = basis[:, sizes > _RANK * sizes[0]]
    rest = whole[:, -1] - basis @ (basis.T @ whole[:, -1])
    return float(rest @ rest), len(left) - basis.shape[1]


def _left_over(covariance: Array, moves: Array, slopes: Array) -> Array:
    """Return the covariance of residuals: of errors of correlations that no loading follows."""
    followed = slopes @ covariance
    crossed = moves @ followed
    result = covariance - crossed - crossed.T + moves @ (followed @ slopes.T) @ moves.T
    return np.asarray((result + result.T) / 2)


def _without_noise(left: Array, along: Array, product: Array, spread: Array) -> tuple[float, float]:
    """Return eᵀAe without what errors add to it on average, and its standard error.

    `along` is A e, `product` A times `spread`, the covariance of e.
    """
    form = float(left @ along) - float(np.trace(product))
    second = 2 * float((product * product.T).sum())
    return form, float(np.sqrt(second + 4 * along @ spread @ along))


def _root(value: float) -> float:
    return float(np.sqrt(max(value, 0.0)))
