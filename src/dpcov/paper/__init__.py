"""Wang and Xu (2019), as printed, beside what its promise really is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.paper.algorithms import (
    PaperResult,
    dp_thresholding,
    ldp_thresholding,
    perturbed_covariance,
)
from dpcov.paper.bounds import error_bound
from dpcov.paper.models import (
    sample_rows,
    sample_second_moment,
    scaled_to_norm,
    sparse_covariance,
)
from dpcov.paper.promises import ActualPromise, actual_promise
from dpcov.paper.study import Study

if TYPE_CHECKING:
    from dpcov.paper.reproduction import reproduce

__all__ = [
    "ActualPromise",
    "PaperResult",
    "Study",
    "actual_promise",
    "dp_thresholding",
    "error_bound",
    "ldp_thresholding",
    "perturbed_covariance",
    "reproduce",
    "sample_rows",
    "sample_second_moment",
    "scaled_to_norm",
    "sparse_covariance",
]


def __getattr__(name: str) -> Any:
    # The job loads mechanisms, processes and plots: only when it is asked for.
    if name != "reproduce":
        raise AttributeError(f"module 'dpcov.paper' has no attribute {name!r}")
    from dpcov.paper.reproduction import reproduce

    return reproduce
