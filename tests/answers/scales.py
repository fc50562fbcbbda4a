"""Tables of items with a known structure, and how often intervals hold the truth."""

import numpy as np
import pandas as pd

import dpcov

LOADINGS = np.array(
    [
        [0.8, 0.0],
        [0.7, 0.0],
        [0.75, 0.0],
        [0.6, 0.0],
        [0.65, 0.0],
        [0.0, 0.7],
        [0.0, 0.6],
        [0.0, 0.8],
    ]
)
CORRELATIONS = LOADINGS @ LOADINGS.T + np.diag(1 - (LOADINGS**2).sum(axis=1))
NAMES = list("abcdefgh")


def table(seed, n_rows=5000, correlations=CORRELATIONS):
    """Return rows of Gaussian columns with known correlations."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, len(correlations)))
    names = NAMES[: len(correlations)]
    return pd.DataFrame(rows @ np.linalg.cholesky(correlations).T, columns=names)


def releases(runs, *, n_rows=5000, epsilon=1.0, correlations=CORRELATIONS):
    """Yield releases of different samples. Nobody is clipped: that is not in question here."""
    for seed in range(runs):
        rows = table(seed, n_rows, correlations)
        yield dpcov.release(rows, epsilon=epsilon, delta=1e-6, row_norm=7.0, seed=seed)


def clear(seed=0, n_rows=20_000, correlations=CORRELATIONS):
    """Return a release with hardly any noise."""
    rows = table(seed, n_rows, correlations)
    return dpcov.release(rows, epsilon=200.0, delta=1e-6, row_norm=7.0, seed=seed)


def holds(ends, truth):
    """Return where intervals hold the truth."""
    low, high = ends
    return (low <= truth) & (truth <= high)
