"""SparseCovariance: the thin scikit-learn face of release and estimate.

Owns nothing but the contract: a constructor without logic, ``fit``, and learned
attributes that end in an underscore and hold no raw data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError, MissingExtraError, ParameterError
from dpcov.mechanisms.door import release
from dpcov.mechanisms.radius import PrivateRadius
from dpcov.parameters import check_number
from dpcov.postprocess.estimate import Estimate, check_options
from dpcov.postprocess.pairs_estimate import PairsEstimate
from dpcov.postprocess.rules import Rule
from dpcov.releases import PairsRelease, Release
from dpcov.sensitive.tables import is_streamed, open_table

try:
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.utils.validation import validate_data
except ModuleNotFoundError:
    raise MissingExtraError(
        "SparseCovariance needs scikit-learn: pip install 'dpcov[sklearn]'"
    ) from None

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SparseCovariance"]


class SparseCovariance(EmpiricalCovariance):  # type: ignore[misc]
    """Sparse covariance with a differential-privacy promise, as a scikit-learn estimator.

    ``fit`` spends the privacy budget once; everything else is post-processing of what was
    released. The promise is about the rows that ``fit`` is given: a step before it that
    learns from the data (StandardScaler, an imputer, PCA) is not covered, and one that
    calls ``fit`` again on the same people (GridSearchCV) spends the budget each time.

    Parameters
    ----------
    epsilon, delta, row_norm, neighbors, missing, seed
        See `dpcov.release`. There is no default for the first two, and `row_norm` is needed
        unless pairs are released.
    mechanism, max_pairs, center, scales, cell_bound, shares, target, heavy_tails
        See `dpcov.release`: ``"dense"``, ``"pairs"`` or ``"auto"``.
    rule, level, gamma, sparse, psd
        See `dpcov.Release.estimate`. Of these, a release of pairs uses `psd` alone.
    fdr : float, default 0.1
        For a release of pairs: see `dpcov.PairsRelease.estimate`.

    Attributes
    ----------
    covariance_, correlation_, precision_ : ndarray, shape (n_features, n_features)
        The estimate, its correlations and its (pseudo-)inverse.
    support_ : ndarray of bool, shape (n_features, n_features)
        Which entries are kept.
    location_ : ndarray, shape (n_features,)
        The stated center, or zeros; the noisy mean with ``center="private"``.
    release_ : Release or PairsRelease
        What was released, with its noise scale and promise.
    estimate_ : Estimate or PairsEstimate
        The estimate with its standard errors, intervals and edges.
    n_features_in_ : int
        The number of columns.
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

    # What EmpiricalCovariance's own methods look at; not parameters here.
    store_precision = True
    assume_centered = True

    covariance_: npt.NDArray[np.float64]
    correlation_: npt.NDArray[np.float64]
    precision_: npt.NDArray[np.float64]
    support_: npt.NDArray[np.bool_]
    location_: npt.NDArray[np.float64]
    release_: Release | PairsRelease
    estimate_: Estimate | PairsEstimate

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        row_norm: float | PrivateRadius | None = None,
        neighbors: str = "replace",
        missing: str = "refuse",
        mechanism: str = "dense",
        max_pairs: int | None = None,
        center: str | float | npt.ArrayLike | None = None,
        scales: str | npt.ArrayLike | None = None,
        cell_bound: float | None = None,
        shares: Mapping[str, float] | None = None,
        target: str | None = None,
        heavy_tails: bool = False,
        fdr: float = 0.1,
        rule: str | Rule = "auto",
        level: str | float = "thinned",
        gamma: float | None = None,
        sparse: bool = True,
        psd: str = "sparse",
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.neighbors = neighbors
        self.missing = missing
        self.mechanism = mechanism
        self.max_pairs = max_pairs
        self.center = center
        self.scales = scales
        self.cell_bound = cell_bound
        self.shares = shares
        self.target = target
        self.heavy_tails = heavy_tails
        self.fdr = fdr
        self.rule = rule
        self.level = level
        self.gamma = gamma
        self.sparse = sparse
        self.psd = psd
        self.seed = seed

    def fit(self, X: Any, y: None = None) -> Self:
        """Release the second moments of X and estimate the covariance. Spends the budget.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            One row for each person.
        y : ignored

        Returns
        -------
        self
        """
        options: dict[str, Any] = {
            "rule": self.rule,
            "level": self.level,
            "gamma": self.gamma,
            "sparse": self.sparse,
            "psd": self.psd,
        }
        check_options(**options)
        fdr = check_number("fdr", self.fdr, low=0.0, high=1.0)
        if self.mechanism == "pairs" and self.row_norm is None and self.scales is None:
            raise ParameterError(
                "covariance_ needs variances: give row_norm= (and cell_bound=), or public "
                "scales=; or scales='none' for a covariance_ that is a correlation matrix."
            )
        X = _plain_numbers(_in_memory(X))
        names = getattr(X, "columns", ())
        if len({isinstance(name, str) for name in names}) > 1:
            raise InputError("The column labels of X must all be strings, or none of them.")
        released = release(
            X,
            epsilon=self.epsilon,
            delta=self.delta,
            row_norm=self.row_norm,
            neighbors=self.neighbors,
            missing=self.missing,
            mechanism=self.mechanism,
            max_pairs=self.max_pairs,
            center=self.center,
            scales=self.scales,
            cell_bound=self.cell_bound,
            shares=self.shares,
            target=self.target,
            heavy_tails=self.heavy_tails,
            seed=self.seed,
        )
        estimate = (
            released.estimate(fdr=fdr, psd=self.psd)
            if isinstance(released, PairsRelease)
            else released.estimate(**options)
        )
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
        return float(super().score(_readable(X_test), y))

    def mahalanobis(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the squared Mahalanobis distances of rows, as scikit-learn does. Not private."""
        distances: npt.NDArray[np.float64] = super().mahalanobis(_readable(X))
        return distances


def _readable(X: Any) -> Any:
    """Refuse what is not numeric before scikit-learn does: its message would quote a cell."""
    X = _plain_numbers(_in_memory(X))
    open_table(X, fewest_rows=1)
    return X


def _in_memory(X: Any) -> Any:
    """Refuse, before anything is spent, what scikit-learn could not look at afterwards."""
    if is_streamed(X):
        raise InputError(
            "SparseCovariance takes arrays and data frames in memory. Sparse matrices, files and "
            "streams go to dpcov.release(X, ...).estimate()."
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
