"""SparseGraph: which columns are related given all others, as a sparse precision matrix.

Owns the value, and its views as matrices, lists and frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.answers.read_only import ReadOnly
from dpcov.answers.terms import Terms
from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.postprocess.listing import Listing
from dpcov.releases import AnyRelease

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GraphEdge", "SparseGraph"]

Array = npt.NDArray[np.float64]


class GraphEdge(NamedTuple):
    """Two columns that a sparse graph joins, and their partial correlation in it."""

    first: str
    second: str
    value: float

    @property
    def in_words(self) -> str:
        """The edge, in a few words."""
        return f"{self.first} – {self.second}: {self.value:+.2f}"


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseGraph(ReadOnly):
    """A sparse graph of partial correlations. Made by `Release.graph`. Arrays are read-only.

    Parameters
    ----------
    release : Release or PairsRelease
        Where it came from.
    terms : Terms
        Of which columns it is.
    about : {"population", "table"}
        Of whom the errors behind its penalties are.
    precision : ndarray, shape (n_columns, n_columns)
        The inverse of the correlations, with zeros where columns are not joined.
    penalty : float
        How many standard errors a correlation is penalized by.
    penalties : ndarray, shape (n_columns, n_columns)
        The penalty of each pair, on the scale of correlations.
    is_stated : bool
        Whether the caller stated it; if not, it follows from the number of columns.
    """

    release: AnyRelease
    terms: Terms
    about: str
    precision: Array
    penalty: float
    penalties: Array
    is_stated: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, levels of categories as column=level."""
        return self.terms.names

    @property
    def matrix(self) -> Array:
        """The partial correlations, shrunk, with ones on the diagonal."""
        deviations = np.sqrt(self.precision.diagonal())
        result = -self.precision / np.outer(deviations, deviations)
        np.fill_diagonal(result, 1.0)
        return np.asarray(result + 0.0)  # not -0

    @property
    def in_words(self) -> str:
        """How the penalty was chosen, as a sentence."""
        off = ~np.eye(len(self.columns), dtype=np.bool_)
        typical = float(np.median(self.penalties[off]))
        chosen = "as stated" if self.is_stated else f"2√(log p) for p = {len(self.columns)} columns"
        return (
            f"Each correlation is penalized by {self.penalty:.3g} of its standard errors "
            f"({chosen}): {typical:.2g} for a middling pair."
        )

    @property
    def edges(self) -> Listing[GraphEdge]:
        """The pairs that are joined, the strongest first; levels of one category are no pair."""
        first, second = np.nonzero(np.triu(self.precision, k=1))
        column = self.release.design.field_of[self.terms.places]
        apart = column[first] != column[second]
        first, second = first[apart], second[apart]
        values = self.matrix[first, second]
        order = np.argsort(-np.abs(values), kind="stable").tolist()
        names = self.columns
        lines = (GraphEdge(names[first[k]], names[second[k]], float(values[k])) for k in order)
        return Listing(tuple(lines), GraphEdge._fields)

    def to_frame(self) -> pd.DataFrame:
        """Return `matrix` as a pandas data frame with the names of the columns."""
        names = list(self.columns)
        frame: pd.DataFrame = load_pandas().DataFrame(self.matrix, index=names, columns=names)
        return frame

    def summary(self) -> str:
        """Return the graph as a text: its edges, and how the penalty was chosen."""
        return f"{self!r}\n{self.in_words}\n{self.edges!r}"

    def __repr__(self) -> str:
        return f"SparseGraph({len(self.edges):,} edges of {len(self.columns):,} columns)"

    def _repr_html_(self) -> str:
        edges = self.edges
        rows = ([edge.first, edge.second, f"{edge.value:+.2f}"] for edge in edges)
        heading = ("column", "column", "partial correlation")
        return show(repr(self), [self.in_words], heading, rows, n_rows=len(edges))
