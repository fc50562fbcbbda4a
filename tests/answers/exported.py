"""Releases to export: a model with three factors, and names of every kind."""

import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd

import dpcov
from designs import public_levels

LOADINGS = np.array([0.8, 0.7, 0.6])
FACTORS = np.array([[1.0, 0.3, 0.4], [0.3, 1.0, 0.5], [0.4, 0.5, 1.0]])
UNITS = np.array([1.0, 2.0, 3.0])
NAMES = [f"x{number}" for number in range(1, 10)]
ODD_NAMES = [
    "plain",
    "Größe (cm)",
    'say "so"',
    "it's",
    "2nd wave",
    "=1+cmd|' /C calc'!A0",
    "R&D_50 %#{}$~^\\",
    "年龄",
    "a, b; c",
    "very long " * 12,
    "NA",
    "[1]",
    "%s @MODEL@",
    "Plain",
]


def three_factors(seed, n_rows=20_000):
    """Return rows of nine items, three for each factor, about 5."""
    rng = np.random.default_rng(seed)
    factors = rng.multivariate_normal(np.zeros(3), FACTORS, size=n_rows)
    own = rng.normal(size=(n_rows, 9)) * np.tile(np.sqrt(1 - LOADINGS**2), 3)
    items = np.repeat(factors, 3, axis=1) * np.tile(LOADINGS, 3) + own
    return pd.DataFrame(5 + items * np.tile(UNITS, 3), columns=NAMES)


def three_factor_release(seed, **options):
    promise = {"epsilon": 1, "delta": 1e-6} | options
    return dpcov.release(three_factors(seed), **promise, seed=seed)


def odd_release():
    """Return a release whose names are of every kind; the first two columns are related."""
    rows = np.random.default_rng(0).normal(size=(20_000, len(ODD_NAMES)))
    rows[:, 1] += rows[:, 0]
    table = pd.DataFrame(rows, columns=ODD_NAMES)
    return dpcov.release(table, epsilon=3, delta=1e-6, row_norm=6, header=True, seed=0)


def with_categories(n_rows=20_000):
    """Return a release with a category and gaps."""
    rng = np.random.default_rng(1)
    age = rng.normal(50, 10, n_rows)
    table = pd.DataFrame(
        {
            "age": age,
            "sex": pd.Categorical(rng.choice(["f", "m", "x"], n_rows)),
            "income": 30 * age + rng.normal(2000, 300, n_rows),
        }
    )
    table.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return dpcov.release(table, epsilon=1, delta=1e-6, seed=1, columns=public_levels(table))


def with_tails():
    """Return a release of which no view shows the mean of x4: its cells lie beyond limits."""
    release = three_factor_release(0)
    beyond = release.learned.beyond.copy()
    beyond[3] = 0.2
    return replace(release, learned=replace(release.learned, beyond=beyond))


def of_devices():
    """Return a release of reports, which has no mean."""
    plan = dpcov.local.CollectionPlan(columns=["a", "b"], row_norm=2.0, epsilon=16.0)
    collector = dpcov.local.Collector(plan)
    rows = np.random.default_rng(0).normal(size=(500, 2)) * 0.8
    collector.add_many([dpcov.local.randomize(row, plan) for row in rows])
    return collector.release()


def read_csv(data):
    """Return the names and the numbers of a matrix."""
    heading, *lines = csv.reader(io.StringIO(data.decode("utf-8")))
    assert [line[0] for line in lines] == heading[1:]
    return heading[1:], np.array([line[1:] for line in lines], dtype=float)
