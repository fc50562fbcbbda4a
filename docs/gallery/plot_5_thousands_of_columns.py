"""
Thousands of columns
====================

With 2,000 columns there are two million pairs. A release of all of them has so much noise that
nothing is seen. If few are related, release the strongest pairs only.
"""

# %%
# What would be seen?
# -------------------
# Ask before any data is touched: ``dense`` releases all second moments, ``pairs`` the strongest
# ones.

import matplotlib.pyplot as plt
import numpy as np
from beside_truth import count, draw

import dpcov

people, size, related = 10_000, 2_000, 60
print(dpcov.plan(n=people, p=size, epsilon=1.0, delta=1e-6, max_pairs=80))

# %%
# A made-up table
# ---------------
# Sixty pairs are related, with correlations from 0.9 to 0.2; all other columns go their own way.

rng = np.random.default_rng(0)
table = rng.standard_normal((people, size), dtype=np.float32)
strength = np.linspace(0.9, 0.2, related).astype(np.float32)
first, second = np.arange(0, 2 * related, 2), np.arange(1, 2 * related, 2)
table[:, second] = strength * table[:, first] + np.sqrt(1 - strength**2) * table[:, second]

release = dpcov.release_pairs(table, epsilon=1.0, delta=1e-6, max_pairs=80, seed=1)
estimate = release.estimate()

# %%
# What was found
# --------------
# Eighty pairs were selected, with noise; ``edges`` lists those of them that stand out.

edges = estimate.edges(fdr=0.1)
truth = {(f"x{i}", f"x{j}"): s for i, j, s in zip(first, second, strength, strict=True)}
right = {(edge.first, edge.second) for edge in edges} & truth.keys()
print(f"{len(edges)} pairs are listed; {len(right)} of them are related, of {related} that are.")

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
found = np.array([pair in right for pair in truth])
ax.bar(np.arange(related)[found], strength[found], color="#0072B2", label="found")
ax.bar(np.arange(related)[~found], strength[~found], color="#D5D5D5", label="not found")
ax.set(xlabel="the sixty related pairs, strongest first", ylabel="true correlation")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With 10,000 people at ε = 1, correlations above about 0.4 are found among two million pairs, and
# weaker ones are not. The plan said so before anything was spent.
#
# How strong are they?
# --------------------
# Intervals of all eighty pairs that were released. The truth is that of the law that made the
# rows: for most of the pairs at the lower end it is zero, since what was selected beyond the
# related ones is noise.

pairs = estimate.pairs()
names = [
    (release.columns[i], release.columns[j]) for i, j in zip(pairs.first, pairs.second, strict=True)
]
true = np.array([truth.get(pair, 0.0) for pair in names])
order = np.argsort(-pairs.released)[:40]

figure, ax = plt.subplots(figsize=(8, 8), layout="constrained")
draw(
    ax,
    [" – ".join(names[i]) for i in order],
    *(each[order] for each in (pairs.released, pairs.low, pairs.high, true)),
)
plt.show()
print(count(pairs.low, pairs.high, true, of="correlations"))

# %%
# The picture has the forty strongest; the sentence counts all eighty. A pair may have been
# selected because noise made it look strong. Intervals of such pairs cover less often than 95 %,
# and they are the weak ones at the end.
