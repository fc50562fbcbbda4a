"""SparseCovariance and PairsCovariance: the thin scikit-learn faces of release and estimate.

Owns nothing but the contract: a constructor without logic, ``fit``, and learned
attributes that end in an underscore and hold no raw data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError, MissingExtraError, ParameterError
from dpcov.mechanisms.covariance import release
from dpcov.mechanisms.door import Facts, refused_for_free
from dpcov.mechanisms.options import read_facts
from dpcov.mechanisms.strongest_pairs import Center, Scales, release_pairs
from dpcov.parameters import check_choice, check_number
from dpcov.postprocess.estimate import Estimate, check_options
from dpcov.postprocess.pairs_estimate import PairsEstimate
from dpcov.postprocess.psd import METHODS
from dpcov.postprocess.rules import Rule
from dpcov.releases import AnyRelease, PairsRelease, Release
from dpcov.sensitive.tables import is_streamed, open_table

try:
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.utils.validation import validate_data
except ModuleNotFoundError:
    raise MissingExtraError(
        "SparseCovariance and PairsCovariance need scikit-learn: pip install 'dpcov[sklearn]'"
    ) from None

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PairsCovariance", "SparseCovariance"]


# What both functions take and mean alike.
_SHARED = (
    "epsilon",
    "delta",
    "columns",
    "row_norm",
    "neighbors",
    "shares",
    "missing",
    "privacy_unit",
    "rows_per_unit",
    "engine",
    "seed",
)


class _PrivateCovariance(EmpiricalCovariance):  # type: ignore[misc]
    """What both estimators share: one release, one estimate, and what scikit-learn asks for."""

    # What EmpiricalCovariance's own methods look at; not parameters here.
    store_precision = True
    assume_centered = True

    columns: Facts | None
    privacy_unit: str | None
    covariance_: npt.NDArray[np.float64]
    correlation_: npt.NDArray[np.float64]
    precision_: npt.NDArray[np.float64]
    support_: npt.NDArray[np.bool_]
    location_: npt.NDArray[np.float64]
    release_: AnyRelease
    estimate_: Estimate | PairsEstimate

    @abstractmethod
    def _check(self) -> None:
        """Refuse options of the estimate before anything is spent."""

    @abstractmethod
    def _release(self, X: Any, **stated: Any) -> AnyRelease:
        """Spend the budget."""

    @abstractmethod
    def _estimate(self, released: Any) -> Any:
        """Return what the release shows."""

    def fit(self, X: Any, y: None = None) -> Self:
        """Make a release of X and estimate the covariance. Spends the budget.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            One row for each person, or several with `privacy_unit`.
        y : ignored

        Returns
        -------
        self
        """
        with refused_for_free():
            self._check()
            X = _plain_numbers(_in_memory(X))
            names = getattr(X, "columns", ())
            if len({isinstance(name, str) for name in names}) > 1:
                raise InputError("The column labels of X must all be strings, or none of them.")
        released = self._release(X, **{name: getattr(self, name) for name in _SHARED})
        estimate = self._estimate(released)
        X = self._used(X, released)
        names = getattr(X, "columns", ())
        validate_data(self, X, skip_check_array=True)
        if not hasattr(self, "feature_names_in_") and _are_names(names):
            # scikit-learn before 1.8 does not know the names of polars frames.
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.release_ = released
        self.estimate_ = estimate
        self.covariance_ = estimate.covariance
        self.correlation_ = estimate.correlation
        self.precision_ = estimate.precision
        self.support_ = estimate.support
        self.location_ = np.array(released.location)
        return self

    def score(self, X_test: Any, y: None = None) -> float:
        """Return the log-likelihood of rows, as scikit-learn does. Not private."""
        return float(super().score(self._readable(X_test), y))

    def mahalanobis(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the squared Mahalanobis distances of rows, as scikit-learn does. Not private."""
        distances: npt.NDArray[np.float64] = super().mahalanobis(self._readable(X))
        return distances

    def _readable(self, X: Any) -> Any:
        """Refuse what is not numeric before scikit-learn does: its message would quote a cell."""
        X = _plain_numbers(_in_memory(X))
        if hasattr(self, "release_"):
            X = self._used(X, self.release_)
        open_table(X, fewest_rows=1)
        return X

    def _used(self, X: Any, released: AnyRelease) -> Any:
        """Return the columns of X that were released, in their order."""
        facts = read_facts(self.columns)
        if facts is None and self.privacy_unit is None:
            return X
        labels = [f"x{place}" for place in range(X.shape[1])]
        if facts is None and self.columns is not None:
            labels = [str(name) for name in cast(Sequence[str], self.columns)]
        elif not isinstance(X, np.ndarray):
            labels = [str(name) for name in X.columns]
        if not set(released.columns) <= set(labels):
            raise InputError("X does not have the columns that were released.")
        places = [labels.index(name) for name in released.columns]
        return X.iloc[:, places] if hasattr(X, "iloc") else X[:, places]


class SparseCovariance(_PrivateCovariance):
    """Sparse covariance with a differential-privacy promise, as a scikit-learn estimator.

    ``fit`` spends the privacy budget once; everything else is post-processing of what was
    released. The promise is about the rows that ``fit`` is given: a step before it that
    learns from the data (StandardScaler, an imputer, PCA) is not covered, and one that
    calls ``fit`` again on the same people (GridSearchCV) spends the budget each time.

    Parameters
    ----------
    epsilon, delta, columns, row_norm, neighbors, shares, missing, privacy_unit, rows_per_unit, \
engine, seed
        See `dpcov.release`. There is no default for the first two.
    rule, level, gamma, sparse, psd
        See `dpcov.Release.estimate`.

    Attributes
    ----------
    covariance_, correlation_, precision_ : ndarray, shape (n_features, n_features)
        The estimate, its correlations and its (pseudo-)inverse.
    support_ : ndarray of bool, shape (n_features, n_features)
        Which entries are kept.
    location_ : ndarray, shape (n_features,)
        The noisy mean.
    release_ : Release
        What was released, with its noise scale and promise.
    estimate_ : Estimate
        The estimate with its standard errors, intervals and edges.
    n_features_in_ : int
        The number of columns that were released.
    feature_names_in_ : ndarray of str
        Their names, when X was a data frame.

    Notes
    -----
    ``score``, ``mahalanobis`` and ``error_norm`` mean what they mean in scikit-learn. The
    first two read rows and return numbers computed from them without noise: they are not
    covered by the promise. A covariance that had to be made positive semi-definite is
    singular: its precision is a pseudo-inverse, and ``score`` is minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> model = SparseCovariance(epsilon=1.0, delta=1e-6, row_norm=4.0).fit(rows)
    >>> model.covariance_.shape
    (3, 3)
    >>> print(model.release_.promise)
    (1, 1e-06)-differential privacy, replace-one neighbors
    """

    release_: Release
    estimate_: Estimate

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        columns: Facts | None = None,
        row_norm: float | None = None,
        neighbors: str = "replace",
        shares: Mapping[str, float] | None = None,
        missing: str = "refuse",
        privacy_unit: str | None = None,
        rows_per_unit: int | None = None,
        engine: Any = None,
        rule: str | Rule = "auto",
        level: str | float = "thinned",
        gamma: float | None = None,
        sparse: bool = True,
        psd: str = "sparse",
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.row_norm = row_norm
        self.neighbors = neighbors
        self.shares = shares
        self.missing = missing
        self.privacy_unit = privacy_unit
        self.rows_per_unit = rows_per_unit
        self.engine = engine
        self.rule = rule
        self.level = level
        self.gamma = gamma
        self.sparse = sparse
        self.psd = psd
        self.seed = seed

    def _options(self) -> dict[str, Any]:
        names = ("rule", "level", "gamma", "sparse", "psd")
        return {name: getattr(self, name) for name in names}

    def _check(self) -> None:
        check_options(**self._options())

    def _release(self, X: Any, **stated: Any) -> Release:
        return release(X, **stated)

    def _estimate(self, released: Release) -> Estimate:
        return released.estimate(**self._options())


class PairsCovariance(_PrivateCovariance):
    """The strongest pairs of many columns, as a scikit-learn estimator.

    As `SparseCovariance`, for hundreds or thousands of columns of which few are related.

    Parameters
    ----------
    epsilon, delta, max_pairs, columns, center, scales, row_norm, cell_bound, neighbors, shares, \
missing, privacy_unit, rows_per_unit, engine, seed
        See `dpcov.release_pairs`. There is no default for the first three. ``covariance_`` needs
        variances: `row_norm`, or public `scales`; or ``scales="none"`` for correlations.
    fdr, psd
        See `dpcov.PairsRelease.estimate`.

    Attributes
    ----------
    covariance_, correlation_, precision_, support_, n_features_in_, feature_names_in_
        As those of `SparseCovariance`.
    location_ : ndarray, shape (n_features,)
        The mean, if variances were released about a center; if not, that center, or zeros.
    release_ : PairsRelease
        What was released, with its noise scale and promise.
    estimate_ : PairsEstimate
        The estimate with its standard errors, intervals and edges.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 30))
    >>> model = PairsCovariance(epsilon=1.0, delta=1e-6, max_pairs=5, scales="none").fit(rows)
    >>> model.correlation_.shape
    (30, 30)
    """

    release_: PairsRelease
    estimate_: PairsEstimate

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        max_pairs: int,
        columns: Facts | None = None,
        center: Center = None,
        scales: Scales = None,
        row_norm: float | None = None,
        cell_bound: float | None = None,
        neighbors: str = "replace",
        shares: Mapping[str, float] | None = None,
        missing: str = "refuse",
        privacy_unit: str | None = None,
        rows_per_unit: int | None = None,
        engine: Any = None,
        fdr: float = 0.1,
        psd: str = "sparse",
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.max_pairs = max_pairs
        self.columns = columns
        self.center = center
        self.scales = scales
        self.row_norm = row_norm
        self.cell_bound = cell_bound
        self.neighbors = neighbors
        self.shares = shares
        self.missing = missing
        self.privacy_unit = privacy_unit
        self.rows_per_unit = rows_per_unit
        self.engine = engine
        self.fdr = fdr
        self.psd = psd
        self.seed = seed

    def _check(self) -> None:
        check_number("fdr", self.fdr, low=0.0, high=1.0)
        check_choice("psd", self.psd, METHODS)
        if self.row_norm is None and self.scales is None:
            raise ParameterError(
                "covariance_ needs variances: give row_norm= (and cell_bound=), or public "
                "scales=; or scales='none' for a covariance_ that is a correlation matrix."
            )

    def _release(self, X: Any, **stated: Any) -> PairsRelease:
        own = ("max_pairs", "center", "scales", "cell_bound")
        return release_pairs(X, **stated, **{name: getattr(self, name) for name in own})

    def _estimate(self, released: PairsRelease) -> PairsEstimate:
        return released.estimate(fdr=self.fdr, psd=self.psd)


def _in_memory(X: Any) -> Any:
    """Refuse, before anything is spent, what scikit-learn could not look at afterwards."""
    if is_streamed(X):
        raise InputError(
            "An estimator takes arrays and data frames in memory. Sparse matrices, files and "
            "streams go to dpcov.release(table, ...).estimate()."
        )
    return X


def _are_names(names: Any) -> bool:
    return len(names) > 0 and all(isinstance(name, str) for name in names)


def _plain_numbers(X: Any) -> Any:
    """Unpack what scikit-learn accepts and dpcov does not: arrays of Python numbers."""
    if not (isinstance(X, np.ndarray) and X.dtype == object):
        return X
    problem: Exception | None = None
    try:
        return X.astype(np.float64)
    except TypeError:
        problem = TypeError("Each cell of X: argument must be a string or a real number.")
    except Exception:  # whatever a cell's own conversion says may quote it
        problem = InputError("X must hold real numbers; a cell of it cannot be read as one.")
    raise problem
