"""SparseCovariance: the thin scikit-learn face of `dpcov.release` and its estimate.

Owns its parameters: a constructor without logic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dpcov.estimator.fitting import PrivateCovariance
from dpcov.ledger import Ledger
from dpcov.mechanisms.covariance import release
from dpcov.mechanisms.door import Facts
from dpcov.postprocess.estimate import Estimate, check_options
from dpcov.postprocess.rules import Rule
from dpcov.releases import Release

__all__ = ["SparseCovariance"]


class SparseCovariance(PrivateCovariance):
    """Sparse covariance with a differential-privacy promise, as a scikit-learn estimator.

    ``fit`` spends the privacy budget once; everything else is post-processing of what was
    released. The promise is about the rows that ``fit`` is given: a step before it that
    learns from the data (StandardScaler, an imputer, PCA) is not covered, and one that
    calls ``fit`` again on the same people (GridSearchCV) spends the budget each time.

    Parameters
    ----------
    epsilon, delta, columns, row_norm, neighbors, shares, missing, weight, weight_bound, \
privacy_unit, rows_per_unit, engine, seed, ledger, allow
        See `dpcov.release`. There is no default for the first two.
    rule, threshold, gamma, sparse, psd
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
    covered by the promise. With ``psd="clip"`` a covariance may be singular: its precision is a
    pseudo-inverse then, and ``score`` is minus infinity.

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
        missing: str | None = None,
        weight: str | None = None,
        weight_bound: float | None = None,
        privacy_unit: str | None = None,
        rows_per_unit: int | None = None,
        engine: Any = None,
        rule: str | Rule = "auto",
        threshold: str | float = "thinned",
        gamma: float | None = None,
        sparse: bool = True,
        psd: str = "sparse",
        seed: int | None = None,
        ledger: Ledger | None = None,
        allow: Collection[str] = (),
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.row_norm = row_norm
        self.neighbors = neighbors
        self.shares = shares
        self.missing = missing
        self.weight = weight
        self.weight_bound = weight_bound
        self.privacy_unit = privacy_unit
        self.rows_per_unit = rows_per_unit
        self.engine = engine
        self.rule = rule
        self.threshold = threshold
        self.gamma = gamma
        self.sparse = sparse
        self.psd = psd
        self.seed = seed
        self.ledger = ledger
        self.allow = allow

    def _options(self) -> dict[str, Any]:
        names = ("rule", "threshold", "gamma", "sparse", "psd")
        return {name: getattr(self, name) for name in names}

    def _check(self) -> None:
        check_options(**self._options())

    def _release(self, X: Any, **stated: Any) -> Release:
        return release(X, weight=self.weight, weight_bound=self.weight_bound, **stated)

    def _estimate(self, released: Release) -> Estimate:
        return released.estimate(**self._options())
