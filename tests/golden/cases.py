"""Releases of every kind, each of a small simulated table with a seed."""

import numpy as np
import pandas as pd

import dpcov

BUDGET = {"epsilon": 4.0, "delta": 1e-6, "seed": 1}


def _survey(n_rows=20_000):
    """Return numbers of several shapes that go together."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=n_rows)
    age = 45 + 12 * (0.5 * common + np.sqrt(0.75) * rng.normal(size=n_rows))
    return pd.DataFrame(
        {
            "age": age,
            "income": np.exp(7 + 0.01 * age + 0.5 * common + 0.4 * rng.normal(size=n_rows)),
            "visits": rng.poisson(np.exp(0.4 * common)).astype(float),
            "score": np.clip(np.rint(4 + 1.2 * common + rng.normal(size=n_rows)), 1, 7),
            "smokes": (rng.random(n_rows) < 0.2).astype(float),
            "rare": (rng.random(n_rows) < 0.01).astype(float),
        }
    )


def _questions(n_columns=12, n_rows=20_000):
    rng = np.random.default_rng(6)
    factors = rng.normal(size=(n_rows, 3))
    loadings = np.kron(np.eye(3), np.full((1, n_columns // 3), 0.8))
    rows = factors @ loadings + 0.6 * rng.normal(size=(n_rows, n_columns))
    return pd.DataFrame(rows, columns=[f"q{place}" for place in range(n_columns)])


def _with_gaps():
    frame, rng = _survey(), np.random.default_rng(7)
    frame.loc[rng.random(len(frame)) < 0.2, "income"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.1 + 0.2 * (frame["age"] > 50), "visits"] = np.nan
    frame["region"] = rng.choice(["east", "north", "west"], size=len(frame), p=[0.5, 0.3, 0.2])
    return frame


LEVELS = {"region": {"levels": ["east", "north", "west"]}}


def stated():
    """A stated row norm in stated units."""
    columns = {f"q{place}": {"center": 0, "scale": 1} for place in range(12)}
    return dpcov.release(_questions(), columns=columns, row_norm=5.0, **BUDGET)


def learned():
    """Limits, centers and scales that are learned."""
    return dpcov.release(_survey(), **BUDGET)


def wide():
    """Many columns, few of which go together."""
    return dpcov.release(_questions(42, 10_000).iloc[:, ::-1], **BUDGET)


def gaps():
    """Missing cells, and a category."""
    frame = _with_gaps()
    columns = {name: LEVELS.get(name, {}) for name in frame}
    return dpcov.release(frame, columns=columns, missing="pairwise", **BUDGET)


def weights():
    """Rows that do not count alike."""
    frame = _survey()
    frame["weight"] = 1 + 3 * (frame["age"] > 50)
    columns = {name: {} for name in frame if name != "weight"}
    return dpcov.release(frame, columns=columns, weight="weight", weight_bound=5, **BUDGET)


def units():
    """Several rows of each person."""
    frame = _survey().round(6)
    frame["person"] = np.arange(len(frame)) // 2
    return dpcov.release(frame, privacy_unit="person", rows_per_unit=2, **BUDGET)


def bounds():
    """Bounds of some columns, and another neighboring relation."""
    columns = {
        "age": {"lower": 0, "upper": 110},
        "income": {"lower": 0},
        "visits": {"lower": 0, "upper": 100},
        "score": {"lower": 1, "upper": 7},
        "smokes": {"lower": 0, "upper": 1},
        "rare": {"lower": 0, "upper": 1},
    }
    return dpcov.release(_survey(), columns=columns, neighbors="add-remove", **BUDGET)


def pairs():
    """The strongest pairs, by differences of rows."""
    return dpcov.release_pairs(_questions(), max_pairs=10, center="differences", **BUDGET)


def pairs_about_centers():
    """The strongest pairs about learned centers, with variances."""
    return dpcov.release_pairs(
        _questions(), max_pairs=10, center="learned", row_norm=5.0, cell_bound=4.0, **BUDGET
    )


CASES = (
    stated, learned, wide, gaps, weights, units, bounds, pairs, pairs_about_centers
)  # fmt: skip
