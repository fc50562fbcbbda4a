"""
Models from a published folder
==============================

A reader has the published folder and nothing else. We fit a regression and a factor model from it,
and only then look at the raw rows.
"""

# %%
# The curator
# -----------
# 20,190 lines of the RAND health insurance experiment, which comes with statsmodels: visits to a
# doctor (``mdvis``), coinsurance, health. A line is one person in one year, so what would be
# promised here is about a person's year. For a promise about persons, state ``privacy_unit=``;
# this copy of the table has no column that says who is who.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from beside_truth import count, draw

import dpcov

table = sm.datasets.randhie.load_pandas().data
facts = {
    "mdvis": (0, 365),
    "lncoins": (0, 5),
    "idp": (0, 1),
    "lpi": (0, 10),
    "fmde": (0, 10),
    "physlm": (0, 1),
    "disea": (0, 60),
    "hlthg": (0, 1),
    "hlthf": (0, 1),
    "hlthp": (0, 1),
}
folder = Path(tempfile.mkdtemp()) / "health"
release = dpcov.release(table, epsilon=1.0, delta=1e-6, columns=facts, seed=1)
card = dpcov.publication.write_folder(release, release.estimate(), folder, name="Health")

# %%
# The reader
# ----------
# First: is the folder what it says? Everything in it is computed again from the released numbers.

print(dpcov.publication.verify_folder(folder).holds)

# %%
# Then the regression of visits on coinsurance and health. Errors count the privacy noise.

published = dpcov.Release.load(folder / "release.npz")
predictors = ["lncoins", "idp", "lpi", "physlm", "disea", "hlthg", "hlthf", "hlthp"]
fit = published.regress("mdvis", on=predictors, about="table")
print(fit.summary())

# %%
# The same on the command line: ``dpcov regress health/ 'mdvis ~ lncoins + idp + …'``.
#
# The truth: ordinary least squares on the raw rows
# -------------------------------------------------
# Cells beyond ``release.limits`` count as if they were at the limit; in this table those are the
# rare people with more visits than the limit. The diamond is least squares on these rows, the
# cross on the rows as they are.


def slopes(rows):
    """Return the slopes by ordinary least squares."""
    return sm.OLS(rows["mdvis"], sm.add_constant(rows[predictors])).fit().params[predictors]


limited = table[list(published.columns)].clip(*published.limits, axis=1)
unit = limited[predictors].std().to_numpy()  # so that all fit in one picture
truth, raw = slopes(limited) * unit, slopes(table) * unit
places = [fit.names.index(name) for name in predictors]
low, high = (end[places] * unit for end in fit.interval(0.95))

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
draw(
    ax,
    predictors,
    fit.coefficients[places] * unit,
    low,
    high,
    truth,
    raw=raw,
    of="visits for one standard deviation of the predictor",
)
plt.show()
print(count(low, high, truth, of="slopes"))
print("Cells not limited:", count(low, high, raw, of="slopes"))

# %%
# A factor model
# --------------
# Twelve questions of a made-up survey, four for each of three attitudes, 20,000 people. Here the
# truth is the model that made them.

items = [f"{topic} {i}" for topic in ("work", "health", "trust") for i in (1, 2, 3, 4)]
loadings = np.zeros((12, 3))
for factor in range(3):
    loadings[4 * factor : 4 * factor + 4, factor] = 0.8, 0.7, 0.6, 0.5
rng = np.random.default_rng(0)
attitudes = rng.standard_normal((20_000, 3))
noise = rng.standard_normal((20_000, 12)) * np.sqrt(1 - (loadings**2).sum(axis=1))
answers = attitudes @ loadings.T + noise

survey = dpcov.release(pd.DataFrame(answers, columns=items), epsilon=1.0, delta=1e-6, seed=1)
survey.save(folder / "survey.npz")

# %%
# Again from the file alone. ``model.summary()`` has all loadings with their errors; these are its
# last lines:

model = dpcov.Release.load(folder / "survey.npz").factors(3)
print(model.summary().split("\n\n")[-1])

# %%
# The order and the sign of factors are arbitrary, so each true factor is held against the found
# one that is most like it.

match = np.abs(loadings.T @ model.loadings).argmax(axis=1)
sign = np.sign(np.sum(loadings * model.loadings[:, match], axis=0))
ends = np.array(model.loading_interval(0.95))[..., match] * sign
low, high = ends.min(axis=0), ends.max(axis=0)
found = model.loadings[:, match] * sign

figure, axes = plt.subplots(1, 3, figsize=(10, 4.4), layout="constrained", sharey=True)
for factor, (ax, topic) in enumerate(zip(axes, ("work", "health", "trust"), strict=True)):
    columns = (each[:, factor] for each in (found, low, high, loadings))
    draw(ax, items, *columns, of=f"loading on “{topic}”")
plt.show()
print(count(low, high, loadings, of="loadings"))
