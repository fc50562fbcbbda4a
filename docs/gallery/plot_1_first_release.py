"""
A first release
===============

6,366 women answered a magazine's questions about their marriage (Fair 1978; the table comes with
statsmodels). What goes with what? We publish all means and covariances at ε = 1, and look at how
far they are from the truth.
"""

# %%
# The table, and what everybody knows of its columns
# --------------------------------------------------
# Bounds come from the questionnaire, never from the data. Nobody knows how large ``affairs``, a
# measure of time spent, can become: we say that it is not negative, and the rest is learned and
# paid for.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from beside_truth import count, draw

import dpcov

table = sm.datasets.fair.load_pandas().data
facts = {
    "rate_marriage": (1, 5),
    "age": (17, 45),
    "yrs_married": (0, 25),
    "children": (0, 6),
    "religious": (1, 4),
    "educ": (9, 20),
    "occupation": (1, 6),
    "occupation_husb": (1, 6),
    "affairs": (0, None),
}

# %%
# Is it worth it?
# ---------------
# Ask before anything is spent. No row is read for this.

print(dpcov.plan(n=6_366, p=9, epsilon=1.0, delta=1e-6))

# %%
# The release
# -----------

release = dpcov.release(table, epsilon=1.0, delta=1e-6, columns=facts, seed=1)
print(release)

# %%
# With a seed, nothing is promised. Without it, this is what ε = 1 and δ = 10⁻⁶ mean:

print(dpcov.privacy.ApproxDP(1.0, 1e-6, "replace").in_words)

# %%
# From here on everything costs nothing. The estimate shrinks what is lost in the noise to zero.
#
# A release is about the table with its cells limited to ``release.limits``, which are published
# with it. In this table that matters for one column: a few women report 20 or 50 times as many
# ``affairs`` as most, and they alone would decide its correlations. So the truth of the limited
# table is what intervals are about.

estimate = release.estimate()
limited = table.clip(*release.limits, axis=1)
truth = limited.corr().to_numpy()

figure, axes = plt.subplots(1, 2, figsize=(9.5, 5.2), layout="constrained")
for ax, matrix, title in (
    (axes[0], truth, "Truth: never published"),
    (axes[1], estimate.correlation, "Private estimate, ε = 1"),
):
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_xticks(range(9), table.columns, rotation=90, fontsize=8)
    ax.set_yticks(range(9), table.columns if ax is axes[0] else [], fontsize=8)
    ax.set_title(title)
figure.colorbar(image, ax=axes, label="correlation", shrink=0.8)
plt.show()

# %%
# Every pair, with its interval
# -----------------------------
# ``pairs()`` has the correlations as released, with intervals. ``about="table"`` asks what these
# rows would have said without noise; the truth is then a number that we can compute.

pairs = estimate.pairs()
low, high = estimate.correlation_interval(about="table")
at = pairs.first, pairs.second
largest = np.argsort(-np.abs(truth[at]))
names = [f"{table.columns[i]} – {table.columns[j]}" for i, j in zip(*at, strict=True)]
raw = table.corr().to_numpy()

figure, ax = plt.subplots(figsize=(8, 9), layout="constrained")
draw(
    ax,
    [names[i] for i in largest],
    *(each[largest] for each in (pairs.released, low[at], high[at], truth[at])),
    raw=raw[at][largest],
)
plt.show()
print(count(low[at], high[at], truth[at], of="correlations"))
print("Cells not limited:", count(low[at], high[at], raw[at], of="correlations"))

# %%
# The noise is the same for all pairs, about 0.02. So strong relations are known well, such as age
# and years of marriage. Of a correlation of 0.03 this release says little, and the interval says
# so.
#
# The folder to publish
# ---------------------

folder = Path(tempfile.mkdtemp()) / "marriage"
dpcov.publication.write_folder(release, estimate, folder, name="Marriage survey")
print(*sorted(file.name for file in folder.iterdir()), sep="\n")

# %%
# ``page.html`` is for readers, ``pairs.csv`` for computing, ``card.md`` says what is promised. The
# next page but one goes on from such a folder.
