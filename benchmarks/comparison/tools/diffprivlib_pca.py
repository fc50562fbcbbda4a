"""diffprivlib: the covariance of its PCA, Amin et al. (2019). Pure ε, half of it for the means."""

from __future__ import annotations

from functools import partial

import numpy as np
from diffprivlib.models import PCA

from benchmarks.comparison.question import Array, Method, Question

__all__ = ["METHODS"]

_NORMS = (1.0, 0.7, 0.5, 0.35, 0.25)


def _fit(question: Question, norm: float) -> Array:
    cells = question.scaled
    size = cells.shape[1]
    model = PCA(epsilon=question.epsilon, bounds=(-1, 1), data_norm=norm * np.sqrt(size))
    covariance = model.fit(cells.copy()).get_covariance()
    deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    return np.asarray(np.clip(covariance / np.outer(deviations, deviations), -1, 1))


METHODS: dict[str, Method] = {f"norm {norm:g} √p": partial(_fit, norm=norm) for norm in _NORMS}
