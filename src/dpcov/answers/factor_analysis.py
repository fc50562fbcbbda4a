"""Factor analysis of a release: the fit, its rotation, its errors and how well it fits.

Owns the order of the steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block
from dpcov.answers.factor_errors import factor_slopes
from dpcov.answers.factor_fit import METHODS, FactorFit, fit_factors
from dpcov.answers.factor_quality import FactorQuality, measure_quality
from dpcov.answers.factors import Factors
from dpcov.answers.numbers import choose_numbers
from dpcov.answers.pair_covariance import pair_covariance, pair_slopes, to_entries
from dpcov.answers.parallel import count_above, unrelated_eigenvalues
from dpcov.answers.rotation import ROTATIONS, rotate
from dpcov.answers.rotation_errors import correlation_slopes, loading_slopes
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count
from dpcov.postprocess.joint import check_about
from dpcov.releases import Release

__all__ = ["find_factors", "fit_block"]

Array = npt.NDArray[np.float64]

_MOST_TESTED = 60
"""The covariance of the correlations of all pairs is written down for so many columns at most."""
_LEAST_LIFTED = 0.02
"""Eigenvalues of correlations are lifted to so much for maximum likelihood."""


def find_factors(
    release: Release,
    n: int,
    columns: Sequence[str] | None,
    *,
    method: str,
    rotation: str | None,
    about: str,
) -> Factors:
    """Return a factor analysis of some columns: see `Release.factors`."""
    check_about(about)
    check_choice("method", method, METHODS)
    if rotation is not None:
        check_choice("rotation", rotation, ROTATIONS)
    places = choose_numbers(release, columns, least=3, what="Factors are computed")
    block = Block(release, places, about)
    count = check_count("n", n, low=1)
    if count > most_factors(block.size):
        raise ParameterError(
            f"{block.size} columns have too few correlations for {count} factors: ask for at most "
            f"{most_factors(block.size)}, or name more columns."
        )
    fit = fit_block(block, count, method)
    rotated = rotate(fit.loadings, rotation)
    slopes = factor_slopes(fit)
    turn = loading_slopes(rotated)
    plain = pair_slopes(slopes.loadings)
    parts = [turn @ plain, pair_slopes(slopes.uniquenesses), correlation_slopes(rotated) @ plain]
    if block.size <= _MOST_TESTED:
        covariance = pair_covariance(block)
        variances = [((part @ covariance) * part).sum(axis=1) for part in parts]
        quality = measure_quality(fit, plain, covariance)
    else:
        variances = [block.variance_of(to_entries(part)) for part in parts]
        quality = FactorQuality.untested(freedom_of(block.size, count))
    doubt = block.clipping_doubt * rotated.loadings**2 / 4
    of_loadings = variances[0].reshape(rotated.loadings.shape)
    # Squares of small loadings move with the squares of their errors.
    doubt_of_squares = block.clipping_doubt * (1 - fit.uniquenesses) ** 2
    doubt_of_squares += 2 * (of_loadings**2).sum(axis=1)
    structure = rotated.loadings @ rotated.correlations
    seen = np.asarray(np.linalg.eigvalsh(block.matrix)[::-1], dtype=np.float64)
    return Factors(
        block=block,
        method=method,
        rotation=rotation,
        loadings=rotated.loadings,
        loading_errors=np.sqrt(of_loadings + doubt),
        uniquenesses=fit.uniquenesses,
        uniqueness_errors=np.sqrt(variances[1] + doubt_of_squares),
        correlations=rotated.correlations,
        correlation_errors=np.sqrt(np.maximum(variances[2], 0.0)).reshape(count, count),
        heywood=fit.at_bound,
        quality=quality,
        above=count_above(seen, unrelated_eigenvalues(block)),
        weights=np.asarray(np.linalg.solve(fit.implied, structure), dtype=np.float64),
    )


def fit_block(block: Block, count: int, method: str) -> FactorFit:
    """Return the factors of a block of correlations, lifted for maximum likelihood."""
    matrix = block.matrix
    if method == "ml":
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < _LEAST_LIFTED:
            matrix = (vectors * np.maximum(values, _LEAST_LIFTED)) @ vectors.T
            scale = np.sqrt(matrix.diagonal())
            matrix = matrix / np.outer(scale, scale)
    return fit_factors(matrix, count, method)


def most_factors(size: int) -> int:
    """Return how many factors so many columns can have: no more unknowns than correlations.

    Examples
    --------
    >>> [most_factors(size) for size in (3, 4, 5, 6, 10)]
    [1, 1, 2, 3, 6]
    """
    return max(count for count in range(1, size) if freedom_of(size, count) >= 0)


def freedom_of(size: int, count: int) -> int:
    """Return the number of correlations beyond what loadings can follow."""
    return ((size - count) ** 2 - size - count) // 2
