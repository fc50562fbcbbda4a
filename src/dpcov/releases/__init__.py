"""What was released: values that are safe to save, send and print."""

from dpcov.releases.noise_scale import CAP_CONSTANT, NoiseScale, cap_noise
from dpcov.releases.observed import Observed
from dpcov.releases.pairs import PAIRS, PairsProvenance, PairsRelease
from dpcov.releases.provenance import (
    LOCAL_CAP,
    LOCAL_GAUSSIAN,
    SECOND_MOMENT,
    Collected,
    Provenance,
)
from dpcov.releases.release import Release
from dpcov.releases.saturation import BoundInUse
from dpcov.releases.variances import Variances

AnyRelease = Release | PairsRelease

__all__ = [
    "CAP_CONSTANT",
    "LOCAL_CAP",
    "LOCAL_GAUSSIAN",
    "PAIRS",
    "SECOND_MOMENT",
    "AnyRelease",
    "BoundInUse",
    "Collected",
    "NoiseScale",
    "Observed",
    "PairsProvenance",
    "PairsRelease",
    "Provenance",
    "Release",
    "Variances",
    "cap_noise",
]
