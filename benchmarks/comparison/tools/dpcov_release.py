"""dpcov: `dpcov.release` and its estimate. Neighbors are replace-one unless a name says more."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import dpcov
from benchmarks.comparison.question import Array, Method, Question

__all__ = ["METHODS"]


def _release(question: Question, *, state: bool, **options: Any) -> dpcov.Estimate:
    names = [f"x{place}" for place in range(len(question.lower))]
    bounds = zip(question.lower.tolist(), question.upper.tolist(), strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        release = dpcov.release(
            pd.DataFrame(question.rows, columns=names),
            epsilon=question.epsilon,
            delta=question.delta,
            columns=dict(zip(names, bounds, strict=True)) if state else None,
            **options,
        )
        return release.estimate()


def _as_others(question: Question) -> Array:
    """Return what it gives for the neighbors of other tools, which know no missing cells."""
    return _release(question, state=True, neighbors="add-remove", missing="refuse").correlation


def _released(question: Question) -> Array:
    """Return the correlations as released: nothing is shrunk or set to zero."""
    matrix = _release(question, state=True).release.matrix
    deviations = np.sqrt(np.maximum(np.diag(matrix), 1e-12))
    return np.asarray(np.clip(matrix / np.outer(deviations, deviations), -1, 1))


METHODS: dict[str, Method] = {
    "bounds stated, no gaps, add-remove": _as_others,
    "bounds stated": lambda question: _release(question, state=True).correlation,
    "bounds stated, as released": _released,
    "nothing stated": lambda question: _release(question, state=False).correlation,
}
