"""PairsRelease → PairsEstimate: correlations of the pairs that stand out.

Owns the way from noisy sign co-movements to a sparse covariance. Everything here is
post-processing of a release and costs no privacy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import NothingDetectableWarning
from dpcov.multiplicity import count_pairs, q_values
from dpcov.parameters import check_choice, check_number
from dpcov.postprocess.correlations import Released, is_told
from dpcov.postprocess.eigenvalues import eigenvalues_by_component
from dpcov.postprocess.face import Chosen, CovarianceEstimate
from dpcov.postprocess.inference import Listed, interval_width
from dpcov.postprocess.pairs_deviations import own_deviations, relative_deviation_errors
from dpcov.postprocess.pairs_matrix import correlation_matrix
from dpcov.postprocess.psd import METHODS
from dpcov.postprocess.sign_correlations import (
    SignCorrelations,
    detectable_correlation,
    sign_correlations,
)
from dpcov.releases.pairs import PairsRelease

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PairsEstimate", "estimate_pairs"]


Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairsEstimate(CovarianceEstimate):
    """A sparse covariance of the pairs that stand out.

    Made by `PairsRelease.estimate`.

    Parameters
    ----------
    release : PairsRelease
        Where it came from.
    covariance_sparse : scipy.sparse.csr_array, shape (n_columns, n_columns)
        Positive semi-definite (unless ``psd="none"``). Correlations, with ones on the
        diagonal, when the release has no variances.
    kept : ndarray of bool, shape (k,)
        Which released pairs stand out.
    fdr : float
        At which false discovery rate.
    psd : str
        How it was made positive semi-definite.

    Notes
    -----
    The mean co-movement m of the signs of two columns gives their correlation as
    r = sin(π m / 2), exactly so for elliptical laws such as the Gaussian and Student's t
    (Greiner 1909; Lindskog, McNeil and Schmock 2003), whatever the scales are. For other
    laws r is a rank-like measure of association. About learned centers m is the correlation of
    the signs: their noisy means are taken out. Columns that are seen to have few values count as
    their signs: r = m for two of them, √(2/π) sin(π m / 2) for one.
    """

    release: PairsRelease
    covariance_sparse: csr_array
    kept: npt.NDArray[np.bool_]
    fdr: float

    @property
    def chosen(self) -> Chosen:
        """Pairs are kept or not, at a false discovery rate that the caller states."""
        return Chosen(
            rule="keep",
            threshold=self.fdr,
            threshold_is="false discovery rate",
            paper_threshold=None,
            by="stated",
            in_words=f"fdr={self.fdr:g}",
        )

    @property
    def asked(self) -> dict[str, Any]:
        """The options of ``release.estimate`` that make it again."""
        return {"fdr": self.fdr}

    @property
    def risk_curve(self) -> None:
        """Nothing competed: there is none."""
        return

    @property
    def pairs_kept(self) -> int:
        """How many pairs the estimate does not set to zero. Which are related, `edges` says."""
        return int(self.kept.sum())

    @cached_property
    def deviations(self) -> Array:
        """The standard deviations of the columns, in their own units; ones for correlations."""
        return np.asarray(np.sqrt(self.covariance_sparse.diagonal()))

    @property
    def released_deviations(self) -> Array:
        """Those that were released or stated; ones for correlations."""
        return own_deviations(self.release)

    @cached_property
    def kept_correlations(self) -> csr_array:
        """The correlations of the estimate off the diagonal, without its zeros."""
        from scipy.sparse import coo_array

        # Never dense: that may not fit into memory.
        entries = self.covariance_sparse.tocoo()
        apart = entries.row != entries.col
        rows, columns = entries.row[apart], entries.col[apart]
        values = entries.data[apart] / (self.deviations[rows] * self.deviations[columns])
        np.clip(values, -1.0, 1.0, out=values)
        return coo_array((values, (rows, columns)), shape=entries.shape).tocsr()

    @cached_property
    def eigenvalues(self) -> Array:
        """The eigenvalues of the correlations, the largest first. Read-only.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(4000, 9))
        >>> release = dpcov.release_pairs(rows, epsilon=1, delta=1e-6, max_pairs=1)
        >>> len(release.estimate().eigenvalues)
        9
        """

        # The units of the release are those of its variances: they do not matter here.
        def part(members: Places) -> Array:
            related: Array = self.kept_correlations[members][:, members].toarray()
            return related + np.eye(len(members))

        return eigenvalues_by_component(self.kept_correlations, np.ones(len(self.columns)), part)

    @property
    def released_eigenvalues(self) -> None:
        """A release of pairs has no matrix."""
        return

    def eigenvalue_interval(self, confidence: float = 0.95) -> None:
        """Return nothing: a release of pairs has no matrix.

        Parameters
        ----------
        confidence : float, default 0.95
            Not used.
        """
        return

    @property
    def noise_floor(self) -> None:
        """A release of pairs has no matrix."""
        return

    def entries(self) -> tuple[Places, Places, Array]:
        """Return the entries on and above the diagonal that are not zero: places and values."""
        found = self.covariance_sparse.tocoo()
        upper = found.row <= found.col
        return found.row[upper], found.col[upper], found.data[upper]

    def entries_at(self, first: Places, second: Places) -> Array:
        """Return the covariances of some pairs."""
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return np.array([self.covariance_sparse[place] for place in pairs], dtype=np.float64)

    def _dense(self) -> Array:
        return self.covariance

    @cached_property
    def covariance(self) -> Array:
        """The covariance as a dense array: p² numbers. Read-only."""
        dense: Array = self.covariance_sparse.toarray()
        dense.setflags(write=False)
        return dense

    @cached_property
    def support(self) -> npt.NDArray[np.bool_]:
        """Which entries are kept, as a dense array. The diagonal always is. Read-only."""
        size = len(self.columns)
        result = np.eye(size, dtype=bool)
        first, second = self.release.pairs[self.kept].T
        result[first, second] = result[second, first] = True
        result.setflags(write=False)
        return result

    @cached_property
    def _signs(self) -> SignCorrelations:
        return sign_correlations(self.release)

    @cached_property
    def pair_correlation(self) -> Array:
        """The correlation of each released pair, before any selection or repair."""
        return self._signs.correlations(self._signs.values)

    @cached_property
    def pair_standard_error(self) -> Array:
        """The standard error of each of these: privacy noise plus sampling (delta method)."""
        return self._signs.standard_errors

    @cached_property
    def smallest_detectable_correlation(self) -> float:
        """The correlation that this release would have shown with probability one half."""
        return detectable_correlation(self.release)

    def correlation_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the correlations of the released pairs.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers its correlation. A pair that was
            selected among many because it is the largest by chance is covered less often.

        Returns
        -------
        low, high : ndarray, shape (k,)
            In the order of ``release.pairs``.
        """
        # On the scale of the signs, where the noise is; the sine is monotone.
        margin = interval_width(confidence) * self._signs.sd
        ends = (self._signs.values - margin, self._signs.values + margin)
        low, high = (self._signs.correlations(end) for end in ends)
        return low, high

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for what was released: the correlations.

        Parameters
        ----------
        confidence : float, default 0.95
            See `correlation_interval`.
        """
        return self.correlation_interval(confidence)

    def _tested(self) -> tuple[Places, Places, Array]:
        first, second = self.release.pairs.astype(np.intp).T
        return first, second, _test(self._signs, len(self.columns))[1]

    def _released_at(self, first: Places, second: Places, confidence: float) -> Released:
        low, high = self.correlation_interval(confidence)
        size, pairs = len(self.columns), self.release.pairs.astype(np.int64)
        # The pairs of a release are in rising order.
        where = np.searchsorted(pairs[:, 0] * size + pairs[:, 1], first * size + second)
        values, error = self.pair_correlation[where], self.pair_standard_error[where]
        low, high = low[where], high[where]
        return Released(values, error, low, high, is_told(low, high))

    def _find_edges(self, fdr: float) -> Listed:
        # All pairs of columns count as tested, those that were not selected too.
        sizes, surest = _test(self._signs, len(self.columns))
        order = np.argsort(-sizes, kind="stable")
        chosen = order[surest[order] <= fdr]
        deviation = own_deviations(self.release)
        first, second = self.release.pairs[chosen].astype(np.intp).T
        scale = deviation[first] * deviation[second]
        correlation = self.pair_correlation[chosen]
        relative = self.relative_deviation_errors
        error = np.sqrt(
            self.pair_standard_error[chosen] ** 2
            + correlation**2 * (relative[first] ** 2 + relative[second] ** 2)
        )
        return Listed(first, second, correlation * scale, error * scale, surest[chosen])

    @property
    def relative_deviation_errors(self) -> Array:
        """The standard error of each column's standard deviation, as a share of it."""
        return relative_deviation_errors(self.release)

    def __repr__(self) -> str:
        units = ", correlations only" if self.release.variances is None else ""
        return (
            f"PairsEstimate({len(self.columns)} columns, {self.pairs_kept} of {self.n_pairs} pairs "
            f"kept, {self.chosen.in_words}, psd={self.psd!r}{units})"
        )


def estimate_pairs(
    release: PairsRelease, *, fdr: float = 0.1, psd: str = "sparse"
) -> PairsEstimate:
    """Turn a release of pairs into a sparse covariance. See `PairsRelease.estimate`."""
    fdr = check_number("fdr", fdr, low=0.0, high=1.0)
    check_choice("psd", psd, METHODS)
    signs = sign_correlations(release)
    _, surest = _test(signs, release.n_columns)
    kept = surest <= fdr
    correlation = correlation_matrix(release, signs, kept, psd)
    deviation = own_deviations(release)
    entries = correlation.tocoo()
    entries.data *= deviation[entries.row] * deviation[entries.col]
    if detectable_correlation(release) > 1:
        warnings.warn(
            "Nothing is detectable in this release: no correlation, however strong, would have "
            "been selected and have stood out with probability one half. More rows, a larger "
            "epsilon or a smaller max_pairs would help.",
            NothingDetectableWarning,
            stacklevel=3,
        )
    return PairsEstimate(
        release=release, covariance_sparse=entries.tocsr(), kept=kept, fdr=fdr, psd=psd
    )


def _test(signs: SignCorrelations, n_columns: int) -> tuple[Array, Array]:
    """Return sizes in sd and q-values of the released pairs among all pairs of columns."""
    sizes = np.abs(signs.values) / signs.null_sd
    return sizes, q_values(sizes, n_tests=count_pairs(n_columns))
