"""Differences: numbers of two releases, how far they are apart, and which of them changed.

Owns that value, and the arithmetic of a difference: errors add up, since the two releases have
independent noise. Intervals of correlations are of Zou's (2007) kind, from the intervals of both,
so that they are right where these are lopsided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.answers.compared import WithErrors
from dpcov.answers.read_only import ReadOnly
from dpcov.digits import in_digits_of
from dpcov.errors import ParameterError
from dpcov.extras import load_pandas
from dpcov.multiplicity import q_values
from dpcov.notebook import show
from dpcov.parameters import check_number
from dpcov.postprocess.correlations import Released
from dpcov.postprocess.inference import interval_width
from dpcov.postprocess.listing import Listing
from dpcov.postprocess.pairs_table import Pairs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Change", "Differences", "correlation_differences", "differ", "differ_in_pairs"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

_ONE = {
    "correlations": "correlation",
    "covariances": "covariance",
    "deviations": "standard deviation",
    "means": "mean",
    "coefficients": "coefficient",
}


class Change(NamedTuple):
    """One number that changed from the first release to the second: see `Differences`."""

    of: str
    names: tuple[str, ...]
    before: float
    after: float
    difference: float
    standard_error: float
    low: float
    high: float
    q_value: float

    @property
    def in_words(self) -> str:
        """The change, as a sentence."""

        def text(number: float) -> str:
            return in_digits_of(self.standard_error, number)

        word = "rose" if self.difference > 0 else "fell"
        return (
            f"The {_ONE[self.of]} of {' and '.join(self.names)} {word} by "
            f"{text(abs(self.difference))}, from {text(self.before)} to {text(self.after)} "
            f"({text(self.low)} to {text(self.high)})."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Differences(ReadOnly):
    """How far numbers of one kind differ between two releases. Read-only arrays.

    Parameters
    ----------
    of : str
        What they are: ``"correlations"``, ``"covariances"``, ``"deviations"``, ``"means"`` or
        ``"coefficients"``.
    names : tuple of tuples of str
        What each is of: the two columns of a pair, or one name.
    before, after : ndarray
        The number in the first release and in the second.
    standard_error : ndarray
        Of the difference.
    low, high : ndarray
        The ends of its interval; of correlations within ±2.
    q_value : ndarray
        The smallest false discovery rate at which it is listed as changed; 1 if it is not told.
    told : ndarray of bool
        Whether both releases tell the number. If not, it is too noisy to compare.
    confidence : float
        The probability that an interval covers its difference.
    """

    of: str
    names: tuple[tuple[str, ...], ...]
    before: Array
    after: Array
    standard_error: Array
    low: Array
    high: Array
    q_value: Array
    told: Mask
    confidence: float

    @property
    def difference(self) -> Array:
        """The second release minus the first."""
        return np.asarray(self.after - self.before)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Change]:
        return self._lines(np.arange(len(self)))

    def _lines(self, places: Places) -> Iterator[Change]:
        numbers = (self.before, self.after, self.difference, self.standard_error)
        ends = (self.low, self.high, self.q_value)
        columns = [each[places].tolist() for each in (*numbers, *ends)]
        names = (self.names[place] for place in places.tolist())
        return (Change(self.of, *line) for line in zip(names, *columns, strict=True))

    def changed(self, fdr: float = 0.1) -> Listing[Change]:
        """Return what changed, the surest first.

        Parameters
        ----------
        fdr : float, default 0.1
            The expected share of false changes on the list, at most.
        """
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        size = np.abs(self.difference) / self.standard_error
        order = np.argsort(-size, kind="stable")
        chosen = order[(self.told & (self.q_value <= fdr))[order]]
        return Listing(tuple(self._lines(chosen)), Change._fields)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame."""
        titles = ("first", "second") if self.names and len(self.names[0]) == 2 else ("name",)
        named = zip(titles, zip(*self.names, strict=True), strict=False)
        data = {title: list(names) for title, names in named}
        numbers = ("before", "after", "difference", "standard_error", "low", "high", "q_value")
        data |= {name: getattr(self, name) for name in (*numbers, "told")}
        frame: pd.DataFrame = load_pandas().DataFrame(data)
        return frame

    def __repr__(self) -> str:
        untold = len(self) - int(self.told.sum())
        noisy = f", {untold:,} too noisy to tell" if untold else ""
        return f"Differences({len(self):,} {self.of}{noisy})"

    def _repr_html_(self) -> str:
        from dpcov.answers.comparison_text import HEADING, lines_of

        order = np.argsort(self.q_value, kind="stable").tolist()
        lines = lines_of(self, order)
        return show(repr(self), heading=HEADING, rows=lines, n_rows=len(self))


def differ(
    of: str,
    names: tuple[tuple[str, ...], ...],
    before: WithErrors,
    after: WithErrors,
    confidence: float,
    *,
    more: Array | float = 0.0,
    lists: Array | None = None,
) -> Differences:
    """Return the differences of numbers with normal errors.

    `more` is the sd of what else may make them differ, and `lists` says in which list each is
    tested: one, if not stated.
    """
    error = np.sqrt(before.standard_error**2 + after.standard_error**2 + np.square(more))
    told = before.told & after.told & np.isfinite(error)
    difference = after.values - before.values
    margin = interval_width(confidence) * error
    return Differences(
        of=of,
        names=names,
        before=before.values.copy(),
        after=after.values.copy(),
        standard_error=error,
        low=difference - margin,
        high=difference + margin,
        q_value=_tested(difference, error, told, lists),
        told=told,
        confidence=confidence,
    )


def correlation_differences(
    names: tuple[tuple[str, ...], ...],
    before: Released,
    after: Released,
    confidence: float,
    *,
    lists: Array | None = None,
) -> Differences:
    """Return the differences of correlations (Zou 2007, eq. 15)."""
    difference = after.values - before.values
    error = np.hypot(before.standard_error, after.standard_error)
    below = np.hypot(after.values - after.low, before.high - before.values)
    above = np.hypot(after.high - after.values, before.values - before.low)
    told = before.told & after.told
    return Differences(
        of="correlations",
        names=names,
        before=before.values.copy(),
        after=after.values.copy(),
        standard_error=error,
        low=np.maximum(difference - below, -2.0),
        high=np.minimum(difference + above, 2.0),
        q_value=_tested(difference, error, told, lists),
        told=told,
        confidence=confidence,
    )


def differ_in_pairs(before: Pairs, after: Pairs) -> Differences:
    """Return the differences of the correlations of pairs that both have, by their names."""
    place = {names: number for number, names in enumerate(map(frozenset, _named(after)))}
    both = [
        (number, place[frozenset(names)])
        for number, names in enumerate(_named(before))
        if frozenset(names) in place
    ]
    if not both:
        raise ParameterError(
            "There is nothing to compare: no pair of columns has the same names in both."
        )
    here, there = np.array(both, dtype=np.intp).T
    names = tuple(_named(before.chosen(here)))
    one, other = (_released(pairs.chosen(at)) for pairs, at in ((before, here), (after, there)))
    return correlation_differences(names, one, other, before.confidence)


def _released(pairs: Pairs) -> Released:
    return Released(pairs.released, pairs.standard_error, pairs.low, pairs.high, pairs.told)


def _named(pairs: Pairs) -> list[tuple[str, ...]]:
    names = pairs.columns
    ends = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return [(names[i], names[j]) for i, j in ends]


def _tested(difference: Array, error: Array, told: Mask, lists: Array | None) -> Array:
    """Return q-values: of numbers that are told, in each list by itself."""
    result = np.ones(len(difference))
    lists = np.zeros(len(difference)) if lists is None else lists
    for each in np.unique(lists):
        chosen = told & (lists == each)
        sizes = np.abs(difference[chosen]) / error[chosen]
        result[chosen] = q_values(sizes, n_tests=len(sizes))
    return result
