"""Wang and Xu (2019), as printed, beside what its promise really is."""

from dpcov.paper.algorithms import (
    PaperResult,
    dp_thresholding,
    ldp_thresholding,
    perturbed_covariance,
)
from dpcov.paper.models import sample_rows, scaled_to_norm, sparse_covariance
from dpcov.paper.promises import ActualPromise, actual_promise

__all__ = [
    "ActualPromise",
    "PaperResult",
    "actual_promise",
    "dp_thresholding",
    "ldp_thresholding",
    "perturbed_covariance",
    "sample_rows",
    "scaled_to_norm",
    "sparse_covariance",
]
