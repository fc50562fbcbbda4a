"""What every covariance estimate offers, however it was made.

Owns the questions that readers ask of an estimate: correlations, the inverse, synthetic rows,
the pairs that can be trusted, and how it was chosen. What is expensive is computed once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.multiplicity import count_pairs
from dpcov.parameters import check_count, check_number
from dpcov.postprocess.choice import RiskCurve
from dpcov.postprocess.inference import Edges, TrustedPairs, load_pandas
from dpcov.postprocess.psd import components
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
        return count_pairs(len(self.columns))

    @property
    def location(self) -> Array:
        """The center of the columns, in their own units: see `Release.location`."""
        return self.release.location

    @property
    @abstractmethod
    def pairs_kept(self) -> int:
        """How many pairs the estimate keeps as related."""

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
    def _find_edges(self, fdr: float) -> Edges: ...

    @abstractmethod
    def _find_trusted(
        self, edges: Edges, first: Places, second: Places, confidence: float
    ) -> TrustedPairs: ...

    @cached_property
    def _found(self) -> dict[tuple[float, ...], Any]:
        # Asked for by every table, picture and text of a page, at the same rate.
        return {}

    def edges(self, fdr: float = 0.1) -> Edges:
        """Return the pairs that are related, with a bounded share of false ones.

        Parameters
        ----------
        fdr : float, default 0.1
            The expected share of false pairs on the list, at most, for rows that are about
            Gaussian. All pairs of columns count as tested.
        """
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        if (fdr,) not in self._found:
            self._found[fdr,] = self._find_edges(fdr)
        edges: Edges = self._found[fdr,]
        return edges

    def trusted_pairs(self, fdr: float = 0.1, confidence: float = 0.95) -> TrustedPairs:
        """Return the pairs of `edges` as correlations with intervals, the surest first.

        Parameters
        ----------
        fdr : float, default 0.1
            See `edges`.
        confidence : float, default 0.95
            The probability that an interval covers its correlation. It is less for pairs
            that are on the list because noise made them large.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> rows[:, 3] += rows[:, 0]
        >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
        >>> pairs = estimate.trusted_pairs(fdr=1e-6)
        >>> pairs.first.tolist(), pairs.second.tolist()
        ([0], [3])
        """
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        confidence = check_number("confidence", confidence, low=0.0, high=1.0)
        if (fdr, confidence) not in self._found:
            edges = self.edges(fdr)
            place = {name: number for number, name in enumerate(self.columns)}
            first, second = (
                np.array([place[name] for name in names], dtype=np.intp)
                for names in (edges.first, edges.second)
            )
            self._found[fdr, confidence] = self._find_trusted(edges, first, second, confidence)
        pairs: TrustedPairs = self._found[fdr, confidence]
        return pairs

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
    def precision(self) -> Array:
        """The inverse of the covariance; its pseudo-inverse where that is singular."""
        from scipy.linalg import pinvh

        covariance = self._dense()
        result = np.diag(1.0 / np.diag(covariance))
        for members in components(covariance):
            place = np.ix_(members, members)
            inverse = pinvh(covariance[place])
            result[place] = (inverse + inverse.T) / 2
        result.setflags(write=False)
        return result

    def sample(self, n_rows: int, *, seed: int | None = None) -> Array:
        """Draw synthetic rows from the Gaussian with this covariance, about `location`.

        Parameters
        ----------
        n_rows : int
            How many.
        seed : int, optional
            For repeatable rows. They cost no privacy either way.
        """
        from scipy.linalg import eigh

        n_rows = check_count("n_rows", n_rows, low=1)
        generator = np.random.default_rng(
            None if seed is None else check_count("seed", seed, low=0)
        )
        covariance = self._dense()
        rows = generator.standard_normal((n_rows, len(self.columns)))
        deviation = np.sqrt(np.diag(covariance))
        linked = components(covariance)
        for members in linked:
            values, vectors = eigh(covariance[np.ix_(members, members)])
            # The symmetric root: it does not depend on the signs of the eigenvectors.
            root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            rows[:, members] = rows[:, members] @ root
        alone = np.setdiff1d(np.arange(len(deviation)), np.concatenate([[], *linked]))
        rows[:, alone.astype(np.intp)] *= deviation[alone.astype(np.intp)]
        rows += self.location
        return rows

    def to_frame(self) -> pd.DataFrame:
        """Return the covariance as a pandas data frame with the column names."""
        names = list(self.columns)
        frame: pd.DataFrame = load_pandas().DataFrame(self._dense(), index=names, columns=names)
        return frame
