"""From a release to an estimate. Costs no privacy; never sees raw rows."""

from dpcov.postprocess.estimate import Estimate, estimate_covariance
from dpcov.postprocess.inference import Edge, Edges
from dpcov.postprocess.level import RiskCurve
from dpcov.postprocess.pairs_estimate import PairsEstimate

__all__ = ["Edge", "Edges", "Estimate", "PairsEstimate", "RiskCurve", "estimate_covariance"]
