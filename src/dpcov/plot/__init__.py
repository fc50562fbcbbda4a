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

import lazy_loader

from dpcov.extras import naming_extra

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = naming_extra(
    _load,
    {"matplotlib", "networkx"},
    "Plots need matplotlib and networkx: pip install 'dpcov[plot]'",
)
