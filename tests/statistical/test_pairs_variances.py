"""The variances beside pairs are variances: about the mean, within their stated errors."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.mechanisms import pairs as mechanism

N_ROWS, RUNS = 6000, 40
OPTIONS = {"epsilon": 8.0, "delta": 1e-6, "max_pairs": 3, "row_norm": 9.0, "cell_bound": 6.0}


def skewed():
    """Columns whose medians are far from their means, and centers that a person may state."""
    generator = np.random.default_rng(11)
    uniform = generator.uniform(size=(N_ROWS, 2))
    columns = {
        "money": (generator.lognormal(size=N_ROWS), 0.0, 2.0),
        "rare": (uniform[:, 0] < 0.05, 0.0, 0.3),
        "often": (uniform[:, 1] < 0.7, 0.0, 0.5),
        "counts": (generator.poisson(1.5, size=N_ROWS), 1.0, 1.2),
        "years": (1990 + generator.geometric(0.2, size=N_ROWS), 2000.0, 5.0),
        "bell": (generator.normal(size=N_ROWS), 0.3, 1.0),
        "waits": (generator.exponential(size=N_ROWS) ** 1.5, 0.0, 2.0),
        "never": (np.zeros(N_ROWS), 0.5, 1.0),
    }
    frame = pd.DataFrame({name: cells.astype(float) for name, (cells, _, _) in columns.items()})
    facts = {
        name: {"center": center, "scale": scale} for name, (_, center, scale) in columns.items()
    }
    return frame, facts


def clipped(frame, facts, center):
    """Return rows in working units about a center, clipped as they are behind variances."""
    stated = np.array([fact["center"] for fact in facts.values()])
    scale = np.array([fact["scale"] for fact in facts.values()])
    rows = (frame.to_numpy() - stated) / scale - center
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= np.minimum(1, OPTIONS["row_norm"] / np.maximum(norms, 1e-9))
    return np.clip(rows, -OPTIONS["cell_bound"], OPTIONS["cell_bound"])


def misses(center, runs=RUNS):
    """Return errors of variances over their stated sd, for every run and column."""
    frame, facts = skewed()
    stated, scale = (np.array([fact[what] for fact in facts.values()]) for what in facts["bell"])
    found = []
    for seed in range(runs):
        made = dpcov.release_pairs(frame, **OPTIONS, columns=facts, center=center, seed=seed)
        about = made.units.center
        if center == "differences":
            about = frame.to_numpy().mean(axis=0)
        truth = clipped(frame, facts, (about - stated) / scale).var(axis=0)
        # Which rows are paired matters: half the squared differences of a table vary.
        pairing = 2 * truth**2 / N_ROWS if center == "differences" else 0.0
        error = np.sqrt(made.variances.noise_sd**2 + pairing)
        found.append((made.variances.values - truth) / error)
    return np.array(found)


@pytest.mark.parametrize("center", ["learned", "stated"])
def test_variances_agree_with_the_table_within_their_stated_errors(center):
    found = misses(center)
    assert 0.93 <= (np.abs(found) < 1.96).mean() <= 0.97
    assert (np.abs(found.mean(axis=0)) < 4.5 / np.sqrt(RUNS)).all()
    assert (np.abs(found.std(axis=0) - 1) < 0.5).all()


def test_half_the_squared_differences_of_rows_are_variances():
    found = misses("differences")
    columns = [name != "money" and name != "waits" for name in skewed()[0]]
    # Differences of rows with long tails are clipped elsewhere than rows are.
    assert 0.92 <= (np.abs(found[:, columns]) < 1.96).mean() <= 0.98


@pytest.mark.parametrize("center", ["learned", "stated"])
def test_mean_squares_about_the_center_would_be_noticed(monkeypatch, center):
    """A control: what is about the center is no variance."""
    release = mechanism._release_variances

    def about_the_center(*args):
        made = release(*args)
        moments = made.values + made.means**2
        return type(made)(moments, made.noise_scale, made.means, made.mean_noise)

    monkeypatch.setattr(mechanism, "_release_variances", about_the_center)
    found = misses(center, runs=10)
    assert np.abs(found.mean(axis=0)).max() > 5
