"""
Two waves under one ledger
==========================

A panel is asked twice. What changed? And what do both releases together promise to its people?
"""

# %%
# Made-up people, asked in 2025 and 2026
# --------------------------------------
# From wave to wave, all incomes go up by 150, and each year at school pays 50 more; stress goes up
# by half a point and costs more sleep. People become a year older. Nothing else changes.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from beside_truth import count, draw

import dpcov

rng = np.random.default_rng(0)
people = 30_000
age, school, luck = (
    rng.uniform(20, 64, people),
    rng.integers(8, 19, people),
    rng.normal(size=people),
)


def wave(year):
    """Return the answers of the panel in one year."""
    later = year - 2025
    stress = 5 + 0.5 * later + rng.normal(0, 1.5, people)
    sleep = 7 - (0.15 + 0.15 * later) * (stress - 5) + rng.normal(0, 1, people)
    income = 600 + 150 * later + 12 * age + (80 + 50 * later) * school + 400 * luck
    income += rng.normal(0, 300, people)
    answers = {"age": age + later, "school": school, "income": income}
    return pd.DataFrame(answers | {"stress": stress, "sleep": sleep})


tables = {year: wave(year) for year in (2025, 2026)}
facts = {
    "age": (18, 70),
    "school": (0, 25),
    "income": (0, 20_000),
    "stress": (-5, 15),
    "sleep": (0, 14),
}

# %%
# One account for both
# --------------------
# The ledger is charged before noise is drawn, and refuses what does not fit. A ledger does not
# take simulations: these two releases are real ones, without a seed, so the numbers below are
# other ones in each build of this page.

folder = Path(tempfile.mkdtemp())
ledger = dpcov.Ledger.create(
    folder / "budget.db", population="Panel", owner="Data office", epsilon=1.5, delta=1e-6
)
releases = {
    year: dpcov.release(
        table, epsilon=1.0, delta=1e-6, columns=facts, ledger=ledger, request_id=str(year)
    )
    for year, table in tables.items()
}
account = ledger.account()
print(
    f"spent: ε = {account.spent:.3f} of {account.limit.epsilon:g}, at δ = {account.limit.delta:g}"
)

# %%
# Two releases at ε = 1 cost 1.455 together, not 2. A third one does not fit:

try:
    dpcov.release(tables[2026], epsilon=1.0, delta=1e-6, columns=facts, ledger=ledger)
except dpcov.errors.BudgetError as refusal:
    print(refusal)

# %%
# What changed
# ------------
# The same people are in both tables, so the question is what changed among them:
# ``about="table"``.

comparison = releases[2025].compare(releases[2026], about="table")
print(comparison.summary())

# %%
# The truth: differences of the raw tables
# ----------------------------------------

changes = comparison.correlations
before, after = (tables[year].corr() for year in (2025, 2026))
truth = np.array([after.loc[a, b] - before.loc[a, b] for a, b in changes.names])
order = np.argsort(-np.abs(truth))
names = [f"{a} – {b}" for a, b in changes.names]

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
draw(
    ax,
    [names[i] for i in order],
    *(each[order] for each in (changes.difference, changes.low, changes.high, truth)),
    of="change of the correlation, 2026 minus 2025",
)
plt.show()
print(count(changes.low, changes.high, truth, of="changes of correlations"))

# %%
# Means, each in its standard deviation of 2025:

means = comparison.means
names = [name for (name,) in means.names]
unit = tables[2025][names].std().to_numpy()
truth = (tables[2026].mean() - tables[2025].mean())[names].to_numpy()

figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
draw(
    ax,
    names,
    *(each / unit for each in (means.difference, means.low, means.high, truth)),
    of="change of the mean, in standard deviations",
)
plt.show()
print(count(means.low, means.high, truth, of="changes of means"))

# %%
# Here the truth is that of the raw tables, cells not limited. The bounds of these columns cut
# nothing that matters.
