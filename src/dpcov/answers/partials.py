"""PartialCorrelations: those of all pairs of some columns, given all others of these.

Owns the value, and its views as frames, matrices, lists and texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.answers.read_only import ReadOnly
from dpcov.answers.terms import Terms, find_name
from dpcov.digits import correlation_text, interval_text, probability_text
from dpcov.errors import ParameterError
from dpcov.extras import load_pandas
from dpcov.notebook import show
from dpcov.parameters import check_number
from dpcov.postprocess.listing import Listing
from dpcov.postprocess.pairs_table import TOO_NOISY
from dpcov.postprocess.suppression import marks_of
from dpcov.releases import AnyRelease

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PartialCorrelation", "PartialCorrelations"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class PartialCorrelation(NamedTuple):
    """One partial correlation: see `PartialCorrelations`."""

    first: str
    second: str
    value: float
    standard_error: float
    low: float
    high: float
    p_value: float
    q_value: float
    told: bool

    @property
    def in_words(self) -> str:
        """What is known of it, in a few words."""
        names = f"{self.first} – {self.second}"
        if not self.told:
            return f"{names}: {TOO_NOISY}"
        value = correlation_text(self.value, self.high - self.low)
        ends = interval_text(self.low, self.high)
        return f"{names}: {value}, {ends} (q {probability_text(self.q_value)})"


@dataclass(frozen=True, kw_only=True, eq=False)
class PartialCorrelations(ReadOnly):
    """How every two columns go together, given all others. Made by `Release.partial_correlations`.

    Arrays have one entry for each pair, row by row above the diagonal; levels of one category,
    which exclude each other, are no pair. Read-only.

    Parameters
    ----------
    release : Release or PairsRelease
        Where they came from.
    terms : Terms
        Of which columns they are, and given which.
    about : {"population", "table"}
        Of whom errors are: see `Release.partial_correlations`.
    confidence : float
        The probability that an interval covers its partial correlation.
    first, second : ndarray of int
        Places of both columns in `columns`.
    values : ndarray
        The partial correlations, within ±1.
    standard_errors : ndarray
        Infinite where noise does not let tell the columns from others.
    low, high : ndarray
        The ends of intervals, within ±1.
    p_values : ndarray
        The chance to see a partial correlation as large where there is none.
    q_values : ndarray
        The smallest false discovery rate at which a pair is on the list of `edges`.
    told : ndarray of bool
        Whether the release says how large a partial correlation is. If not, it is too noisy to
        tell: noise does not let tell the columns from others, or the interval is 1.5 wide or wider.
    told_columns : ndarray of bool, shape (n_columns,)
        Which columns noise lets tell from others.
    """

    release: AnyRelease
    terms: Terms
    about: str
    confidence: float
    first: Places
    second: Places
    values: Array
    standard_errors: Array
    low: Array
    high: Array
    p_values: Array
    q_values: Array
    told: Mask
    told_columns: Mask

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, levels of categories as column=level."""
        return self.terms.names

    @property
    def with_level(self) -> Mask:
        """Which pairs are with a level of a category: they are a list of their own."""
        is_level = ~self.release.design.is_number[self.terms.places]
        return np.asarray(is_level[self.first] | is_level[self.second])

    @property
    def matrix(self) -> Array:
        """All partial correlations, with ones on the diagonal; nan between levels of a category."""
        size = len(self.columns)
        result = np.full((size, size), np.nan)
        np.fill_diagonal(result, 1.0)
        result[self.first, self.second] = result[self.second, self.first] = self.values
        return result

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, names: tuple[str, str]) -> PartialCorrelation:
        """Return what is known of two columns: ``value["age", "income"]``."""
        if not (isinstance(names, tuple) and len(names) == 2 and names[0] != names[1]):
            raise ParameterError('A pair is two different column names, as in ["age", "income"].')
        places = sorted(find_name(self.columns, name) for name in names)
        found = np.flatnonzero((self.first == places[0]) & (self.second == places[1]))
        if not len(found):
            raise ParameterError(
                f"{names[0]!r} and {names[1]!r} are levels of one category: they exclude each "
                "other, so there is nothing to find."
            )
        one = self._line(int(found[0]))
        return one._replace(first=names[0], second=names[1])

    # Without this, iterating would ask for a pair called 0.
    __iter__ = None

    def edges(self, fdr: float = 0.1) -> Listing[PartialCorrelation]:
        """Return the pairs that are related given all others, the surest first.

        Parameters
        ----------
        fdr : float, default 0.1
            The expected share of false pairs on the list, at most: the rule of `Estimate.edges`.
            All pairs count as tested; pairs of numbers, and pairs with a level of a category, are
            two lists that each have this rate.
        """
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        chosen = np.flatnonzero(self.q_values <= fdr)
        order = chosen[np.lexsort((-np.abs(self.values[chosen]), self.p_values[chosen]))]
        lines = tuple(self._line(place) for place in order.tolist())
        return Listing(lines, PartialCorrelation._fields)

    def to_frame(self) -> pd.DataFrame:
        """Return all pairs as a pandas data frame.

        `gaps` says whether gaps of one of both go with one of the columns, or theirs with it.
        """
        names, touched = (
            np.array(self.columns, object),
            marks_of(self.release).touched(self.columns),
        )
        frame: pd.DataFrame = load_pandas().DataFrame(
            {
                "first": names[self.first],
                "second": names[self.second],
                "value": self.values,
                "standard_error": self.standard_errors,
                "low": self.low,
                "high": self.high,
                "p_value": self.p_values,
                "q_value": self.q_values,
                "told": self.told,
                "gaps": touched[self.first] | touched[self.second],
            }
        )
        return frame

    def summary(self, fdr: float = 0.1) -> str:
        """Return a text: the pairs that are related given all others, and what to know of it."""
        from dpcov.answers.partials_text import summarize

        return summarize(self, fdr)

    def _line(self, place: int) -> PartialCorrelation:
        return PartialCorrelation(
            first=self.columns[self.first[place]],
            second=self.columns[self.second[place]],
            value=float(self.values[place]),
            standard_error=float(self.standard_errors[place]),
            low=float(self.low[place]),
            high=float(self.high[place]),
            p_value=float(self.p_values[place]),
            q_value=float(self.q_values[place]),
            told=bool(self.told[place]),
        )

    def __repr__(self) -> str:
        untold = len(self) - int(self.told.sum())
        noisy = f", {untold:,} {TOO_NOISY}" if untold else ""
        return f"PartialCorrelations({len(self):,} pairs of {len(self.columns):,} columns{noisy})"

    def _repr_html_(self) -> str:
        from dpcov.answers.partials_text import HEADING, lines_of, sentences

        edges = self.edges()
        return show(repr(self), sentences(self, 0.1), HEADING, lines_of(edges), n_rows=len(edges))
