"""Components: principal components and what is known of their errors.

Owns the value that an analysis gives, and its views as frames, texts and scores of new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.answers.correlation_block import Block
from dpcov.answers.new_rows import cells_of
from dpcov.answers.read_only import ReadOnly
from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.postprocess.inference import interval_width

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Components", "Eigenvalues"]

Array = npt.NDArray[np.float64]

_CROWDED = 0.81
"""What each eigenvalue of a group of m that cannot be told apart may be off beyond its interval,
in standard errors times √m − 1: measured for groups of up to 100 equal ones."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenvalues(ReadOnly):
    """The variances along components, the largest first.

    Parameters
    ----------
    values, standard_errors : ndarray, shape (n_components,)
        Of the components that were asked for, without what noise and sampling add to them.
    share_errors : ndarray, shape (n_components,)
        The standard errors of their shares of all variance.
    joint_share_error : float
        The standard error of the share that they have together.
    total : float
        The sum of all variances: of correlations the number of columns.
    crowds : ndarray of int, shape (n_components,)
        How many eigenvalues each cannot be told from, itself included.
    seen : ndarray, shape (n_columns,)
        All eigenvalues of the release as they are, noise included.
    unrelated : ndarray, shape (n_columns,)
        What those of unrelated columns with the same noise stay below in 19 of 20 cases.
    above : int
        How many of the first are larger than that.
    """

    values: Array
    standard_errors: Array
    share_errors: Array
    joint_share_error: float
    total: float
    crowds: npt.NDArray[np.int_]
    seen: Array
    unrelated: Array
    above: int

    @property
    def shares(self) -> Array:
        """The share that each has in the sum of all variances."""
        return np.minimum(self.values / self.total, 1.0)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the eigenvalues, within zero and the sum."""
        margin = self._width(confidence) * self.standard_errors
        low, high = self.values - margin, self.values + margin
        return np.clip(low, 0.0, self.total), np.clip(high, 0.0, self.total)

    def share_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for their shares, within 0 and 1."""
        margin = self._width(confidence) * self.share_errors
        return np.clip(self.shares - margin, 0.0, 1.0), np.clip(self.shares + margin, 0.0, 1.0)

    @property
    def joint_share(self) -> float:
        """The share of all variance that they have together."""
        return min(float(self.values.sum() / self.total), 1.0)

    def joint_share_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the ends of a confidence interval for it, within 0 and 1."""
        # Only the last may be mistaken for one that is left out.
        margin = float(self._width(confidence)[-1]) * self.joint_share_error
        return max(self.joint_share - margin, 0.0), min(self.joint_share + margin, 1.0)

    def _width(self, confidence: float) -> Array:
        # Eigenvalues that are alike push each other apart: not all of it can be taken back.
        return np.asarray(interval_width(confidence) + _CROWDED * (np.sqrt(self.crowds) - 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Components(ReadOnly):
    """Principal components that were computed from a release. Made by `Release.components`.

    Parameters
    ----------
    block : Block
        The correlations or covariances that they come from.
    eigenvalues : Eigenvalues
        The variances along them.
    rotation : {"varimax", "promax"} or None
        How loadings were rotated.
    loadings : ndarray, shape (n_columns, n_components)
        How columns go with components of unit variance: of correlations, their correlations with
        them. The large ones of a component are positive.
    loading_errors : ndarray, shape (n_columns, n_components)
        Their standard errors, where components are told.
    correlations : ndarray, shape (n_components, n_components)
        Of the components: not the identity for promax only.
    told : ndarray of bool, shape (n_components,)
        Whose loadings can be read one by one.
    groups : tuple of tuples of int
        Which components cannot be told from each other, counted from 0: also those beyond the
        ones that were asked for.
    weights : ndarray, shape (n_columns, n_components)
        What `scores` multiplies columns by, in units of the block.
    """

    block: Block
    eigenvalues: Eigenvalues
    rotation: str | None
    loadings: Array
    loading_errors: Array
    correlations: Array
    told: npt.NDArray[np.bool_]
    groups: tuple[tuple[int, ...], ...]
    weights: Array

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.block.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the components: C1, C2, …, and R1, R2, … if they were rotated."""
        letter = "C" if self.rotation is None else "R"
        return tuple(f"{letter}{place + 1}" for place in range(self.n_components))

    @property
    def n_components(self) -> int:
        """How many components there are."""
        return int(self.loadings.shape[1])

    @property
    def about(self) -> str:
        """Of whom errors are: the population, or the table."""
        return self.block.about

    @property
    def of(self) -> str:
        """What was analyzed: correlations or covariances."""
        return "correlation" if self.block.standardized else "covariance"

    @property
    def explained(self) -> Array:
        """The share of all variance that each component explains, after rotation if any."""
        if self.rotation is None:
            return self.eigenvalues.shares
        structure = self.loadings @ self.correlations
        return np.asarray((self.loadings * structure).sum(axis=0) / self.eigenvalues.total)

    def loading_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the loadings.

        Components whose loadings cannot be told have no interval that excludes anything.
        """
        errors = np.where(self.told, self.loading_errors, np.inf)
        margin = interval_width(confidence) * errors
        low, high = self.loadings - margin, self.loadings + margin
        if self.block.standardized and self.rotation != "promax":
            return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)
        return low, high

    def scores(self, frame: Any) -> Array:
        """Return where new rows lie along the components, in units of their standard deviations.

        Parameters
        ----------
        frame : DataFrame or mapping
            Columns by the names of the table. Cells that are missing give nan.

        Returns
        -------
        ndarray, shape (n_rows, n_components)
        """
        cells = [cells_of(self.block.release, frame, name) for name in self.columns]
        return np.asarray(self.block.standardize(cells) @ self.weights)

    def to_frame(self) -> pd.DataFrame:
        """Return the loadings as a pandas data frame, with their errors beside them."""
        data: dict[str, Any] = {}
        errors = np.where(self.told, self.loading_errors, np.inf)
        for place, name in enumerate(self.names):
            data[name] = self.loadings[:, place]
            data[f"{name}_error"] = errors[:, place]
        frame: pd.DataFrame = load_pandas().DataFrame(data, index=list(self.columns))
        return frame

    def eigenvalues_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the eigenvalues as a pandas data frame, one line for each component."""
        found = self.eigenvalues
        low, high = found.interval(confidence)
        count = len(found.values)
        frame: pd.DataFrame = load_pandas().DataFrame(
            {
                "eigenvalue": found.values,
                "standard_error": found.standard_errors,
                "low": low,
                "high": high,
                "share": found.shares,
                "released": found.seen[:count],
                "unrelated": found.unrelated[:count],
            },
            index=[f"C{place + 1}" for place in range(count)],
        )
        return frame

    def summary(self, confidence: float = 0.95) -> str:
        """Return the components as a text: eigenvalues, loadings, and what to know of them."""
        from dpcov.answers.components_text import summarize

        return summarize(self, confidence)

    def __repr__(self) -> str:
        of = f"{self.n_components} of {len(self.columns)} columns"
        return f"Components({of}, {self.of}{f', {self.rotation}' if self.rotation else ''})"

    def _repr_html_(self) -> str:
        from dpcov.answers.components_text import EIGENVALUES, eigenvalue_lines, sentences

        lines = eigenvalue_lines(self, 0.95)
        return show(repr(self), sentences(self, 0.95), EIGENVALUES, lines, n_rows=len(lines))
