"""Simulated tables with categories and gaps, their releases, and the same numbers from pandas."""

import numpy as np
import pandas as pd

from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.dense import DenseOptions, release_dense
from dpcov.privacy import ApproxDP
from dpcov.sensitive.engines.serial import SerialEngine

FIELDS = (
    Field("age"),
    Field("income"),
    Field("sex", ("f", "m")),
    Field("region", ("n", "s", "w", "e", "never")),
    Field("school", ("low", "middle", "high")),
)


class Codes:
    """Rows of numbers and of codes of levels, as a table that was opened has them."""

    def __init__(self, rows, fields):
        self.rows, self.fields = rows, fields
        self.columns, self.n_rows = tuple(field.name for field in fields), len(rows)

    def blocks(self, size):
        for start in range(0, len(self.rows), size):
            yield self.rows[start : start + size]


def survey(n_rows, *, gaps=True, seed=0):
    """Simulate people: sex, region and income go together, and gaps go with age and region."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=n_rows)
    age = np.clip(45 + 15 * rng.normal(size=n_rows), 18, 90)
    income = 3000 + 1000 * np.tanh(factor + rng.normal(size=n_rows))
    sex = (rng.random(n_rows) < 1 / (1 + np.exp(-factor))).astype(float)
    pull = np.outer(factor, [0.6, 0.0, -0.6, 0.9]) + np.log([0.4, 0.3, 0.2, 0.1])
    region = np.argmax(rng.gumbel(size=(n_rows, 4)) + pull, axis=1).astype(float)
    school = rng.choice(3, size=n_rows, p=[0.5, 0.3, 0.2]).astype(float)
    rows = np.column_stack([age, income, sex, region, school])
    if gaps:
        missing = rng.random(rows.shape) < [0.0, 0.1, 0.1, 0.0, 0.15]
        missing[:, 1] |= (rng.random(n_rows) < 0.4) & (age > 55)
        missing[:, 2] |= (rng.random(n_rows) < 0.3) & (region == 1)
        both = rng.random(n_rows) < 0.1
        missing[both, 1] = missing[both, 4] = True
        rows[missing] = np.nan
    return rows


def release_of(rows, *, fields=FIELDS, epsilon=1.0, seed=0, missing=Missing.PAIRWISE):
    options = DenseOptions(
        promise=ApproxDP(epsilon, 1e-6, "replace"),
        facts=None,
        row_norm=None,
        shares=None,
        rows_per_unit=1,
        missing=missing,
    )
    stream = RandomStream.from_seed(seed)
    return release_dense(Codes(rows, fields), options, engine=SerialEngine(), stream=stream)


def limited(rows, release, fields=FIELDS):
    """Return the table as pandas has it, its numbers limited as the release says."""
    frame = pd.DataFrame(rows, columns=[field.name for field in fields])
    low, high = release.limits
    for field in fields:
        if field.levels is None:
            place = release.columns.index(field.name)
            frame[field.name] = frame[field.name].clip(low[place], high[place])
        else:
            levels = dict(enumerate(field.levels))
            frame[field.name] = frame[field.name].map(levels).astype("object")
    return frame


def read_as_one(frame, pooled):
    """Return the table with the levels that are too rare as one."""
    together = frame.copy()
    for column in frame.columns:
        rare = [name.partition("=")[2] for name in pooled if name.startswith(f"{column}=")]
        together[column] = together[column].replace(dict.fromkeys(rare, "rare"))
    return together


def cramer(first, second):
    """Return Cramér's V from a cross table."""
    table = pd.crosstab(first, second).to_numpy(dtype=float)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    chi_square = ((table - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi_square / table.sum() / (min(table.shape) - 1)))


def eta_squared(number, category):
    """Return the share of the variance that lies between groups."""
    there = number.notna() & category.notna()
    number, category = number[there], category[there]
    between = number.groupby(category).transform("mean")
    return float(between.var(ddof=0) / number.var(ddof=0))


def truth_of(line, frame):
    """Return what an association, a share, a mean or a finding about gaps is in the table."""
    kind = type(line).__name__
    if kind == "LevelShare":
        return float((frame[line.column].dropna() == line.level).mean())
    if kind == "GroupMean":
        return float(frame.loc[frame[line.category] == line.level, line.number].mean())
    together = read_as_one(frame, line.pooled)
    if kind == "Association":
        measure = cramer if line.measure == "V" else eta_squared
        return measure(together[line.first], together[line.second])
    gap = frame[line.gaps_of].isna()
    if not gap.any():
        return np.nan
    if line.measure == "V":
        return cramer(gap, together[line.column])
    if line.measure == "difference of means":
        return float(frame.loc[gap, line.column].mean() - frame.loc[~gap, line.column].mean())
    other = frame[line.column].isna()
    return float(np.corrcoef(gap, other)[0, 1]) if other.any() else np.nan
