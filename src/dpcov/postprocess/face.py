"""What every covariance estimate offers, however it was made.

Owns the questions that readers ask of an estimate: correlations, the inverse, synthetic rows,
the pairs of columns, and how it was chosen. What is expensive is computed once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.columns.stated import did_you_mean
from dpcov.errors import ParameterError
from dpcov.extras import load_pandas
from dpcov.multiplicity import count_pairs
from dpcov.notebook import show
from dpcov.parameters import check_choice, check_count, check_number
from dpcov.postprocess.choice import RiskCurve
from dpcov.postprocess.correlations import Released
from dpcov.postprocess.inference import Edges, Listed
from dpcov.postprocess.pairs_table import Pair, Pairs
from dpcov.postprocess.psd import components
from dpcov.postprocess.suppression import marks_of
from dpcov.postprocess.synthetic import draw_table
from dpcov.releases import AnyRelease

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array

__all__ = ["Chosen", "CovarianceEstimate"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How an estimate decides which pairs it keeps.

    Parameters
    ----------
    rule : str
        What is done with an entry.
    threshold : float
        How far it must stand out; infinite when nothing is kept.
    threshold_is : str
        In what it is measured.
    paper_threshold : float, optional
        The paper's, in working units: one for all entries.
    by : str
        Who chose.
    in_words : str
        All of it, in a few words.
    """

    rule: str
    threshold: float
    threshold_is: str
    paper_threshold: float | None
    by: str
    in_words: str


@dataclass(frozen=True, kw_only=True, eq=False)
class CovarianceEstimate(ABC):
    """The common part of estimates: a covariance matrix with names.

    Parameters
    ----------
    release : Release or PairsRelease
        Where it came from.
    psd : str
        How it was made positive semi-definite.
    """

    release: AnyRelease
    psd: str

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names."""
        return self.release.columns

    @property
    def n_pairs(self) -> int:
        """The number of pairs of columns, related or not."""
        return self.release.n_pairs

    @property
    def location(self) -> Array:
        """The center of the columns, in their own units: see `Release.location`."""
        return self.release.location

    @property
    @abstractmethod
    def pairs_kept(self) -> int:
        """How many pairs the estimate does not set to zero. Which are related, `edges` says."""

    @property
    @abstractmethod
    def chosen(self) -> Chosen:
        """The rule and the threshold, and who chose them."""

    @property
    @abstractmethod
    def asked(self) -> dict[str, Any] | None:
        """The options of ``release.estimate`` that make it again; None for a caller's own rule."""

    @property
    @abstractmethod
    def risk_curve(self) -> RiskCurve | None:
        """The estimated risk of every rule at every threshold, when thinning chose."""

    @property
    @abstractmethod
    def smallest_detectable_correlation(self) -> float:
        """The correlation that this release would have shown with probability one half."""

    @property
    @abstractmethod
    def deviations(self) -> Array:
        """The standard deviations of the columns, in their own units."""

    @property
    @abstractmethod
    def released_deviations(self) -> Array:
        """Those that follow from the release, whatever the estimate keeps of it."""

    @property
    @abstractmethod
    def kept_correlations(self) -> csr_array:
        """The correlations of the estimate off the diagonal, without its zeros."""

    @property
    @abstractmethod
    def eigenvalues(self) -> Array:
        """The eigenvalues of the estimate, the largest first."""

    @property
    @abstractmethod
    def released_eigenvalues(self) -> Array | None:
        """Those of the release, in the same units; None if it has no matrix."""

    @abstractmethod
    def eigenvalue_interval(self, confidence: float = 0.95) -> tuple[Array, Array] | None:
        """Return intervals for the largest eigenvalues; None if the release has no matrix."""

    @property
    @abstractmethod
    def noise_floor(self) -> float | None:
        """The largest eigenvalue that noise alone would produce; None without a matrix."""

    @abstractmethod
    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for what was released."""

    @abstractmethod
    def entries(self) -> tuple[Places, Places, Array]:
        """Return the entries on and above the diagonal that are not zero: places and values."""

    @abstractmethod
    def entries_at(self, first: Places, second: Places) -> Array:
        """Return the covariances of some pairs."""

    @abstractmethod
    def _dense(self) -> Array:
        """Return the matrix."""

    @abstractmethod
    def correlation_interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals for the correlations, within ±1."""

    @abstractmethod
    def _find_edges(self, fdr: float) -> Listed: ...

    @abstractmethod
    def _tested(self) -> tuple[Places, Places, Array]:
        """Return the pairs of which something was released, in rising order, with q-values."""

    @abstractmethod
    def _released_at(self, first: Places, second: Places, confidence: float) -> Released: ...

    @cached_property
    def _is_level(self) -> npt.NDArray[np.bool_]:
        """Which columns are levels of a category."""
        design = getattr(self.release, "design", None)
        return np.zeros(len(self.columns), np.bool_) if design is None else ~design.is_number

    @cached_property
    def _found(self) -> dict[tuple[str | float, ...], Any]:
        # Asked for by every table, picture and text of a page, at the same rate.
        return {}

    def edges(self, fdr: float = 0.1, *, confidence: float = 0.95) -> Edges:
        """Return the pairs that are related, with a bounded share of false ones.

        Parameters
        ----------
        fdr : float, default 0.1
            The expected share of false pairs on the list, at most, for rows that are about
            Gaussian. All pairs of columns count as tested.
        confidence : float, default 0.95
            The probability that an interval covers its correlation. It is less for pairs
            that are on the list because noise made them large.

        Returns
        -------
        Edges
            The surest first. Where there are categories these are two lists, each with this rate:
            `Edges.numbers`, the pairs of two numbers, and `Edges.levels`, those with a level. In
            a data frame the column ``with_level`` says which one a pair is on.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> rows[:, 3] += rows[:, 0]
        >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
        >>> [(edge.first, edge.second, edge.told) for edge in estimate.edges(fdr=1e-6)]
        [('x0', 'x3', True)]
        """
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        confidence = check_number("confidence", confidence, low=0.0, high=1.0)
        key = ("edges", fdr, confidence)
        if key not in self._found:
            listed = self._find_edges(fdr)
            pairs = self._pairs_at(listed.first, listed.second, listed.q_value, confidence)
            self._found[key] = Edges(listed.value, listed.standard_error, pairs)
        edges: Edges = self._found[key]
        return edges

    def pairs(self, confidence: float = 0.95) -> Pairs:
        """Return what is known of all pairs of which something was released.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers its correlation.

        Returns
        -------
        Pairs
            All pairs of columns, row by row above the diagonal of the matrix; of a release of
            the strongest pairs, these. `edges` says which of them are related.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> rows[:, 3] += rows[:, 0]
        >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
        >>> pairs = estimate.pairs()
        >>> pairs
        Pairs(6 of 4 columns)
        >>> bool(((pairs.low <= pairs.released) & (pairs.released <= pairs.high)).all())
        True
        """
        confidence = check_number("confidence", confidence, low=0.0, high=1.0)
        key = ("pairs", confidence)
        if key not in self._found:
            self._found[key] = self._pairs_at(*self._tested(), confidence)
        pairs: Pairs = self._found[key]
        return pairs

    def _pairs_at(self, first: Places, second: Places, q_value: Array, confidence: float) -> Pairs:
        released = self._released_at(first, second, confidence)
        unit = self.deviations[first] * self.deviations[second]
        marks = marks_of(self.release)
        return Pairs(
            columns=self.columns,
            first=first,
            second=second,
            correlation=np.clip(self.entries_at(first, second) / unit, -1.0, 1.0),
            released=released.values,
            standard_error=released.standard_error,
            low=released.low,
            high=released.high,
            q_value=q_value,
            told=released.told,
            with_level=self._is_level[first] | self._is_level[second],
            limited=marks.limited_pairs(first, second),
            gaps=marks.dependent_pairs(first, second),
            confidence=confidence,
        )

    def __getitem__(self, names: tuple[str, str]) -> Pair:
        """Return what is known of two columns: ``estimate["age", "income"]``."""
        first, second = self._places_of(names)
        pairs = self.pairs()
        place = np.flatnonzero(
            (pairs.first == min(first, second)) & (pairs.second == max(first, second))
        )
        if not len(place):
            raise ParameterError(
                f"{names[0]!r} and {names[1]!r} are not among the pairs that were released: "
                "nothing is known of them."
            )
        one = {
            name: getattr(pairs, name)[place[0]].item()
            for name in (
                *("correlation", "released", "standard_error", "q_value"),
                *("told", "limited", "gaps"),
            )
        }
        covariance = self.entries_at(np.array([first]), np.array([second]))[0]
        return Pair(
            first=names[0],
            second=names[1],
            covariance=float(covariance),
            interval=(float(pairs.low[place[0]]), float(pairs.high[place[0]])),
            confidence=pairs.confidence,
            **one,
        )

    def _places_of(self, names: tuple[str, str]) -> tuple[int, int]:
        if not (isinstance(names, tuple) and len(names) == 2 and names[0] != names[1]):
            raise ParameterError(
                'A pair is two different column names, as in estimate["age", "income"].'
            )
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            meant = did_you_mean(unknown[0], self.columns)
            raise ParameterError(f"There is no column {unknown[0]!r}{meant}: see estimate.columns.")
        return self.columns.index(names[0]), self.columns.index(names[1])

    # Without this, iterating would ask for a pair called 0.
    __iter__ = None

    @cached_property
    def correlation(self) -> Array:
        """The correlation matrix of the estimate, with ones on its diagonal.

        None is beyond ±1: where ``psd="none"`` leaves a covariance too large for its
        variances, it is ±1.
        """
        covariance = self._dense()
        deviation = np.sqrt(np.diag(covariance))
        result: Array = covariance / np.outer(deviation, deviation)
        np.clip(result, -1.0, 1.0, out=result)
        np.fill_diagonal(result, 1.0)
        result.setflags(write=False)
        return result

    @cached_property
    def condition(self) -> float:
        """The condition number of the correlations: their largest eigenvalue over their smallest.

        Infinite if they have no inverse, which ``psd="clip"`` and ``"none"`` may leave. How far an
        error of the correlations can grow in what is computed from their inverse.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate(threshold=9)
        >>> estimate.condition
        1.0
        """
        kept, low, high = self.kept_correlations, 1.0, 1.0
        for members in components(kept):
            values = np.linalg.eigvalsh(kept[members][:, members].toarray() + np.eye(len(members)))
            low, high = min(low, float(values[0])), max(high, float(values[-1]))
        rounding = len(self.columns) * float(np.finfo(float).eps) * high
        return high / low if low > rounding else math.inf

    @cached_property
    def precision(self) -> Array:
        """The inverse of the covariance; its pseudo-inverse where that is singular."""
        from scipy.linalg import pinvh

        covariance = self._dense()
        deviation = np.sqrt(np.diag(covariance))
        result = np.diag(1.0 / np.diag(covariance))
        for members in components(covariance):
            place = np.ix_(members, members)
            # As correlations, so that units do not decide what counts as singular.
            unit = np.outer(deviation[members], deviation[members])
            inverse = pinvh(covariance[place] / unit) / unit
            result[place] = (inverse + inverse.T) / 2
        result.setflags(write=False)
        return result

    def sample(self, n_rows: int, *, seed: int | None = None) -> pd.DataFrame:
        """Draw synthetic rows with this covariance, about `location`.

        Parameters
        ----------
        n_rows : int
            How many.
        seed : int, optional
            For repeatable rows. They cost no privacy either way.

        Returns
        -------
        pandas.DataFrame
            With the columns of the table. Numbers are Gaussian, given the levels of the categories;
            those beyond `Release.limits` are at the limit, as those of the table were. A category
            is one column, a `pandas.Categorical` that has its levels with the released shares. No
            cell is missing. A release does not know which numbers are whole: ordered levels
            are numbers between the first and the last.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> sex = np.random.default_rng(0).integers(0, 2, 20_000)
        >>> people = pd.DataFrame({"sex": pd.Categorical.from_codes(sex, ["f", "m"])})
        >>> people["income"] = np.random.default_rng(1).normal(3000 + 500 * sex, 800)
        >>> facts = {"sex": {"levels": ["f", "m"]}, "income": {}}
        >>> release = dpcov.release(people, epsilon=1, delta=1e-6, columns=facts, seed=0)
        >>> drawn = release.estimate().sample(10_000, seed=0)
        >>> drawn["sex"].cat.categories.tolist()
        ['f', 'm']
        >>> drawn.groupby("sex", observed=True)["income"].mean().round(-2).tolist()
        [3000.0, 3500.0]
        """
        design = getattr(self.release, "design", None) or Design.numbers_of(self.columns)
        return draw_table(
            self._dense(),
            self.location,
            design,
            limits=getattr(self.release, "limits", None),
            n_rows=check_count("n_rows", n_rows, low=1),
            seed=None if seed is None else check_count("seed", seed, low=0),
        )

    def to_frame(self, of: str = "covariance") -> pd.DataFrame:
        """Return a matrix of the estimate as a pandas data frame with the column names.

        What has no names in its array gets them by ``to_frame``: this is so for edges and
        pairs, too.

        Parameters
        ----------
        of : {"covariance", "correlation", "precision"}
            Which matrix.
        """
        of = check_choice("of", of, ("covariance", "correlation", "precision"))
        matrix = self._dense() if of == "covariance" else getattr(self, of)
        names = list(self.columns)
        frame: pd.DataFrame = load_pandas().DataFrame(matrix, index=names, columns=names)
        return frame

    def _repr_html_(self) -> str:
        edges = self.edges()
        numbers, n_numbers = edges.numbers, count_pairs(int((~self._is_level).sum()))
        lists = [("pairs", edges, self.n_pairs)]
        if self._is_level.any():
            with_levels = self.n_pairs - n_numbers
            lists = [
                ("pairs of numbers", numbers, n_numbers),
                ("pairs with a level of a category", edges.levels, with_levels),
            ]
        sentences = [
            f"{len(found):,} of {n_pairs:,} {what} are related at a false discovery rate of 10 %."
            for what, found, n_pairs in lists
        ]
        if len(edges):
            sentences[-1] += " The surest:"
        return show(repr(self), sentences, edges.HEADING, edges.cells(), n_rows=len(edges))
