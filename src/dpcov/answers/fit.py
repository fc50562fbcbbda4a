"""Fit: a linear regression and what is known of its errors.

Owns the value that a regression gives, and its views as frames, texts and predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.answers.new_rows import cells_of
from dpcov.answers.read_only import ReadOnly
from dpcov.answers.terms import Terms
from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.postprocess.inference import interval_width
from dpcov.postprocess.suppression import marks_of
from dpcov.releases import AnyRelease

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fit", "Fits", "Quality"]

Array = npt.NDArray[np.float64]

INTERCEPT = "intercept"


@dataclass(frozen=True)
class Quality:
    """How well the coefficients of a fit predict.

    Parameters
    ----------
    r_squared : float
        The share of the outcome's variance that these very coefficients explain.
    r_squared_error : float
        Its standard error.
    residual_variance : float
        What they leave of it, in squared units of the outcome.
    is_told : bool
        Whether the variance of the outcome stands out of its noise, and noise alone would not
        seem to explain half of it.
    """

    r_squared: float
    r_squared_error: float
    residual_variance: float
    is_told: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit(ReadOnly):
    """A linear regression that was computed from a release. Made by `Release.regress`.

    Parameters
    ----------
    release : Release or PairsRelease
        Where it came from.
    outcome : str
        What is predicted.
    terms : Terms
        By what.
    about : {"population", "table"}
        Of whom its errors are: see `Release.regress`.
    coefficients : ndarray, shape (n_predictors + 1,)
        The intercept, then a slope for each predictor, in the columns' own units: see `names`.
    covariance : ndarray, shape (n_predictors + 1, n_predictors + 1)
        Of the errors of the coefficients.
    told : ndarray of bool, shape (n_predictors + 1,)
        Which coefficients can be told. Predictors that noise does not let tell apart have
        regularized coefficients, and no interval that excludes anything. Those whose variance does
        not stand out of the noise are left out, and have none: nan.
    deviations : ndarray, shape (n_predictors + 1,)
        Standard deviations of the predictors and of the outcome, last.
    quality : Quality
        How well these coefficients predict.
    """

    release: AnyRelease
    outcome: str
    terms: Terms
    about: str
    coefficients: Array
    covariance: Array
    told: npt.NDArray[np.bool_]
    deviations: Array
    quality: Quality

    @property
    def predictors(self) -> tuple[str, ...]:
        """The names of the predictors, levels of categories as column=level."""
        return self.terms.names

    @property
    def names(self) -> tuple[str, ...]:
        """What the coefficients are of: the intercept and the predictors."""
        return (INTERCEPT, *self.predictors)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The predictors whose variance does not stand out of the noise: not in the fit."""
        gone = np.isnan(self.coefficients[1:])
        return tuple(name for name, is_gone in zip(self.predictors, gone, strict=True) if is_gone)

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return self.release.n_rows

    @cached_property
    def standard_errors(self) -> Array:
        """The standard error of each coefficient; infinite where it cannot be told."""
        return np.where(self.told, np.sqrt(np.diag(self.covariance)), np.inf)

    @property
    def z_values(self) -> Array:
        """Each coefficient over its standard error."""
        return np.asarray(self.coefficients / self.standard_errors)

    @property
    def p_values(self) -> Array:
        """The chance to see a coefficient as large where there is none."""
        from scipy.special import ndtr

        return np.asarray(2 * ndtr(-np.abs(self.z_values)))

    @property
    def r_squared(self) -> float:
        """The share of the outcome's variance that these coefficients explain.

        What noise lets the fit seem to explain is taken out; nan if that is half of the variance
        of the outcome or more, or if that variance does not stand out of the noise.
        """
        return self.quality.r_squared if self.quality.is_told else float("nan")

    @property
    def r_squared_error(self) -> float:
        """Its standard error."""
        return self.quality.r_squared_error if self.quality.is_told else float("inf")

    @property
    def residual_deviation(self) -> float:
        """The standard deviation of what the coefficients leave, in units of the outcome.

        Where the interval of `r_squared` ends at 1, it cannot be told from zero, and may be zero.
        """
        return float(np.sqrt(self.quality.residual_variance))

    @property
    def residual_deviance(self) -> float:
        """The sum of squares that they leave over all rows."""
        return float(self.release.n_terms * self.quality.residual_variance)

    @property
    def standardized(self) -> Array:
        """The slopes for columns of unit variance: betas, the intercept left out."""
        unit = self.deviations[:-1] / self.deviations[-1]
        return np.asarray(self.coefficients[1:] * unit)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the coefficients, in the order of `names`."""
        margin = interval_width(confidence) * self.standard_errors
        low = np.where(self.told, self.coefficients - margin, -np.inf)
        return low, np.where(self.told, self.coefficients + margin, np.inf)

    def r_squared_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the ends of a confidence interval for `r_squared`, within 0 and 1."""
        if not self.quality.is_told:
            return 0.0, 1.0
        margin = interval_width(confidence) * self.r_squared_error
        return max(self.r_squared - margin, 0.0), min(self.r_squared + margin, 1.0)

    def predict(self, frame: Any) -> Array:
        """Return what the coefficients predict for new rows.

        Parameters
        ----------
        frame : DataFrame or mapping
            Columns by the names of the table; a category holds its levels. Cells that are missing,
            or no level of their category, give nan. Predictors that were left out add nothing.

        Returns
        -------
        ndarray, shape (n_rows,)
        """
        result = np.float64(self.coefficients[0])
        for name, slope in zip(self.predictors, self.coefficients[1:].tolist(), strict=True):
            if name not in self.left_out:
                result = result + slope * cells_of(self.release, frame, name)
        return np.atleast_1d(result)

    @property
    def _rests_on_gaps(self) -> bool:
        """Whether gaps of one of these columns go with another of them."""
        return bool(marks_of(self.release).touched([self.outcome, *self.predictors]).any())

    def to_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the coefficients as a pandas data frame, one line for each of `names`.

        `gaps` says whether the gaps of one of the columns go with another of them: see `Pairs`.
        """
        low, high = self.interval(confidence)
        frame: pd.DataFrame = load_pandas().DataFrame(
            {
                "coefficient": self.coefficients,
                "standard_error": self.standard_errors,
                "z": self.z_values,
                "p": self.p_values,
                "low": low,
                "high": high,
                "standardized": np.append(np.nan, self.standardized),
                "told": self.told,
                "gaps": self._rests_on_gaps,
            },
            index=list(self.names),
        )
        return frame

    def summary(self, confidence: float = 0.95) -> str:
        """Return the fit as a text: a table of coefficients, and what to know of it."""
        from dpcov.answers.fit_text import summarize

        return summarize(self, confidence)

    def __repr__(self) -> str:
        return f"Fit({self.outcome} ~ {' + '.join(self.predictors)})"

    def _repr_html_(self) -> str:
        from dpcov.answers.fit_text import HEADING, lines_of, sentences

        lines = lines_of(self, 0.95)
        return show(repr(self), sentences(self, 0.95), HEADING, lines, n_rows=len(lines))


@dataclass(frozen=True, eq=False)
class Fits(Mapping[str, Fit]):
    """Several outcomes on the same predictors: a `Fit` by the name of each outcome."""

    fits: tuple[Fit, ...]

    def __getitem__(self, outcome: str) -> Fit:
        for fit in self.fits:
            if fit.outcome == outcome:
                return fit
        raise KeyError(outcome)

    def __iter__(self) -> Iterator[str]:
        return iter(fit.outcome for fit in self.fits)

    def __len__(self) -> int:
        return len(self.fits)

    def to_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return all coefficients as one data frame, by outcome and name."""
        frames = {fit.outcome: fit.to_frame(confidence) for fit in self.fits}
        frame: pd.DataFrame = load_pandas().concat(frames, names=["outcome", "name"])
        return frame

    def summary(self, confidence: float = 0.95) -> str:
        """Return all fits as one text."""
        return "\n\n".join(fit.summary(confidence) for fit in self.fits)

    def __repr__(self) -> str:
        return f"Fits({', '.join(self)} ~ {' + '.join(self.fits[0].predictors)})"
