"""dpcov: publish the covariance of sensitive data with a promise that is true.

>>> import numpy as np, dpcov
>>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
>>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0)
>>> release.matrix.shape
(4, 4)

Names are loaded when they are first used, so that ``import dpcov`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcov.version import __version__

if TYPE_CHECKING:
    from dpcov import errors, local, norms, paper, plot, privacy, report
    from dpcov.columns import Column, Columns, Units
    from dpcov.estimator import PairsCovariance, SparseCovariance
    from dpcov.mechanisms.covariance import release
    from dpcov.mechanisms.strongest_pairs import release_pairs
    from dpcov.planning import Forecast, plan
    from dpcov.postprocess import Edges, Estimate, PairsEstimate, RiskCurve
    from dpcov.releases import BoundInUse, NoiseScale, PairsRelease, Provenance, Release

__all__ = [
    "BoundInUse",
    "Column",
    "Columns",
    "Edges",
    "Estimate",
    "Forecast",
    "NoiseScale",
    "PairsCovariance",
    "PairsEstimate",
    "PairsRelease",
    "Provenance",
    "Release",
    "RiskCurve",
    "SparseCovariance",
    "Units",
    "__version__",
    "errors",
    "local",
    "norms",
    "paper",
    "plan",
    "plot",
    "privacy",
    "release",
    "release_pairs",
    "report",
]

_HOME = {
    "BoundInUse": "dpcov.releases",
    "Column": "dpcov.columns",
    "Columns": "dpcov.columns",
    "Edges": "dpcov.postprocess",
    "Estimate": "dpcov.postprocess",
    "Forecast": "dpcov.planning",
    "NoiseScale": "dpcov.releases",
    "PairsCovariance": "dpcov.estimator",
    "PairsEstimate": "dpcov.postprocess",
    "PairsRelease": "dpcov.releases",
    "Provenance": "dpcov.releases",
    "Release": "dpcov.releases",
    "RiskCurve": "dpcov.postprocess",
    "SparseCovariance": "dpcov.estimator",
    "Units": "dpcov.columns",
    "errors": "dpcov.errors",
    "local": "dpcov.local",
    "norms": "dpcov.norms",
    "paper": "dpcov.paper",
    "plan": "dpcov.planning",
    "plot": "dpcov.plot",
    "privacy": "dpcov.privacy",
    "release": "dpcov.mechanisms.covariance",
    "release_pairs": "dpcov.mechanisms.strongest_pairs",
    "report": "dpcov.report",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dpcov' has no attribute {name!r}")
    module = import_module(home)
    value = module if name == home.rpartition(".")[2] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
