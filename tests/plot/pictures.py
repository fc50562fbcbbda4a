"""Small estimates to draw, made from simulated rows, and what is written on a picture."""

import warnings
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

import dpcov
from dpcov.errors import NothingDetectableWarning
from postprocess.simulation import release_of

HOSTILE = (
    "$\\alpha_{",  # not a formula that could be parsed
    "<script>alert(1)</script>",
    "two\nlines\x00\x1b[31m",
    "a question that is so long that it would push everything else off the page?",
    "$5 and $6",
    "",
)


def truth_of(size, *links):
    """Unit variances, with a correlation for each (i, j, value)."""
    truth = np.eye(size)
    for i, j, value in links:
        truth[i, j] = truth[j, i] = value
    return truth


def estimate_of(truth, *, columns=None, n_rows=20_000, epsilon=4.0, allow=(), **options):
    release = release_of(truth, n_rows=n_rows, epsilon=epsilon, allow=allow)
    if columns is not None:
        release = replace(release, columns=tuple(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        return release.estimate(**options)


def scaled_estimate_of(truth, *, n_rows=20_000, epsilon=4.0, **options):
    """Columns in units from 1e-3 to 1e6, far from zero, with public facts that are a little off."""
    size = len(truth)
    scale = 10.0 ** np.linspace(-3, 6, size)
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((n_rows, size)) @ np.linalg.cholesky(truth).T
    facts = {
        f"x{place}": {"center": 30.3 * one, "scale": one}
        for place, one in enumerate(scale.tolist())
    }
    options = {"row_norm": 1.6 * size**0.5} | options
    release = dpcov.release(
        rows * scale + 30 * scale,
        epsilon=epsilon,
        delta=1e-6,
        columns=facts,
        seed=0,
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        return release.estimate()


def pairs_estimate_of(truth, *, max_pairs=4, n_rows=20_000, epsilon=4.0):
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((n_rows, len(truth))) @ np.linalg.cholesky(truth).T
    return dpcov.release_pairs(
        rows, epsilon=epsilon, delta=1e-6, max_pairs=max_pairs, seed=0
    ).estimate()


def axes():
    return Figure(figsize=(6, 5)).subplots()


def words(ax):
    """Everything that is written on the axes."""
    texts = [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label]
    return " ".join(text.get_text() for text in texts)
