"""PairsCovariance: the thin scikit-learn face of `dpcov.release_pairs` and its estimate.

Owns its parameters: a constructor without logic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dpcov.errors import ParameterError
from dpcov.estimator.fitting import PrivateCovariance
from dpcov.ledger import Ledger
from dpcov.mechanisms.door import Facts
from dpcov.mechanisms.strongest_pairs import Center, Scales, release_pairs
from dpcov.parameters import check_choice, check_number
from dpcov.postprocess.pairs_estimate import PairsEstimate
from dpcov.postprocess.psd import METHODS
from dpcov.releases import PairsRelease

__all__ = ["PairsCovariance"]


class PairsCovariance(PrivateCovariance):
    """The strongest pairs of many columns, as a scikit-learn estimator.

    As `SparseCovariance`, for hundreds or thousands of columns of which few are related.

    Parameters
    ----------
    epsilon, delta, max_pairs, columns, center, scales, row_norm, cell_bound, neighbors, shares, \
missing, privacy_unit, rows_per_unit, engine, seed, ledger, allow
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
        ledger: Ledger | None = None,
        allow: Collection[str] = (),
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
        self.ledger = ledger
        self.allow = allow

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
