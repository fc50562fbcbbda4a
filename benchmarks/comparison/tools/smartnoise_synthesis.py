"""SmartNoise: synthetic rows by MST and by AIM (McKenna et al. 2021, 2022), and their correlations.

Columns are cut into bins by their bounds; whole numbers with few values have a bin each. Rows are
drawn from the fitted model one by one: those that ``sample()`` returns are rounded by mbi 1.1.0,
which makes correlations that the model does not have.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, TableTransformer

from benchmarks.comparison.question import Array, Method, Question

__all__ = ["METHODS"]

_BINS = 16
_MOST_LEVELS = 32
_DRAWS = 100_000


def _synthesize(question: Question, algorithm: str) -> Array:
    levels = np.rint(question.upper - question.lower) + 1
    exact = question.whole & (levels <= _MOST_LEVELS)
    bins = np.where(exact, levels, _BINS).astype(int)
    lower = np.where(exact, question.lower - 0.5, question.lower)
    upper = np.where(exact, question.upper + 0.5, question.upper)
    names = [f"col{place}" for place in range(len(bins))]
    parts = [
        BinTransformer(bins=int(n), lower=float(low), upper=float(high), nullable=False)
        for n, low, high in zip(bins, lower, upper, strict=True)
    ]
    cells = np.clip(question.rows, question.lower, question.upper)
    model = Synthesizer.create(algorithm, epsilon=question.epsilon, delta=question.delta)
    model.fit(pd.DataFrame(cells, columns=names), transformer=TableTransformer(parts))
    drawn = model.synthesizer.synthetic_data(rows=_DRAWS, method="sample")
    if algorithm == "mst":
        drawn = model.undo_compress_fn(drawn)
    places = drawn.df[names].to_numpy(dtype=np.float64)
    centers = lower + (places + 0.5) * (upper - lower) / bins
    with np.errstate(invalid="ignore"):  # of a column that came out constant
        return np.asarray(np.nan_to_num(np.corrcoef(centers.T)))


METHODS: dict[str, Method] = {
    "MST": partial(_synthesize, algorithm="mst"),
    "AIM": partial(_synthesize, algorithm="aim"),
}
