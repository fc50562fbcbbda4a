"""OpenDP: its vector Gaussian measurement on sums that are made by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import opendp.prelude as dp

from benchmarks.comparison.noisy_sums import correlations, l2_sensitivity, products, shorten
from benchmarks.comparison.question import Array, Method, Question

__all__ = ["METHODS"]

_NORMS = (1.0, 0.7, 0.5, 0.35, 0.25)
dp.enable_features("contrib")


def _measure(question: Question, norm: float) -> Array:
    cells = question.scaled
    n_rows, size = cells.shape
    longest = norm * np.sqrt(size)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)

    def at(scale: float) -> Any:
        noisy = dp.m.make_gaussian(*space, scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), question.delta)

    distance = l2_sensitivity(longest)
    promise = (question.epsilon, question.delta)
    scale = dp.binary_search_param(at, d_in=distance, d_out=promise, T=float)
    sums = products(shorten(cells, longest)).sum(axis=0)
    return correlations(np.array(at(scale)(sums.tolist())), n_rows, size)


METHODS: dict[str, Method] = {f"norm {norm:g} √p": partial(_measure, norm=norm) for norm in _NORMS}
