"""dpcov: publish the covariance of sensitive data with a promise that is true.

>>> import numpy as np, dpcov
>>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
>>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0)
>>> release.matrix.shape
(4, 4)

Names are loaded when they are first used, so that ``import dpcov`` is quick. Which there are
stands in ``__init__.pyi``, and nowhere else.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
