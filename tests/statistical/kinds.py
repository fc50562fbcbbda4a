"""A simulated table with columns of every kind that real ones have, related by two factors."""

import numpy as np
from scipy.special import ndtr


def simulate(n_rows, seed):
    """Return cells by name; what they are is decided by normal numbers that are related."""
    generator = np.random.default_rng(seed)
    factors = generator.normal(size=(n_rows, 2))
    loadings = np.array(
        [
            [0.6, 0.0], [0.5, 0.3], [0.7, 0.2], [0.5, -0.4], [0.8, 0.1], [-0.6, 0.3],
            [0.4, 0.6], [0.0, 0.0], [0.3, 0.7], [-0.5, 0.5], [0.0, 0.8],
        ]
    )  # fmt: skip
    own = np.sqrt(1 - (loadings**2).sum(axis=1))
    z = factors @ loadings.T + own * generator.normal(size=(n_rows, len(loadings)))
    u = ndtr(z)
    return {
        "binary": z[:, 0] > 0.25,
        "rare": u[:, 1] > 0.98,
        "likert": 1 + np.floor(5 * u[:, 2]),
        "counts": np.floor(np.where(u[:, 3] < 0.7, 0, -4 * np.log1p(-u[:, 3]))),
        "money": np.exp(10 + 0.8 * z[:, 4]),
        "years": 2000 + np.round(np.clip(3 * z[:, 5], -6, 6)),
        "negative": -50 * np.exp(0.6 * z[:, 6]),
        "constant": np.full(n_rows, 7.0),
        "billions": 3e9 + 1e9 * z[:, 8],
        "billionths": 2e-9 + 1e-9 * z[:, 9],
        "both signs": -3 + 10 * z[:, 10],
    }


BOUNDS = {
    "binary": (0, 1), "rare": (0, 1), "likert": (1, 5), "counts": (0, 100),
    "money": (0, 10_000_000), "years": (1000, 3000), "negative": (-10_000, 0),
    "constant": (0, 100), "billions": (-1e11, 1e11), "billionths": (-1e-7, 1e-7),
    "both signs": (-200, 200),
}  # fmt: skip
