"""From a release to an estimate. Costs no privacy; never sees raw rows."""

from dpcov.postprocess.choice import RiskCurve
from dpcov.postprocess.estimate import Estimate, estimate_covariance
from dpcov.postprocess.face import CovarianceEstimate
from dpcov.postprocess.inference import Edge, Edges, TrustedPairs
from dpcov.postprocess.pairs_estimate import PairsEstimate

AnyEstimate = Estimate | PairsEstimate

__all__ = [
    "AnyEstimate",
    "CovarianceEstimate",
    "Edge",
    "Edges",
    "Estimate",
    "PairsEstimate",
    "RiskCurve",
    "TrustedPairs",
    "estimate_covariance",
]
