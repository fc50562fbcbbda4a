"""Internal consistency of items: how well a sum of answers measures one thing.

Owns the computation of Cronbach's α, McDonald's ω, α without each item, and correlations of items
with the sum of the others, from the moments of a release. All are functions of covariances, and
their errors follow from those.

References
----------
Cronbach (1951), Coefficient alpha and the internal structure of tests. McDonald (1999), Test
theory: a unified treatment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block
from dpcov.answers.factor_analysis import fit_block
from dpcov.answers.factor_errors import factor_slopes
from dpcov.answers.numbers import choose_numbers
from dpcov.answers.reliability import Items, Omega, Reliability
from dpcov.answers.share_of_sum import SharesOfSums
from dpcov.digits import quoted
from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.postprocess.joint import check_about
from dpcov.releases import Release

__all__ = ["find_reliability"]

Array = npt.NDArray[np.float64]


def find_reliability(
    release: Release,
    columns: Sequence[str],
    reverse: Sequence[str],
    *,
    about: str,
    confidence: float,
) -> Reliability:
    """Return how well a sum of items measures one thing: see `Release.reliability`."""
    check_about(about)
    check_number("confidence", confidence, low=0.0, high=1.0)
    if columns is None:
        raise ParameterError("columns must name the items: a scale is what somebody made it.")
    places = choose_numbers(
        release, columns, least=3, what="Reliability is computed", varying=False
    )
    block = Block(release, places, about)
    signs = _signs(block.columns, reverse)
    return Reliability(
        block=block,
        signs=signs,
        shares=_shares(block, signs),
        omega_fit=_omega(block, signs),
        items=_items(block, signs),
        confidence=confidence,
    )


def _signs(columns: tuple[str, ...], reverse: Sequence[str]) -> Array:
    if isinstance(reverse, str):
        raise ParameterError("reverse is a list of names: put the one name into a list.")
    for name in reverse:
        if name not in columns:
            raise ParameterError(f"{quoted(str(name))} is to be reversed, and is not an item.")
    return np.where(np.isin(np.array(columns), list(reverse)), -1.0, 1.0)


def _shares(block: Block, signs: Array) -> SharesOfSums:
    """Return variances of items and of their sum: of all items, then without each of them."""
    size = block.size
    inside = np.vstack([np.ones(size), 1 - np.eye(size)])
    weights = inside * signs
    wholes = np.einsum("ai,aj->aij", weights, weights)
    parts = np.einsum("ai,ij->aij", inside, np.eye(size))
    functions = np.stack([parts, wholes], axis=1)
    values = np.einsum("abij,ij->ab", functions, block.covariance)
    variances = np.array([block.errors.covariance(pair) for pair in functions])
    # What clipping of long rows does to covariances goes the same way in all of them.
    variances[:, 1, 1] += block.sum_doubt * (values[:, 1] - values[:, 0]) ** 2
    return SharesOfSums(inside.sum(axis=1).astype(np.int_), values[:, 0], values[:, 1], variances)


def _omega(block: Block, signs: Array) -> Omega:
    """Return McDonald's ω: the share of one factor in the variance of the sum.

    With loadings l and variances u that the factor leaves, in own units, ω = (Σ l)²/((Σ l)² + Σ u).
    """
    fit = fit_block(block, 1, "minres")
    slopes, deviations = factor_slopes(fit), block.deviations
    loadings = fit.loadings[:, 0] * deviations * signs
    if loadings.sum() < 0:
        loadings = -loadings
    own = fit.uniquenesses * deviations**2
    common, left = float(loadings.sum()) ** 2, float(own.sum())
    whole = common + left
    # dω = (u dc − c du)/(c + u)², c = (Σ l)².
    by_loading = 2 * left * np.sqrt(common) / whole**2
    by_own = -common / whole**2
    direction = np.sign(loadings.sum()) * np.sign(fit.loadings[:, 0] * loadings)
    weights = np.tensordot(by_loading * deviations * direction, slopes.loadings, axes=1)
    weights += np.tensordot(by_own * deviations**2, slopes.uniquenesses, axes=1)
    scales = by_loading * loadings + by_own * 2 * own
    variance = float(block.errors.variance(block.to_moments(weights, variances=scales)))
    common_move = common * (left + float(loadings @ loadings)) / whole**2
    variance += block.sum_doubt * common_move**2
    return Omega(
        value=common / whole,
        standard_error=float(np.sqrt(variance)),
        is_told=bool(block.varies.all()),
        is_bound=bool(fit.at_bound.any()),
    )


def _items(block: Block, signs: Array) -> Items:
    """Return what is known of each item, and how it goes with the sum of the others."""
    size = block.size
    matrix = block.covariance * np.outer(signs, signs)
    others = 1 - np.eye(size)
    with_others = (matrix * others).sum(axis=1)
    spread = np.einsum("ai,ij,aj->a", others, matrix, others)
    own = block.deviations**2
    told = block.varies & (spread > 0)
    spread = np.where(told, spread, 1.0)
    correlation = with_others / np.sqrt(own * spread)
    weights = np.einsum("ai,aj->aij", others, others)
    weights *= -(correlation / (2 * spread))[:, None, None]
    order = np.arange(size)
    weights[order, order, :] += others / np.sqrt(own * spread)[:, None]
    weights[order, order, order] -= correlation / (2 * own)
    variances = block.errors.variance(weights * np.outer(signs, signs))
    variances = variances + block.clipping_doubt * correlation**2
    return Items(
        means=block.location,
        deviations=block.published_deviations,
        rest_correlations=np.where(told, np.clip(correlation, -1.0, 1.0), np.nan),
        rest_errors=np.sqrt(variances),
    )
