"""The errors of a released matrix times a vector, without writing down those of its entries.

Owns their covariance Ω, in working units. Slopes of a regression move by P dS w, so that all of
their errors follow from Ω = Cov(dS w); it takes a few products of matrices, where the general way
of `ErrorSources.features` needs one matrix for each row. The last row and column are those of the
mean of w itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpcov.answers.error_sources import UNSEEN, ErrorSources
from dpcov.answers.working_noise import WorkingNoise

__all__ = ["product_covariance"]

Array = npt.NDArray[np.float64]


def product_covariance(sources: ErrorSources, weights: Array) -> Array:
    """Return the covariance of the errors of S w and of the mean m · w, which comes last."""
    total = _privacy(sources, weights) + _clipping(sources, weights)
    if sources.sampled:
        total += _sampling(sources, weights)
    return total


def _privacy(sources: ErrorSources, weights: Array) -> Array:
    noise, size = sources.release.noise_scale, len(weights)
    if sources.way_back is not None:
        total = _counted(sources.way_back, weights, noise.off_diagonal**2, noise.mean**2)
        unseen = np.where(sources.way_back.pairwise.seen, 0.0, UNSEEN**2) * sources.unit**2
        return total + _with_mean(_of_entries(unseen, weights, diagonal=2 * unseen.diagonal()))
    square, identity = float(weights @ weights), np.eye(size)
    total = _with_mean(sources.product_noise * (square * identity + np.outer(weights, weights)))
    # Of the mean, which is taken out of the entries.
    mean, factor = sources.mean, sources.release.factor
    slope = -factor * (np.outer(mean, weights) + float(mean @ weights) * identity)
    slope = np.vstack([slope, weights])
    total += noise.mean**2 * slope @ slope.T
    if noise.signal:
        covariance = sources.covariance + np.outer(mean, mean)  # about the center
        along = covariance @ weights
        growing = square * covariance + float(weights @ along) * identity
        growing += np.outer(weights, along) + np.outer(along, weights)
        total += noise.signal * _with_mean(growing)
    return total


def _counted(way: WorkingNoise, weights: Array, product: float, single: float) -> Array:
    """Return the noise of products and of means, where gaps are counted.

    Notes
    -----
    An entry moves by (dS_ij − a_ij dA_ji − a_ji dA_ij + κ_ij dN_ij) / N_ij: see `WorkingNoise`.
    With D_ij = w_j / N_ij, products of values are P G P with P the projection that takes sums of
    levels out, those with indicators P G, and those of two indicators G; all are independent,
    and Cov((PGP)_ij, (PGP)_lm) = τ² (P_il P_jm + P_im P_jl).
    """
    share = way.product_weights(weights)
    projection, gaps = way.projection, way.gap_matrix @ way.gap_matrix.T
    apart = ~way.same
    values = _pairs_of(share, projection, projection)
    there = np.where(apart, share * way.pairwise.mean_with, 0.0)
    beside = np.where(apart, share * way.pairwise.mean_with.T, 0.0)
    counts = np.where(apart, share * way.count_weights, 0.0)
    crossed = gaps * (there @ projection @ there.T) + projection * (beside @ gaps @ beside.T)
    both = (there @ projection) * (beside @ gaps).T
    of_counts = _pairs_of(counts, gaps, gaps)
    means = way.mean_slopes(weights)
    return np.asarray(
        product * _with_mean(values + crossed + both + both.T + of_counts)
        + single * means @ means.T
    )


def _pairs_of(weights: Array, first: Array, second: Array) -> Array:
    """Return the covariance of Σ_j D_ij X_ij where X has the covariance τ² (F_il S_jm + …)."""
    crossed = weights @ second
    return np.asarray(first * (weights @ second @ weights.T) + crossed * crossed.T)


def _clipping(sources: ErrorSources, weights: Array) -> Array:
    clipping, size = sources.clipping, len(weights)
    total = np.zeros((size + 1, size + 1))
    if clipping.variance:
        own = (clipping.variance - clipping.factor) * sources.unit.diagonal() ** 2
        total += _with_mean(
            _of_entries(clipping.covariance * sources.unit**2, weights, diagonal=own)
        )
        total[-1, -1] += clipping.covariance * float(weights**2 @ sources.deviations**2)
    along = sources.block @ weights
    total[:-1, :-1] += clipping.factor * np.outer(along, along)
    tails = np.broadcast_to(clipping.tails, sources.noise.variances.shape)[sources.places]
    if tails.any():
        # A column whose deviation is off by δ moves its row and its column of S by δ each.
        moved = (np.diag(along) + sources.block * weights) / 2
        total[:-1, :-1] += (moved * tails) @ moved.T
    return total


def _sampling(sources: ErrorSources, weights: Array) -> Array:
    """Return what the choice of rows does, for Gaussian rows: see `SharedRows.features`.

    What an entry has beside others for being about value c is Σ_j w_j S_cj, and the same of c by
    itself counted once.
    """
    rows, covariance = sources.rows, sources.covariance
    variances, along = covariance.diagonal(), covariance @ weights
    square, own = float(weights @ along), rows.own
    total = rows.common * (square * covariance + np.outer(along, along))
    if own.any():
        # Σ w without the column itself: its products with all columns, and with itself.
        others = along[:, None] - weights * covariance
        left = square - 2 * weights * along + weights**2 * variances
        crossed = (own * variances * weights)[:, None] * others.T
        total += crossed + crossed.T + float(own @ (variances * weights**2)) * covariance
        hidden = others.diagonal()
        crossed = (own * hidden * weights)[:, None] * covariance
        total += crossed + crossed.T + (covariance * (own * weights**2)) @ covariance
        total += np.diag(own * (variances * left + hidden**2))
    total /= rows.n_rows
    alone = rows.both * (np.outer(variances, variances) + covariance**2) / rows.n_rows
    total += _of_entries(alone, weights, diagonal=np.zeros(len(weights)))
    result = _with_mean(total)
    spread = rows.common * square + float(own @ (variances * weights**2))
    result[-1, -1] = spread / rows.n_rows
    return result


def _of_entries(variances: Array, weights: Array, *, diagonal: Array) -> Array:
    """Return the errors of S w where the entries of S are independent, with these variances."""
    apart = variances.copy()
    np.fill_diagonal(apart, 0.0)
    result = apart * np.outer(weights, weights)
    np.fill_diagonal(result, apart @ weights**2 + diagonal * weights**2)
    return result


def _with_mean(block: Array) -> Array:
    """Return a block with room for the mean, which the errors of products leave alone."""
    return np.pad(block, (0, 1))
