"""Release → Estimate: the order of the steps.

Owns the value that a statistician wants: a positive semi-definite, sparse covariance with
standard errors. Everything here is post-processing of a release and costs no privacy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import NothingDetectableWarning, ParameterError
from dpcov.parameters import check_choice
from dpcov.postprocess.categories import Categories
from dpcov.postprocess.choice import Choice, RiskCurve, check_threshold, choose
from dpcov.postprocess.correlations import (
    CorrelationErrors,
    Released,
    released_at,
    unshrunk_deviations,
    variances_of_correlations,
)
from dpcov.postprocess.eigenvalues import (
    eigenvalue_intervals,
    eigenvalues_by_component,
    largest_of_noise,
)
from dpcov.postprocess.face import Chosen, CovarianceEstimate
from dpcov.postprocess.gap_findings import GapFinding
from dpcov.postprocess.gaps import find_gaps
from dpcov.postprocess.inference import (
    Listed,
    best_detectable_correlation,
    find_edges,
    interval_width,
    smallest_detectable_correlation,
    tested_pairs,
)
from dpcov.postprocess.listing import Listing
from dpcov.postprocess.noise_model import NoiseModel, published_deviations, row_blocks
from dpcov.postprocess.psd import METHODS, make_psd
from dpcov.postprocess.rules import Rule
from dpcov.postprocess.shrinkage import shrink_entries
from dpcov.releases import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Estimate", "Options", "check_options", "estimate_covariance"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Options:
    """What an estimate was asked for, so that it can be made again: see `Release.estimate`."""

    rule: str | Rule = "auto"
    threshold: str | float = "thinned"
    gamma: float | None = None
    sparse: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(CovarianceEstimate):
    """A sparse covariance estimate, with what is known about its error.

    Made by `Release.estimate`.

    Parameters
    ----------
    release : Release
        Where it came from.
    covariance : ndarray, shape (n_columns, n_columns)
        In the columns' own units. Exactly symmetric, positive semi-definite (unless
        ``psd="none"``), and exactly zero off the support (unless ``psd="clip"``). Read-only.
    support : ndarray of bool, shape (n_columns, n_columns)
        Which entries are kept. The diagonal always is; with the rule ``"low-rank"`` all are,
        since factors reach all columns. Which pairs are related does not depend on
        it: see `edges`. Read-only.
    choice : Choice
        Rule and threshold, and the risk curve they were chosen from.
    psd : str
        How it was made positive semi-definite.
    options : Options, optional
        What was asked for.
    """

    release: Release
    covariance: Array
    support: npt.NDArray[np.bool_]
    choice: Choice
    options: Options | None = None

    @property
    def rule(self) -> str:
        """The rule that was applied."""
        return self.choice.rule

    @property
    def threshold(self) -> float:
        """The threshold, in standard deviations of an entry; infinite when nothing is kept.

        With the rule ``"low-rank"``, that of the rest.
        """
        return self.choice.threshold

    @property
    def risk_curve(self) -> RiskCurve | None:
        """The estimated risk of every rule at every threshold, when thinning chose."""
        return self.choice.curve

    @property
    def chosen(self) -> Chosen:
        """The rule and the threshold, and who chose them."""
        return Chosen(
            rule=self.rule,
            threshold=self.threshold,
            threshold_is="standard deviations of an entry",
            paper_threshold=self.choice.paper_threshold,
            by="stated" if self.risk_curve is None else "thinning of the release",
            in_words=self.choice.in_words,
        )

    @property
    def asked(self) -> dict[str, Any] | None:
        """The options of ``release.estimate`` that make it again; None for a caller's own rule."""
        options = self.options
        return None if options is None or callable(options.rule) else dict(vars(options))

    @cached_property
    def pairs_kept(self) -> int:
        """How many pairs the estimate does not set to zero. Which are related, `edges` says."""
        return int(np.triu(self.support & self.noise.are_apart(slice(None)), k=1).sum())

    @cached_property
    def deviations(self) -> Array:
        """The standard deviations of the columns, in their own units."""
        return np.sqrt(self.covariance.diagonal())

    @property
    def released_deviations(self) -> Array:
        """Those of the released variances, shrunk; no rule and no `psd` moved them."""
        return published_deviations(self.release, self.noise)

    @cached_property
    def noise(self) -> NoiseModel:
        """The variances of the columns and of the entries of the release."""
        return NoiseModel.of(self.release)

    @cached_property
    def standard_error(self) -> Array:
        """The standard error of each released entry, in own units: privacy noise plus sampling.

        What clipping of rows leaves uncertain is in it.
        """
        return self._errors(self.noise)

    def _errors(self, noise: NoiseModel) -> Array:
        units = self.release.units
        result = np.empty_like(self.covariance)
        for rows in row_blocks(len(result)):
            working = units.to_working(self.covariance[rows], rows)
            error = np.sqrt(noise.interval_variance(rows, working))
            result[rows] = units.to_own(error, rows)
        result.setflags(write=False)
        return result

    @cached_property
    def smallest_detectable_correlation(self) -> float:
        """The correlation that this release would have shown with probability one half."""
        return smallest_detectable_correlation(self.noise)

    def interval(
        self, confidence: float = 0.95, *, about: str = "population"
    ) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the entries.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers its entry.
        about : {"population", "table"}
            Of whom. ``"population"``: the people of whom the rows are a random sample, for rows
            that are about Gaussian. ``"table"``: these very rows, their cells limited as
            `Release.limits` says; shorter, since sampling is not in question, and for rows of
            any law.

        Returns
        -------
        low, high : ndarray, shape (n_columns, n_columns)
            The released entry ∓ z standard errors. Centered on the release, which is
            unbiased, and not on the shrunk estimate.
        """
        check_choice("about", about, ("population", "table"))
        error = self.standard_error if about == "population" else self._errors(self.noise.of_table)
        margin = interval_width(confidence) * error
        released = self.release.units.to_own(self.release.matrix)
        return released - margin, released + margin

    @cached_property
    def categories(self) -> Categories:
        """What is known of the categories: shares, associations, and means in their levels."""
        return Categories(self.release)

    def gaps(
        self, fdr: float = 0.1, *, confidence: float = 0.95, about: str = "population"
    ) -> Listing[GapFinding]:
        """Return which columns' gaps go with values, or with gaps, of other columns.

        Parameters
        ----------
        fdr : float, default 0.1
            The expected share of false findings on the list, at most. All gaps that stand out
            of the noise count as tested, with all other columns.
        confidence : float, default 0.95
            The probability that an interval covers what it is about.
        about : {"population", "table"}
            Of whom intervals are: see `interval`. Which findings are listed does not depend on it.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 2))
        >>> rows[rows[:, 1] > 1, 0] = np.nan
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, columns=["income", "age"], seed=0)
        >>> release.estimate().gaps()
        1 line
          Where income is missing, age is higher by 1.87 on average (1.73 to 2.01).
        """
        return find_gaps(self.release, fdr=fdr, confidence=confidence, about=about)

    @cached_property
    def kept_correlations(self) -> csr_array:
        """The correlations of the estimate off the diagonal, without its zeros."""
        from scipy.sparse import coo_array

        rows, columns = np.nonzero(self.covariance)
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
        values = self.correlation[rows, columns]
        return coo_array((values, (rows, columns)), shape=self.covariance.shape).tocsr()

    @cached_property
    def eigenvalues(self) -> Array:
        """The eigenvalues of the covariance in working units, the largest first. Read-only.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
        >>> len(release.estimate().eigenvalues)
        4
        """
        scale = self.release.units.scale

        def part(members: Places) -> Array:
            whole = self.covariance[np.ix_(members, members)]
            return np.asarray(whole / np.outer(scale[members], scale[members]))

        return eigenvalues_by_component(
            self.kept_correlations, np.diag(self.covariance) / scale**2, part
        )

    @cached_property
    def released_eigenvalues(self) -> Array:
        """The eigenvalues of the release, in working units. Read-only."""
        result = np.asarray(np.linalg.eigvalsh(self.release.matrix)[::-1], dtype=np.float64)
        result.setflags(write=False)
        return result

    def eigenvalue_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return intervals for the eigenvalues that stand out of the noise, in working units.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers its eigenvalue, if that stands apart from the
            others.

        Returns
        -------
        low, high : ndarray, shape (k,)
            The largest first; none, if none is beyond twice the edge of the noise.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> rows += rows[:, :1]
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=9, seed=1)
        >>> low, high = release.estimate().eigenvalue_interval()
        >>> bool(low[0] < 7.6 < high[0])
        True
        """
        return eigenvalue_intervals(self.release.matrix, self.noise, interval_width(confidence))

    @property
    def noise_floor(self) -> float:
        """The largest eigenvalue that noise alone would produce: 2 τ √p.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
        >>> round(release.estimate().noise_floor / release.noise_scale.off_diagonal, 2)
        4.0
        """
        return largest_of_noise(self.noise)

    def entries(self) -> tuple[Places, Places, Array]:
        """Return the entries on and above the diagonal that are not zero: places and values."""
        first, second = np.nonzero(np.triu(self.covariance))
        return first, second, self.covariance[first, second]

    def entries_at(self, first: Places, second: Places) -> Array:
        """Return the covariances of some pairs."""
        return self.covariance[first, second]

    def _dense(self) -> Array:
        return self.covariance

    def correlation_interval(
        self, confidence: float = 0.95, *, about: str = "population"
    ) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the correlations.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers its correlation.
        about : {"population", "table"}
            Of whom: see `interval`.

        Returns
        -------
        low, high : ndarray, shape (n_columns, n_columns)
            Within ±1; ones on the diagonal. The error of both standard deviations counts, and
            where a variance does not stand out of its noise all correlations may be possible.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
        >>> low, high = estimate.correlation_interval()
        >>> bool((low >= -1).all() and (high <= 1).all())
        True
        """
        check_choice("about", about, ("population", "table"))
        width = interval_width(confidence)
        low, high = np.empty_like(self.covariance), np.empty_like(self.covariance)
        deviation = unshrunk_deviations(self.release.matrix, self.noise)
        for rows in row_blocks(len(low)):
            errors = CorrelationErrors.of(self.noise, rows)
            if about == "table":
                errors = errors.about_table()
            released = self.release.matrix[rows] / np.outer(deviation[rows], deviation)
            low[rows], high[rows] = errors.interval(np.clip(released, -1.0, 1.0), width)
        for end in (low, high):
            np.fill_diagonal(end, 1.0)
        return low, high

    def _released_at(self, first: Places, second: Places, confidence: float) -> Released:
        deviation = unshrunk_deviations(self.release.matrix, self.noise)
        values = self.release.matrix[first, second] / (deviation[first] * deviation[second])
        np.clip(values, -1.0, 1.0, out=values)
        errors = CorrelationErrors.at(self.noise, first, second)
        return released_at(values, errors, interval_width(confidence))

    def _tested(self) -> tuple[Places, Places, Array]:
        return tested_pairs(self.release.matrix, self.noise)

    def _find_edges(self, fdr: float) -> Listed:
        units = self.release.units
        working = units.to_working(self.covariance)
        return find_edges(self.release.matrix, working, self.noise, fdr, units)

    def __repr__(self) -> str:
        return (
            f"Estimate({len(self.columns)} columns, {self.pairs_kept} of {self.n_pairs} pairs "
            f"kept, {self.choice.in_words}, psd={self.psd!r})"
        )


def check_options(
    *,
    rule: str | Rule,
    threshold: str | float,
    gamma: float | None,
    sparse: bool,
    psd: str,
) -> None:
    """Refuse impossible options before anything is computed, or released."""
    check_choice("psd", psd, METHODS)
    if not isinstance(sparse, bool):
        raise ParameterError("sparse must be True or False.")
    check_threshold(rule=rule, threshold=threshold, gamma=gamma)


def estimate_covariance(
    release: Release,
    *,
    rule: str | Rule = "auto",
    threshold: str | float = "thinned",
    gamma: float | None = None,
    sparse: bool = True,
    psd: str = "sparse",
) -> Estimate:
    """Turn a release into a sparse, positive semi-definite covariance. Costs no privacy.

    See `dpcov.Release.estimate` for the parameters.
    """
    check_options(rule=rule, threshold=threshold, gamma=gamma, sparse=sparse, psd=psd)
    noise = NoiseModel.of(release)
    choice = choose(
        release.matrix, noise, rule=rule, threshold=threshold, gamma=gamma, sparse=sparse
    )
    shrunk = shrink_entries(release.matrix, noise, choice)
    support = shrunk != 0
    known = partial(variances_of_correlations, noise, shrunk)
    covariance = release.units.to_own(make_psd(shrunk, method=psd, variances=known))
    detectable = best_detectable_correlation(noise)
    if detectable > 1 and release.n_pairs:
        warnings.warn(
            "Nothing is detectable in this release: a correlation would have to be "
            f"{detectable:.2g} to stand out. Do not read relations from it. More rows, a larger "
            f"epsilon or {'a smaller row_norm' if release.learned is None else 'fewer columns'} "
            "would help.",
            NothingDetectableWarning,
            stacklevel=3,
        )
    options = Options(rule, threshold, gamma, sparse)
    return Estimate(
        release=release,
        covariance=covariance,
        support=support,
        choice=choice,
        psd=psd,
        options=options,
    )
