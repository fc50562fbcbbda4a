"""Reliability: Cronbach's α, McDonald's ω and what is known of items.

Owns the value that an analysis of items gives, and its views as frames and texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block
from dpcov.answers.read_only import ReadOnly
from dpcov.answers.share_of_sum import SharesOfSums
from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.postprocess.inference import interval_width

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Items", "Omega", "Reliability"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Omega:
    """McDonald's ω of one factor.

    Parameters
    ----------
    value, standard_error : float
        The share of the factor in the variance of the sum.
    is_told : bool
        Whether the variances of all items stand out of the noise.
    is_bound : bool
        Whether the factor would leave less than nothing of an item: a Heywood case.
    """

    value: float
    standard_error: float
    is_told: bool
    is_bound: bool

    def interval(self, width: float) -> tuple[float, float]:
        """Return the ends of an interval of so many standard errors, of log(1 − ω)."""
        rest = 1 - self.value
        factor = float(np.exp(width * self.standard_error / rest))
        return 1 - rest * factor, 1 - rest / factor


@dataclass(frozen=True, eq=False)
class Items(ReadOnly):
    """What is known of each item.

    Parameters
    ----------
    means, deviations : ndarray, shape (n_items,)
        Means and standard deviations in own units, items as they were answered.
    rest_correlations, rest_errors : ndarray, shape (n_items,)
        Correlations with the sum of the other items, reversed where stated; nan where they cannot
        be told.
    """

    means: Array
    deviations: Array
    rest_correlations: Array
    rest_errors: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Reliability(ReadOnly):
    """How well a sum of items measures one thing. Made by `Release.reliability`.

    Parameters
    ----------
    block : Block
        The items.
    signs : ndarray, shape (n_items,)
        −1 for items that were reversed.
    shares : SharesOfSums
        What α is computed from: of all items, and without each of them.
    omega_fit : Omega
        McDonald's ω.
    items : Items
        What is known of each item.
    confidence : float
        Of the intervals that are shown.
    """

    block: Block
    signs: Array
    shares: SharesOfSums
    omega_fit: Omega
    items: Items
    confidence: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the items."""
        return self.block.columns

    @property
    def about(self) -> str:
        """Of whom errors are: the population, or the table."""
        return self.block.about

    @property
    def alpha(self) -> float:
        """Cronbach's α; nan if the variance of the sum does not stand out of its noise."""
        return float(self.shares.alpha[0])

    @property
    def alpha_error(self) -> float:
        """Its standard error."""
        return float(self.shares.alpha_error[0])

    @property
    def omega(self) -> float:
        """McDonald's ω: the share of one common factor in the variance of the sum."""
        return self.omega_fit.value if self._has_omega else float("nan")

    @property
    def omega_error(self) -> float:
        """Its standard error."""
        return self.omega_fit.standard_error if self._has_omega else float("nan")

    @property
    def _has_omega(self) -> bool:
        return self.is_told and self.omega_fit.is_told

    @property
    def is_told(self) -> bool:
        """Whether the variance of the sum stands out of its noise."""
        return bool(self.shares.is_told[0])

    @property
    def alpha_if_dropped(self) -> Array:
        """Cronbach's α without each of the items."""
        return self.shares.alpha[1:]

    def alpha_interval(self, confidence: float | None = None) -> tuple[float, float]:
        """Return the ends of a confidence interval for α."""
        low, high = self.shares.interval(self._width(confidence))
        return float(low[0]), float(high[0])

    def omega_interval(self, confidence: float | None = None) -> tuple[float, float]:
        """Return the ends of a confidence interval for ω."""
        if not self._has_omega:
            return 0.0, 1.0
        low, high = self.omega_fit.interval(self._width(confidence))
        return max(low, 0.0), high

    def dropped_interval(self, confidence: float | None = None) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for α without each of the items."""
        low, high = self.shares.interval(self._width(confidence))
        return low[1:], high[1:]

    def rest_interval(self, confidence: float | None = None) -> tuple[Array, Array]:
        """Return the ends of intervals for correlations of items with the sum of the others."""
        margin = self._width(confidence) * self.items.rest_errors
        middle = self.items.rest_correlations
        told = np.isfinite(middle)
        low = np.where(told, np.clip(middle - margin, -1.0, 1.0), -1.0)
        return low, np.where(told, np.clip(middle + margin, -1.0, 1.0), 1.0)

    def _width(self, confidence: float | None) -> float:
        return interval_width(self.confidence if confidence is None else confidence)

    def to_frame(self, confidence: float | None = None) -> pd.DataFrame:
        """Return what is known of each item as a pandas data frame."""
        low, high = self.rest_interval(confidence)
        frame: pd.DataFrame = load_pandas().DataFrame(
            {
                "reversed": self.signs < 0,
                "mean": self.items.means,
                "standard_deviation": self.items.deviations,
                "item_rest_correlation": self.items.rest_correlations,
                "standard_error": self.items.rest_errors,
                "low": low,
                "high": high,
                "alpha_if_dropped": self.alpha_if_dropped,
                "alpha_if_dropped_error": self.shares.alpha_error[1:],
            },
            index=list(self.columns),
        )
        return frame

    def summary(self, confidence: float | None = None) -> str:
        """Return the analysis as a text: α, ω, a table of items, and what to know of them."""
        from dpcov.answers.reliability_text import summarize

        return summarize(self, self.confidence if confidence is None else confidence)

    def __repr__(self) -> str:
        if not self.is_told:
            return f"Reliability({len(self.columns)} items, too noisy to tell)"
        omega = f", ω {self.omega:.2f}" if self._has_omega else ""
        return f"Reliability({len(self.columns)} items, α {self.alpha:.2f}{omega})"

    def _repr_html_(self) -> str:
        from dpcov.answers.reliability_text import HEADING, item_lines, sentences

        lines = item_lines(self)
        said = sentences(self, self.confidence)
        return show(repr(self), said, HEADING, lines, n_rows=len(lines))
