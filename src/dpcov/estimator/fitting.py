"""What both estimators share: one release, one estimate, and what scikit-learn asks for.

Owns nothing but the contract: ``fit``, and learned attributes that end in an underscore and
hold no raw data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError, MissingExtraError
from dpcov.estimator.surroundings import warn_of_surroundings
from dpcov.mechanisms.door import Facts, refused_for_free
from dpcov.mechanisms.options import read_facts
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.pairs_estimate import PairsEstimate
from dpcov.releases import AnyRelease
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

__all__ = ["PrivateCovariance"]


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
    "ledger",
    "allow",
)


class PrivateCovariance(EmpiricalCovariance):  # type: ignore[misc]
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
            warn_of_surroundings(type(self).__name__)
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
        if facts is None and self.privacy_unit is None and not released.provenance.left_out:
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
