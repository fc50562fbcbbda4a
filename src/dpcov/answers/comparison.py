"""Comparison: what differs between two releases.

Owns the value that a comparison gives, and the order in which its numbers are made. Both releases
have noise of their own; rows are taken to be drawn independently, or not to be in question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.answers.comparability import LeftOut, Shared, share_columns
from dpcov.answers.compared import WithErrors
from dpcov.answers.differences import Change, Differences, correlation_differences, differ
from dpcov.answers.fit import Fit
from dpcov.answers.regression import regress
from dpcov.errors import ParameterError
from dpcov.notebook import show
from dpcov.parameters import check_choice, check_number
from dpcov.postprocess.inference import interval_width
from dpcov.postprocess.listing import Listing
from dpcov.releases import Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLES", "Comparison", "compare"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

TABLES = ("correlations", "covariances", "deviations", "means")
"""What two releases are compared by; coefficients need a regression to be stated."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """What differs between two releases, second minus first. Made by `Release.compare`.

    Parameters
    ----------
    first, second : Release
        What is compared.
    shared : Shared
        By which columns.
    about : {"population", "table"}
        Of whom: see `Release.compare`.
    confidence : float
        The probability that an interval covers its difference.
    fdr : float
        The expected share of false changes in a list of them, at most.
    """

    first: Release
    second: Release
    shared: Shared
    about: str
    confidence: float
    fdr: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared, levels of categories as column=level."""
        return self.shared.columns

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The columns that are not, or by their correlations only, and why."""
        return self.shared.left_out

    @cached_property
    def correlations(self) -> Differences:
        """How the correlations differ."""
        first, second = self._pairs
        width = interval_width(self.confidence)
        one, other = (
            side.correlations(first, second, width)
            for side in (self.shared.first, self.shared.second)
        )
        names, lists = self._pair_names(first, second), self._lists(first, second)
        return correlation_differences(names, one, other, self.confidence, lists=lists)

    @cached_property
    def covariances(self) -> Differences:
        """How the covariances differ, in the columns' own units."""
        first, second = self._pairs
        one, other = (
            side.covariances(first, second) for side in (self.shared.first, self.shared.second)
        )
        moved = self.shared.limits.deviation
        limits = np.hypot(moved[first], moved[second]) * (np.abs(one.values + other.values) / 2)
        names, lists = self._pair_names(first, second), self._lists(first, second)
        return differ("covariances", names, one, other, self.confidence, more=limits, lists=lists)

    @cached_property
    def deviations(self) -> Differences:
        """How the standard deviations of numbers differ."""
        chosen = np.flatnonzero(self.shared.is_number)
        one, other = (
            _chosen(side.deviations, chosen) for side in (self.shared.first, self.shared.second)
        )
        limits = self.shared.limits.deviation[chosen] * (one.values + other.values) / 2
        names = tuple((self.columns[place],) for place in chosen.tolist())
        return differ("deviations", names, one, other, self.confidence, more=limits)

    @cached_property
    def means(self) -> Differences:
        """How the means differ, and the shares of levels; none, if means were not released."""
        chosen = np.arange(len(self.columns) if self.first.has_mean else 0)
        one, other = (
            _chosen(side.means, chosen) for side in (self.shared.first, self.shared.second)
        )
        names = tuple((self.columns[place],) for place in chosen.tolist())
        limits = self.shared.limits.mean[chosen]
        lists = np.where(self.shared.is_number[chosen], 0.0, 1.0)
        return differ("means", names, one, other, self.confidence, more=limits, lists=lists)

    def coefficients(
        self,
        outcome: str,
        on: Sequence[str],
        *,
        references: Mapping[str, str] | None = None,
    ) -> Differences:
        """Return how the coefficients of a regression differ: intercept and slopes.

        Parameters
        ----------
        outcome : str
            What is predicted.
        on : list of str
            By what: see `Release.regress`.
        references : mapping, optional
            With which level the others of a category are compared.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rng = np.random.default_rng(0)
        >>> def wave(slope, seed):
        ...     rows = rng.normal(size=(20_000, 2))
        ...     rows[:, 1] += slope * rows[:, 0]
        ...     return dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=seed)
        >>> found = wave(0.2, seed=1).compare(wave(0.6, seed=2)).coefficients("x1", on=["x0"])
        >>> [change.names for change in found.changed(fdr=1e-6)]
        [('x0',)]
        """
        self._check_shared([outcome, *on])
        fits = [
            regress(each, [outcome], on, about=self.about, references=references).fits[0]
            for each in (self.first, self.second)
        ]
        if fits[0].terms.references != fits[1].terms.references:
            references = fits[0].terms.references
            return self.coefficients(outcome, on, references=references)
        unknown = {outcome, *fits[0].predictors} - set(self.columns)
        if unknown:
            raise ParameterError(f"{min(unknown)!r} is not among the columns that are compared.")
        one, other = (WithErrors(fit.coefficients, fit.standard_errors, fit.told) for fit in fits)
        names = tuple((name,) for name in fits[0].names)
        limits = self._limits_of_slopes(fits)
        return differ("coefficients", names, one, other, self.confidence, more=limits)

    def changed(self, of: str = "correlations", fdr: float | None = None) -> Listing[Change]:
        """Return what changed, with a bounded share of false changes, the surest first.

        Parameters
        ----------
        of : {"correlations", "covariances", "deviations", "means"}
            Which numbers; each is a list of its own, and so are those with a level of a category.
        fdr : float, optional
            The expected share of false changes on the list, at most; that of the comparison, if
            not stated.
        """
        return self._table(of).changed(self.fdr if fdr is None else fdr)

    def to_frame(self, of: str = "correlations") -> pd.DataFrame:
        """Return the differences of one kind as a pandas data frame.

        Parameters
        ----------
        of : {"correlations", "covariances", "deviations", "means"}
            Which numbers.
        """
        return self._table(of).to_frame()

    def summary(self) -> str:
        """Return the comparison as a text: what changed, and what to know of it."""
        from dpcov.answers.comparison_text import summarize

        return summarize(self)

    def __repr__(self) -> str:
        rows = " and ".join(f"{each.n_rows:,}" for each in (self.first, self.second))
        return f"Comparison({len(self.columns)} columns, {rows} rows)"

    def _repr_html_(self) -> str:
        from dpcov.answers.comparison_text import HEADING, found, listed, sentences

        said = [found(self, of) for of in TABLES if len(self._table(of))]
        lines = listed(self, "correlations")
        return show(repr(self), [*said, *sentences(self)], HEADING, lines, n_rows=len(lines))

    def _table(self, of: str) -> Differences:
        table: Differences = getattr(self, check_choice("of", of, TABLES))
        return table

    @cached_property
    def _pairs(self) -> tuple[Places, Places]:
        """All pairs of columns, but for levels of one category."""
        first, second = np.triu_indices(len(self.columns), k=1)
        apart = self.shared.field_of[first] != self.shared.field_of[second]
        return first[apart], second[apart]

    def _pair_names(self, first: Places, second: Places) -> tuple[tuple[str, ...], ...]:
        names = self.columns
        ends = zip(first.tolist(), second.tolist(), strict=True)
        return tuple((names[i], names[j]) for i, j in ends)

    def _lists(self, first: Places, second: Places) -> Array:
        """Return which list each pair is in: of numbers, or with a level of a category."""
        is_number = self.shared.is_number
        return np.where(is_number[first] & is_number[second], 0.0, 1.0)

    def _check_shared(self, names: Sequence[str]) -> None:
        """Refuse columns that are left out, by their names or by those of their levels."""
        for name in names:
            for each in self.left_out:
                if name == each.column or name.startswith(f"{each.column}="):
                    raise ParameterError(each.in_words)

    def _limits_of_slopes(self, fits: Sequence[Fit]) -> Array:
        """Return how far limits alone may move coefficients: slopes as deviations move."""
        place = {name: number for number, name in enumerate(self.columns)}
        inputs = [place[name] for name in fits[0].predictors]
        outcome = place[fits[0].outcome]
        slopes = np.abs(fits[0].coefficients[1:] + fits[1].coefficients[1:]) / 2
        moved = self.shared.limits.deviation
        of_slopes = slopes * np.hypot(moved[inputs], moved[outcome])
        means = np.abs(self.shared.first.means.values[inputs])
        parts = (*(of_slopes * means), self.shared.limits.mean[outcome])
        return np.append(np.sqrt(np.sum(np.square(parts))), of_slopes)


def compare(
    first: Release,
    second: object,
    columns: Sequence[str] | None,
    *,
    about: str,
    confidence: float,
    fdr: float,
) -> Comparison:
    """Compare two releases: see `Release.compare`."""
    confidence = check_number("confidence", confidence, low=0.0, high=1.0)
    fdr = check_number("fdr", fdr, low=0.0, high=1.0)
    shared = share_columns(first, second, columns, about)
    return Comparison(
        first=first,
        second=shared.second.release,
        shared=shared,
        about=about,
        confidence=confidence,
        fdr=fdr,
    )


def _chosen(known: WithErrors, places: Places) -> WithErrors:
    return WithErrors(known.values[places], known.standard_error[places], known.told[places])
