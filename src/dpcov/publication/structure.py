"""What columns have in common beyond pairs, where a release says something of it.

Owns when that is so: components that stand above what noise and sampling give to unrelated
columns, and pairs that are related given all other columns. Releases of pairs have neither, nor
have few columns; of very many, the answers are left to who asks for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.correlations import stands_out
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.noise_model import NoiseModel

if TYPE_CHECKING:
    from dpcov.answers import Components, PartialCorrelations

__all__ = ["COLUMNS", "NUMBERS", "components_of", "partials_of"]

NUMBERS = (4, 200)
"""Of so many numbers that vary, components are looked for."""
COLUMNS = (3, 100)
"""Of so many columns, partial correlations: a category counts as its levels but one."""

# Card, tables, page and pictures ask for the same; what is found lives as long as the estimate.
_components: WeakKeyDictionary[Estimate, Components | None] = WeakKeyDictionary()
_partials: WeakKeyDictionary[Estimate, PartialCorrelations | None] = WeakKeyDictionary()


def components_of(estimate: AnyEstimate) -> Components | None:
    """Return the components that stand out; None if there are none, or nobody looked."""
    if not isinstance(estimate, Estimate):
        return None
    if estimate not in _components:
        _components[estimate] = _find_components(estimate)
    return _components[estimate]


def partials_of(estimate: AnyEstimate, fdr: float) -> PartialCorrelations | None:
    """Return partial correlations, if any pair is related at this false discovery rate."""
    if not isinstance(estimate, Estimate):
        return None
    if estimate not in _partials:
        _partials[estimate] = _find_partials(estimate)
    found = _partials[estimate]
    return found if found is not None and bool((found.q_values <= fdr).any()) else None


def _find_components(estimate: Estimate) -> Components | None:
    release = estimate.release
    varying = release.design.is_number & stands_out(NoiseModel.of(release))
    if not NUMBERS[0] <= int(np.count_nonzero(varying)) <= NUMBERS[1]:
        return None
    found = release.components()
    return found if found.eigenvalues.above else None


def _find_partials(estimate: Estimate) -> PartialCorrelations | None:
    release = estimate.release
    # One level of each category is what the others are compared with.
    n_columns = len(release.columns) - len(release.design.groups)
    if not COLUMNS[0] <= n_columns <= COLUMNS[1]:
        return None
    return release.partial_correlations()
