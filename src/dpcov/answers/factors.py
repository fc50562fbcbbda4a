"""Factors: a factor analysis and what is known of its errors.

Owns the value that an analysis gives, and its views as frames, texts and scores of new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block
from dpcov.answers.factor_quality import FactorQuality
from dpcov.answers.new_rows import cells_of
from dpcov.answers.read_only import ReadOnly
from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.postprocess.inference import interval_width

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Factors"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Factors(ReadOnly):
    """A factor analysis that was computed from a release. Made by `Release.factors`.

    Parameters
    ----------
    block : Block
        The correlations that it comes from.
    method : {"minres", "ml"}
        How factors were fitted.
    rotation : {"varimax", "promax"} or None
        How loadings were rotated.
    loadings, loading_errors : ndarray, shape (n_columns, n_factors)
        How columns go with factors of unit variance, and the standard errors.
    uniquenesses, uniqueness_errors : ndarray, shape (n_columns,)
        What factors leave of the variance of each column, and the standard errors.
    correlations, correlation_errors : ndarray, shape (n_factors, n_factors)
        Of the factors: not the identity for promax only.
    heywood : ndarray of bool, shape (n_columns,)
        Which columns are Heywood cases: the fit wants to leave nothing of them.
    quality : FactorQuality
        How well the factors fit.
    above : int
        How many components stand above what noise and sampling give to unrelated columns.
    weights : ndarray, shape (n_columns, n_factors)
        What `scores` multiplies standardized columns by.
    """

    block: Block
    method: str
    rotation: str | None
    loadings: Array
    loading_errors: Array
    uniquenesses: Array
    uniqueness_errors: Array
    correlations: Array
    correlation_errors: Array
    heywood: npt.NDArray[np.bool_]
    quality: FactorQuality
    above: int
    weights: Array

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.block.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the factors: F1, F2, …."""
        return tuple(f"F{place + 1}" for place in range(self.n_factors))

    @property
    def n_factors(self) -> int:
        """How many factors there are."""
        return int(self.loadings.shape[1])

    @property
    def about(self) -> str:
        """Of whom errors are: the population, or the table."""
        return self.block.about

    @property
    def communalities(self) -> Array:
        """What factors explain of the variance of each column."""
        return np.asarray(1 - self.uniquenesses)

    @property
    def explained(self) -> Array:
        """The share of all variance that each factor explains."""
        structure = self.loadings @ self.correlations
        return np.asarray((self.loadings * structure).sum(axis=0) / len(self.columns))

    @property
    def p_value(self) -> float:
        """The chance of residuals as large if so many factors are enough."""
        return self.quality.p_value

    def loading_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the loadings."""
        margin = interval_width(confidence) * self.loading_errors
        low, high = self.loadings - margin, self.loadings + margin
        if self.rotation == "promax":
            return low, high
        return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)

    def uniqueness_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the uniquenesses, within 0 and 1."""
        margin = interval_width(confidence) * self.uniqueness_errors
        low, high = self.uniquenesses - margin, self.uniquenesses + margin
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def scores(self, frame: Any) -> Array:
        """Return regression scores of new rows, as Thomson's method gives them.

        Parameters
        ----------
        frame : DataFrame or mapping
            Columns by the names of the table. Cells that are missing give nan.

        Returns
        -------
        ndarray, shape (n_rows, n_factors)
        """
        cells = [cells_of(self.block.release, frame, name) for name in self.columns]
        return np.asarray(self.block.standardize(cells) @ self.weights)

    def to_frame(self) -> pd.DataFrame:
        """Return loadings with their errors, communalities and uniquenesses as a data frame."""
        data: dict[str, Any] = {}
        for place, name in enumerate(self.names):
            data[name] = self.loadings[:, place]
            data[f"{name}_error"] = self.loading_errors[:, place]
        data["communality"] = self.communalities
        data["uniqueness"] = self.uniquenesses
        data["uniqueness_error"] = self.uniqueness_errors
        frame: pd.DataFrame = load_pandas().DataFrame(data, index=list(self.columns))
        return frame

    def summary(self, confidence: float = 0.95) -> str:
        """Return the analysis as a text: loadings, fit, and what to know of them."""
        from dpcov.answers.factors_text import summarize

        return summarize(self, confidence)

    def __repr__(self) -> str:
        how = ", ".join(filter(None, [self.method, self.rotation]))
        return f"Factors({self.n_factors} of {len(self.columns)} columns, {how})"

    def _repr_html_(self) -> str:
        from dpcov.answers.factors_text import loading_table, sentences

        heading, lines = loading_table(self)
        return show(repr(self), sentences(self, 0.95), heading, lines, n_rows=len(lines))
