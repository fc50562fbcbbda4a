"""From a release to an estimate. Costs no privacy; never sees raw rows."""

from dpcov.postprocess.association import Association
from dpcov.postprocess.categories import Categories
from dpcov.postprocess.choice import RiskCurve
from dpcov.postprocess.estimate import Estimate, estimate_covariance
from dpcov.postprocess.face import CovarianceEstimate
from dpcov.postprocess.gap_findings import GapFinding
from dpcov.postprocess.group_means import GroupMean
from dpcov.postprocess.inference import Edge, Edges
from dpcov.postprocess.level_shares import LevelShare
from dpcov.postprocess.listing import Listing
from dpcov.postprocess.pairs_estimate import PairsEstimate
from dpcov.postprocess.pairs_table import TOO_NOISY, Pair, Pairs

AnyEstimate = Estimate | PairsEstimate

__all__ = [
    "TOO_NOISY",
    "AnyEstimate",
    "Association",
    "Categories",
    "CovarianceEstimate",
    "Edge",
    "Edges",
    "Estimate",
    "GapFinding",
    "GroupMean",
    "LevelShare",
    "Listing",
    "Pair",
    "Pairs",
    "PairsEstimate",
    "RiskCurve",
    "estimate_covariance",
]
