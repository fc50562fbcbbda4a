"""Releases whose answers are looked at: of numbers, and of a table with categories and gaps."""

from functools import cache

import numpy as np
import pandas as pd

import dpcov
from designs import public_levels

PROMISE = {"epsilon": 1.0, "delta": 1e-6}


def survey_frame(n_rows=20_000, seed=0):
    """Return a table with a category and gaps, in which income depends on the others."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 60, n_rows)
    sex = rng.choice(["f", "m", "x"], n_rows, p=[0.5, 0.4, 0.1])
    school = rng.integers(0, 6, n_rows).astype(float)
    income = 30 * age + 100 * school - 200 * (sex == "f") + rng.normal(0, 300, n_rows)
    frame = pd.DataFrame(
        {
            "age": age,
            "school": school,
            "sex": pd.Categorical(sex, categories=["f", "m", "x"]),
            "income": income,
            "rest": rng.normal(1, 2, n_rows) + 0.02 * age,
        }
    )
    for name, share in (("age", 0.1), ("school", 0.25), ("sex", 0.1)):
        frame.loc[rng.random(n_rows) < share, name] = np.nan
    return frame


@cache
def survey(seed=1):
    frame = survey_frame()
    return dpcov.release(frame, **PROMISE, seed=seed, columns=public_levels(frame))


@cache
def survey_with_rare():
    """Return the release of a survey with a column that is lost in noise."""
    frame = survey_frame()
    frame["rare"] = (np.random.default_rng(0).random(len(frame)) < 2e-4).astype(float)
    return dpcov.release(frame, **PROMISE, seed=1, columns=public_levels(frame))


def number_rows(n_rows=20_000, n_columns=5, seed=0):
    """Return rows of related numbers; the last column depends on the first two."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_columns)) + 0.5 * rng.normal(size=(n_rows, 1))
    rows[:, -1] += 0.5 * rows[:, 0] - 0.3 * rows[:, 1]
    return rows


@cache
def numbers(seed=1):
    return dpcov.release(number_rows(), **PROMISE, seed=seed, missing="refuse")
