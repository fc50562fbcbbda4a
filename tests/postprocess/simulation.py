"""Simulated releases for the tests of the post-processing rooms."""

import numpy as np

import dpcov


def band(size, correlation=0.4):
    return np.eye(size) + correlation * (np.eye(size, k=1) + np.eye(size, k=-1))


def release_of(truth, *, n_rows, epsilon=1.0, delta=1e-6, seed=0, allow=()):
    """Simulate Gaussian rows with a covariance and release them, clipped at a roomy norm."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n_rows, len(truth))) @ np.linalg.cholesky(truth).T
    row_norm = 1.25 * np.sqrt(np.trace(truth))
    stated = {"epsilon": epsilon, "delta": delta, "row_norm": row_norm, "allow": allow}
    return dpcov.release(rows, **stated, seed=seed)
