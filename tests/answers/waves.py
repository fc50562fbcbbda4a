"""Two waves of a simulated survey, and their releases."""

import numpy as np
import pandas as pd

import dpcov
from designs import public_levels

SIZE = 5
NAMES = [f"x{place}" for place in range(SIZE)]


def truth(*, changed=False):
    """Return means and covariances of a wave; the second may be another one."""
    covariance = np.full((SIZE, SIZE), 0.3) + 0.7 * np.eye(SIZE)
    mean = np.zeros(SIZE)
    if changed:
        covariance[0, 1] = covariance[1, 0] = 0.7
        covariance[2] *= 1.1
        covariance[:, 2] *= 1.1
        mean[3] = 0.2
    return mean, covariance


def wave(seed, *, changed=False, n_rows=2000, epsilon=2.0, **options):
    """Return a release of Gaussian rows that are hardly ever clipped."""
    mean, covariance = truth(changed=changed)
    generator = np.random.default_rng(seed)
    rows = mean + generator.standard_normal((n_rows, SIZE)) @ np.linalg.cholesky(covariance).T
    stated = {"row_norm": 6.5, "seed": seed} | options
    return dpcov.release(rows, epsilon=epsilon, delta=1e-6, **stated)


def survey(seed, *, n_rows=20_000, slope=30.0, levels=("f", "m"), gaps=0.0, simulated=True):
    """Return a release of a table with a category, with limits that are learned."""
    generator = np.random.default_rng(seed)
    age = generator.uniform(18, 90, n_rows)
    sex = generator.integers(0, len(levels), n_rows)
    income = 1000 + slope * age + 200 * sex + generator.normal(0, 900, n_rows)
    frame = pd.DataFrame({"age": age, "income": income, "mood": generator.normal(5, 1, n_rows)})
    frame = frame.mask(generator.random(frame.shape) < gaps)
    frame["sex"] = pd.Categorical(np.array(levels)[sex], categories=list(levels))
    facts = public_levels(frame) | {"sex": {"levels": list(levels)}}
    stated = {"seed": seed if simulated else None, "columns": facts}
    return dpcov.release(frame, epsilon=1, delta=1e-6, **stated)
