"""Release and estimate as scikit-learn estimators."""

from dpcov.estimator.pairs import PairsCovariance
from dpcov.estimator.sparse import SparseCovariance

__all__ = ["PairsCovariance", "SparseCovariance"]
