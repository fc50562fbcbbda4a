"""A sparse graph of partial correlations, by the graphical lasso with a penalty from the noise.

Owns the penalty, and how the solver of scikit-learn is called with one for each pair. The release
says how noisy each correlation is, so that nothing is left to be tuned.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.answers.graph import SparseGraph
from dpcov.answers.moments import Moments, moments_that_stand_out
from dpcov.answers.partial_correlation import partial_errors
from dpcov.answers.tangents import Tangents
from dpcov.answers.terms import read_columns
from dpcov.errors import MissingExtraError
from dpcov.parameters import check_number
from dpcov.postprocess.psd import components
from dpcov.releases import AnyRelease

__all__ = ["sparse_graph"]

Array = npt.NDArray[np.float64]

_FEWEST = 3
_MOST_STEPS = 500


def sparse_graph(
    release: AnyRelease,
    columns: Sequence[str] | None = None,
    *,
    penalty: float | None = None,
    about: str = "population",
    references: Mapping[str, str] | None = None,
) -> SparseGraph:
    """Return a sparse graph of partial correlations: see `Release.graph`."""
    solve = _load_solver()
    terms = read_columns(release.design, columns, fewest=_FEWEST, references=references)
    terms, moments = moments_that_stand_out(release, terms, about, fewest=_FEWEST)
    stated = penalty is not None
    multiple = 2 * math.sqrt(math.log(len(terms.places)))
    if penalty is not None:
        multiple = check_number("penalty", penalty, low=0.0, high=100.0)
    lifted = moments.lifted.covariance
    deviations = np.sqrt(lifted.diagonal())
    scales = _scales(np.sqrt(moments.of_unrelated))
    correlations = lifted / np.outer(deviations, deviations)
    precision = _solve(solve, correlations, scales, multiple)
    precision = _pruned(precision, correlations, moments, multiple)
    penalties = multiple * np.outer(scales, scales)
    np.fill_diagonal(penalties, 0.0)
    return SparseGraph(
        release=release,
        terms=terms,
        about=about,
        precision=precision,
        penalty=multiple,
        penalties=penalties,
        is_stated=stated,
    )


def _pruned(precision: Array, correlations: Array, moments: Moments, multiple: float) -> Array:
    """Return a precision without edges that shrinking of others alone may have made.

    A penalty shrinks strong edges, and what they no longer explain of common neighbors looks like
    an edge. 2Θ − ΘSΘ is free of that to first order (Janková and van de Geer 2015): an edge stays
    if the partial correlation in it exceeds as many of its own standard errors.
    """
    freed = 2 * precision - precision @ correlations @ precision
    first, second = np.nonzero(np.triu(precision, k=1))
    if not len(first):
        return precision
    errors = partial_errors(moments, Tangents(precision), first, second)
    scale = np.sqrt(precision.diagonal())
    values = freed[first, second] / (scale[first] * scale[second])
    small = np.abs(values) < multiple * np.sqrt(errors.variance(np.zeros(len(first))))
    result = precision.copy()
    result[first[small], second[small]] = result[second[small], first[small]] = 0.0
    least = float(np.linalg.eigvalsh(result)[0])
    before = float(np.linalg.eigvalsh(precision)[0])
    if least < before / 2:
        result[np.diag_indices_from(result)] += before / 2 - least
    return result


def _load_solver() -> Callable[..., Any]:
    try:
        from sklearn.covariance import graphical_lasso
    except ModuleNotFoundError:
        raise MissingExtraError(
            "A sparse graph needs scikit-learn: pip install 'dpcov[sklearn]'"
        ) from None
    solver: Callable[..., Any] = graphical_lasso
    return solver


def _scales(errors: Array) -> Array:
    """Return s with s_i s_j as near as can be to the error of each correlation, as a factor.

    A penalty that is such a product is one number after the columns are divided by s, which is
    what a solver takes.
    """
    size = len(errors)
    off = ~np.eye(size, dtype=np.bool_)
    logarithms = np.log(errors, out=np.zeros_like(errors), where=off)
    rows = logarithms.sum(axis=1)
    # The rows of a_i + a_j off the diagonal add up to (p − 2) a_i + Σa.
    total = rows.sum() / (2 * size - 2)
    return np.asarray(np.exp((rows - total) / (size - 2)))


def _solve(solve: Callable[..., Any], correlations: Array, scales: Array, multiple: float) -> Array:
    """Return the precision, one connected part of the columns at a time.

    Parts between which no correlation exceeds its penalty are unrelated in the solution (Witten,
    Friedman and Simon 2011).
    """
    unit = scales / np.exp(np.log(scales).mean())
    alpha = multiple * float(np.exp(2 * np.log(scales).mean()))
    scaled = correlations / np.outer(unit, unit)
    beyond = np.where(np.abs(scaled) > alpha, scaled, 0.0)
    np.fill_diagonal(beyond, scaled.diagonal())
    result = np.diag(1 / scaled.diagonal())
    for members in components(beyond):
        place = np.ix_(members, members)
        with warnings.catch_warnings():
            # What is not quite solved after so many steps is near enough to noise.
            warnings.simplefilter("ignore")
            _, result[place] = solve(scaled[place], alpha=alpha, max_iter=_MOST_STEPS)
    result = result / np.outer(unit, unit)
    return np.asarray((result + result.T) / 2)
