"""Release → Estimate: the order of the steps.

Owns the value that a statistician wants: a positive semi-definite, sparse covariance with
standard errors. Everything here is post-processing of a release and costs no privacy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.errors import NothingDetectableWarning, ParameterError
from dpcov.parameters import check_choice, check_number
from dpcov.postprocess.face import CovarianceFace
from dpcov.postprocess.inference import Edges, find_edges, smallest_detectable_correlation
from dpcov.postprocess.level import Choice, RiskCurve, check_level, choose
from dpcov.postprocess.noise_model import NoiseModel, row_blocks
from dpcov.postprocess.psd import METHODS, make_psd
from dpcov.postprocess.rules import Rule
from dpcov.postprocess.shrinkage import shrink_entries
from dpcov.releases import Release

__all__ = ["Estimate", "Options", "check_options", "estimate_covariance"]

# The projection stops at this share of the noise of an entry: what is left does not matter.
_TOLERANCE_IN_NOISE = 1e-3

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """What an estimate was asked for, so that it can be made again: see `Release.estimate`."""

    rule: str | Rule = "auto"
    level: str | float = "thinned"
    gamma: float | None = None
    sparse: bool = True


@dataclass(frozen=True, eq=False)
class Estimate(CovarianceFace):
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
        Which entries are kept. The diagonal always is. Read-only.
    choice : Choice
        Rule and level, and the risk curve they were chosen from.
    psd : str
        How it was made positive semi-definite.
    options : Options, optional
        What was asked for.
    """

    release: Release
    covariance: Array
    support: npt.NDArray[np.bool_]
    choice: Choice
    psd: str
    options: Options | None = None

    def __post_init__(self) -> None:
        self.covariance.setflags(write=False)
        self.support.setflags(write=False)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def rule(self) -> str:
        """The rule that was applied."""
        return self.choice.rule

    @property
    def level(self) -> float:
        """The level, in standard deviations of an entry; infinite when nothing is kept."""
        return self.choice.level

    @property
    def risk_curve(self) -> RiskCurve | None:
        """The estimated risk of every rule at every level, when thinning chose."""
        return self.choice.curve

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self.release.columns

    @property
    def location(self) -> Array:
        """The center of the columns, in their own units: see `Release.location`."""
        return self.release.location

    @cached_property
    def noise(self) -> NoiseModel:
        """The variances of the columns and of the entries of the release."""
        return NoiseModel.of(self.release)

    @cached_property
    def standard_error(self) -> Array:
        """The standard error of each released entry, in own units: privacy noise plus sampling."""
        units = self.release.units
        result = np.empty_like(self.covariance)
        for rows in row_blocks(len(result)):
            working = units.to_working(self.covariance[rows], rows)
            error = np.sqrt(self.noise.interval_variance(rows, working))
            result[rows] = units.to_own(error, rows)
        result.setflags(write=False)
        return result

    @cached_property
    def smallest_detectable_correlation(self) -> float:
        """The correlation that this release would have shown with probability one half."""
        return smallest_detectable_correlation(self.noise)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the entries.

        Parameters
        ----------
        level : float, default 0.95
            The probability that an interval covers its entry, for rows that are about
            Gaussian and rarely clipped.

        Returns
        -------
        low, high : ndarray, shape (n_columns, n_columns)
            The released entry ∓ z standard errors. Centered on the release, which is
            unbiased, and not on the shrunk estimate.
        """
        from scipy.special import ndtri

        level = check_number("level", level, low=0.0, high=1.0)
        margin = float(ndtri(0.5 + level / 2)) * self.standard_error
        released = self.release.units.to_own(self.release.matrix)
        return released - margin, released + margin

    def edges(self, fdr: float = 0.1) -> Edges:
        """Return the pairs that are related, with a bounded share of false ones.

        Parameters
        ----------
        fdr : float, default 0.1
            The expected share of false pairs on the list, at most, for rows that are about
            Gaussian.
        """
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        units = self.release.units
        working = units.to_working(self.covariance)
        return find_edges(self.release.matrix, working, self.noise, self.columns, fdr, units)

    def __repr__(self) -> str:
        size = len(self.columns)
        kept = (int(self.support.sum()) - size) // 2
        return (
            f"Estimate({size} columns, {kept} of {size * (size - 1) // 2} pairs kept, "
            f"{self.choice.in_words}, psd={self.psd!r})"
        )


def check_options(
    *,
    rule: str | Rule,
    level: str | float,
    gamma: float | None,
    sparse: bool,
    psd: str,
) -> None:
    """Refuse impossible options before anything is computed, or released."""
    check_choice("psd", psd, METHODS)
    if not isinstance(sparse, bool):
        raise ParameterError("sparse must be True or False.")
    check_level(rule=rule, level=level, gamma=gamma)


def estimate_covariance(
    release: Release,
    *,
    rule: str | Rule = "auto",
    level: str | float = "thinned",
    gamma: float | None = None,
    sparse: bool = True,
    psd: str = "sparse",
) -> Estimate:
    """Turn a release into a sparse, positive semi-definite covariance. Costs no privacy.

    See `dpcov.Release.estimate` for the parameters.
    """
    check_options(rule=rule, level=level, gamma=gamma, sparse=sparse, psd=psd)
    noise = NoiseModel.of(release)
    choice = choose(release.matrix, noise, rule=rule, level=level, gamma=gamma, sparse=sparse)
    shrunk = shrink_entries(release.matrix, noise, choice)
    support = shrunk != 0
    tolerance = _TOLERANCE_IN_NOISE * noise.typical_deviation
    covariance = release.units.to_own(make_psd(shrunk, method=psd, tolerance=tolerance))
    # The best case: two columns as variable as the second most variable one.
    second = float(np.sort(noise.variances)[-min(2, len(noise.variances))])
    detectable = smallest_detectable_correlation(noise, second)
    if detectable > 1:
        warnings.warn(
            "Nothing is detectable in this release: a correlation would have to be "
            f"{detectable:.2g} to stand out. Do not read relations from it. More rows, a larger "
            "epsilon or a smaller row_norm would help.",
            NothingDetectableWarning,
            stacklevel=3,
        )
    options = Options(rule, level, gamma, sparse)
    return Estimate(release, covariance, support, choice, psd, options)
