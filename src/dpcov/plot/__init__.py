"""Pictures of an estimate. They cost no privacy; they never see raw rows.

Every function draws on the matplotlib axes that it is given, or on the current ones, and
returns them. Nothing is shown, saved or styled globally. Needs the extra ``plot``.

>>> import numpy as np, dpcov
>>> from matplotlib.figure import Figure
>>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
>>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
>>> dpcov.plot.heatmap(estimate, Figure().subplots()).get_xlabel()
''
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcov.errors import MissingExtraError

if TYPE_CHECKING:
    from dpcov.plot.eigenvalues import spectrum
    from dpcov.plot.forest import intervals
    from dpcov.plot.graph import network
    from dpcov.plot.levels import risk
    from dpcov.plot.matrix import heatmap

__all__ = ["heatmap", "intervals", "network", "risk", "spectrum"]

_HOME = {
    "heatmap": "dpcov.plot.matrix",
    "intervals": "dpcov.plot.forest",
    "network": "dpcov.plot.graph",
    "risk": "dpcov.plot.levels",
    "spectrum": "dpcov.plot.eigenvalues",
}


def __getattr__(name: str) -> Any:
    # Loaded when used: the package itself can be imported without matplotlib.
    if name not in _HOME:
        raise AttributeError(f"module 'dpcov.plot' has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingExtraError("Plots need matplotlib: pip install 'dpcov[plot]'") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
